"""How each process of a group lived: what it decided by itself, apart from what the coordinator did to it.

Knows the shapes and no rule. Times are ms since the epoch, as in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clients.config import ApiVersions
from simulation.plan import Span


@dataclass(frozen=True, slots=True)
class ProcessLife:
    """One consumer from its start to its end. name: unique in its group. member_ids: what the recording calls it.

    was_there: it was a member before the recording began; first_beat_ms: when it was first heard then. close_ms: it
    closed; kill_ms: it fell silent for good, at the moment that its silence makes likeliest; neither: it lived on.
    pauses: it stood still. slow: its application did not poll. rejoin_delay_ms: how long it takes to a poll, once a
    heartbeat tells it of a rebalance. restart_after_ms: how long after an error that ended it its supervisor had it
    back; None: never. auto_commit_interval_ms: None: it was seen to commit nothing.
    """

    name: str
    member_ids: tuple[str, ...]
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
    first_beat_ms: int | None = None
    close_ms: int | None = None
    kill_ms: int | None = None
    pauses: tuple[Span, ...] = ()
    slow: tuple[Span, ...] = ()
    rejoin_delay_ms: int = 0
    restart_after_ms: int | None = None
    auto_commit_interval_ms: int | None = None

    @property
    def end_ms(self) -> int | None:
        return self.close_ms if self.close_ms is not None else self.kill_ms


@dataclass(frozen=True, slots=True)
class TopicGrowth:
    """A topic was seen to have more partitions than before."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class GroupLives:
    """One group in the recording. topics: partition counts, as far as assignments show them.

    broker: the settings of its broker, under Kafka's keys, where they differ from Kafka's defaults.
    """

    group_id: str
    from_ms: int
    until_ms: int
    processes: tuple[ProcessLife, ...]
    topics: Mapping[str, int]
    growths: tuple[TopicGrowth, ...] = ()
    latency_ms: tuple[int, int] = (0, 1)
    broker: Mapping[str, str] = field(default_factory=dict)
