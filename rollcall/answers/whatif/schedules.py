"""What each process of a group did by itself, and when: it started, stalled, polled late, closed, died.

Knows the shapes and no rule. Times are ms since the epoch, as in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollcall.answers.clients.config import ApiVersions
from rollcall.answers.simulation.plan import GroupProtocol, Span, Subscribed, TopicChange


@dataclass(frozen=True, slots=True)
class ProcessSchedule:
    """One consumer from its start to its end. Without close_ms and kill_ms it ran on."""

    name: str
    """Unique in its group."""
    member_ids: tuple[str, ...]
    """Its member ids in the recording."""
    client_id: str
    client_host: str
    group_instance_id: str | None
    topics: tuple[str, ...]
    assignors: tuple[str, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    heartbeat_interval_ms: int
    api_versions: ApiVersions
    consumer_protocol_version: int
    start_ms: int
    was_there: bool = False
    """Whether it was a member before the recording began."""
    first_beat_ms: int | None = None
    """The first heartbeat of a process that was there before the recording."""
    close_ms: int | None = None
    """When it closed."""
    kill_ms: int | None = None
    """When it most likely died, if it fell silent for good."""
    pauses: tuple[Span, ...] = ()
    """When the process was stalled."""
    slow: tuple[Span, ...] = ()
    """When its application did not poll."""
    rejoin_delay_ms: int = 0
    """How long after a heartbeat is answered REBALANCE_IN_PROGRESS its application polls."""
    restart_after_ms: int | None = None
    """How long after an error that ended it its supervisor started it again; None: never."""
    auto_commit_interval_ms: int | None = None
    """None: it was seen to commit nothing."""
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    """The group protocol that it used."""
    pattern: str = ""
    """The regular expression that it subscribed to at its start, by the newer protocol; empty: none."""
    subscribed: tuple[Subscribed, ...] = ()
    """Changes of its subscription, as far as the newer protocol shows them."""
    remote_assignor: str | None = None
    """The assignor that it asked for, by the newer protocol."""

    @property
    def end_ms(self) -> int | None:
        """When it closed or died; None: it ran on."""
        return self.close_ms if self.close_ms is not None else self.kill_ms


@dataclass(frozen=True, slots=True)
class GroupSchedules:
    """One group in the recording, with the schedule of each of its processes."""

    group_id: str
    from_ms: int
    until_ms: int
    processes: tuple[ProcessSchedule, ...]
    topics: Mapping[str, int]
    """Partition counts, as far as assignments show them."""
    growths: tuple[TopicChange, ...] = ()
    """Where topics were seen to have more partitions than before."""
    latency_ms: tuple[int, int] = (0, 1)
    """The shortest and the longest one way between a process and the broker."""
    broker: Mapping[str, str] = field(default_factory=dict)
    """The settings of its broker, under Kafka's keys, where they differ from Kafka's defaults."""
    configs: Mapping[str, str] = field(default_factory=dict)
    """What is set for this group alone, in the end."""
