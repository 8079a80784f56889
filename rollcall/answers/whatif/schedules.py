"""What each process of a group did by itself, and when: it started, stalled, polled late, closed, died.

Knows the shapes and no rule. Times are ms since the epoch, as in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollcall.answers.clients.config import ApiVersions
from rollcall.answers.simulation.plan import Schedule, TopicChange
from rollcall.answers.whatif.terms import Terms


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSchedule(Schedule):
    """One consumer from its start to its end, with what it was set to. Without close_ms and kill_ms it ran on."""

    name: str
    """Unique in its group."""
    member_ids: tuple[str, ...]
    """Its member ids in the recording."""
    client_id: str
    client_host: str
    group_instance_id: str | None
    terms: Terms
    pattern: str = ""
    """The regular expression that it subscribed to at its start, by the newer protocol; empty: none."""
    heartbeat_interval_ms: int
    api_versions: ApiVersions
    was_there: bool = False
    """Whether it was a member before the recording began."""
    first_beat_ms: int | None = None
    """The first heartbeat of a process that was there before the recording."""
    auto_commit_interval_ms: int | None = None
    """None: it was seen to commit nothing."""

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
    """What is set only for this group, in the end."""
