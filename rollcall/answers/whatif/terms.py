"""A member's protocol, topics, assignors and timeouts, from its own requests.

Knows the requests of both protocols; infers no schedule.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.answers.simulation.plan import GroupProtocol
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
