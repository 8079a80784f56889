"""A simulated world as if a broker had logged it: the rows that an importer would have made of it.

Knows a world's record and the rows' shape; infers nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.simulation.plan import ConsumerPlan, NetworkPlan, Schedule, TopicChange, WorldPlan
from rollcall.answers.simulation.world import World
from rollcall.answers.whatif.inferred_schedules import schedules_of
from rollcall.answers.whatif.observed_processes import GroupObserver
from rollcall.answers.whatif.play import unpolled_in
from rollcall.answers.whatif.schedules import GroupSchedules
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.inputs.request_log.lines.wire import message_of
from rollcall.inputs.request_log.recorded import OrderedRequest, Recorded
from rollcall.programs.settings import from_texts
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.effects import Reply
from rollcall.schemas.messages import ConsumerGroupHeartbeatRequest, LeaveGroupRequest

GROUP = "fleet"
STEADY = NetworkPlan(latency_ms=(1, 1))
BROKER = {
    "group.initial.rebalance.delay.ms": "500",
    "group.consumer.session.timeout.ms": "10000",
    "group.consumer.heartbeat.interval.ms": "3000",
}
UNTIL_MS = 120_000


def consumer(name: str, schedule: Schedule | None = None, host: str = "", **settings: Any) -> ConsumerPlan:
    """One that beats every 3 s in sessions of 10 s, and commits nothing."""
    config: dict[str, Any] = {
        "group_id": GROUP,
        "client_id": name,
        "session_timeout_ms": 10_000,
        "heartbeat_interval_ms": 3000,
        "max_poll_interval_ms": 20_000,
        "enable_auto_commit": False,
        "partition_assignment_strategy": ("range",),
        **settings,
    }
    return ConsumerPlan(name, ConsumerConfig(**config), ("t",), schedule or Schedule(), host or f"/{name}")


def world(*consumers: ConsumerPlan, until_ms: int = UNTIL_MS, changes: tuple[TopicChange, ...] = ()) -> World:
    """Six partitions of one topic, shared by these."""
    config = from_texts(GroupConfig, BROKER)
    played = World(WorldPlan(consumers, {"t": 6}, group_config=config, network=STEADY, topic_changes=changes))
    played.run_until(until_ms)
    return played


def rows_of(played: World, from_ms: int = 0, *, has_connections: bool = True) -> Iterator[OrderedRequest]:
    """What the broker would have logged from a moment on: requests that were answered, by their arrival.

    has_connections: each consumer keeps one connection through all its schedules, so that the importer can recognise a
    poll timeout whose library gives no reason; else no connection is logged.
    """
    effects = [each.effect for each in played.record.effects]
    unpolled = unpolled_in(played.record) if has_connections else frozenset()
    replies = {effect.request_id: effect for effect in effects if isinstance(effect, Reply)}
    for request in played.record.arrived:
        reply = replies.get(request.request_id)
        if reply is None or request.received_at_ms < from_ms:
            continue
        request.connection = played.record.requests[request.request_id] if has_connections else None
        if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == 0:
            # An importer reports the topics that answers show.
            request.cluster_topics = played.topics
        if isinstance(request, LeaveGroupRequest) and request.member_id in unpolled:
            request.inferred_cause = CauseKind.POLL_TIMEOUT.value
        waited_ms = float(reply.at_ms - request.received_at_ms)
        recorded = Recorded(
            error=reply.error_code,
            answered_at_ms=reply.at_ms,
            total_ms=waited_ms,
            remote_ms=waited_ms,
            sending_ms=0.0,
            wire=None,
            message=message_of(reply.api, reply.api_version),
            _response=reply.response,
        )
        yield OrderedRequest(GROUP, request, recorded)


def schedules_in(
    played: World, from_ms: int = 0, until_ms: int = UNTIL_MS, *, has_connections: bool = True
) -> GroupSchedules:
    """What is inferred of it."""
    observer = GroupObserver(GROUP)
    for row in rows_of(played, from_ms, has_connections=has_connections):
        observer.take(row)
    found = schedules_of(observer, from_ms, until_ms, dict(BROKER))
    assert found is not None
    return found
