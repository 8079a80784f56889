"""What each process of a group did on its own, and when: it started, stalled, polled late, closed, died.

Knows the shapes, and by which requests a member's terms are known. Times are ms since the epoch, as in the log.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rollcall.answers.clients.config import ApiVersions
from rollcall.answers.simulation.plan import GroupProtocol, Schedule, TopicChange
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.schemas.consumer_protocol import HIGHEST_VERSION, decode_topics
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, JoinGroupRequest


@dataclass(frozen=True, slots=True)
class Terms:
    """The fields of a process's join."""

    protocol: GroupProtocol
    topics: tuple[str, ...]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignors: tuple[str, ...] = ()
    join_version: int | None = None
    """The version of its JoinGroup."""
    consumer_protocol_version: int = HIGHEST_VERSION
    remote_assignor: str | None = None


def classic_terms(join: JoinGroupRequest) -> Terms:
    """The terms of a JoinGroup. The oldest versions have one timeout for both."""
    return Terms(
        protocol=GroupProtocol.CLASSIC,
        topics=_topics_of(join),
        session_timeout_ms=join.session_timeout_ms,
        rebalance_timeout_ms=join.rebalance_timeout_ms if join.rebalance_timeout_ms > 0 else join.session_timeout_ms,
        assignors=tuple(protocol.name for protocol in join.protocols),
        join_version=join.api_version,
        consumer_protocol_version=_consumer_protocol_version(join),
    )


def newer_terms(heartbeat: ConsumerGroupHeartbeatRequest, broker: GroupConfig) -> Terms:
    """The terms of a heartbeat with all fields; the session timeout is its broker's."""
    return Terms(
        protocol=GroupProtocol.CONSUMER,
        topics=tuple(sorted(heartbeat.subscribed_topic_names or ())),
        session_timeout_ms=broker.consumer.session_timeout_ms,
        rebalance_timeout_ms=heartbeat.rebalance_timeout_ms,
        remote_assignor=heartbeat.server_assignor,
    )


def _topics_of(join: JoinGroupRequest) -> tuple[str, ...]:
    topics: set[str] = set()
    for protocol in join.protocols:
        try:
            topics |= decode_topics(protocol.metadata)
        except LayoutError:
            continue
    return tuple(sorted(topics))


def _consumer_protocol_version(join: JoinGroupRequest) -> int:
    versions = [int.from_bytes(each.metadata[:2], "big", signed=True) for each in join.protocols if each.metadata]
    return max(0, min([*versions, HIGHEST_VERSION]))


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
