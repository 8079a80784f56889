"""The three entry points to a group: apply a request, fire what is due, ask for the next deadline.

Knows which file handles which request, and nothing of what it does. The caller fires what is due before it applies a
request: `expire_due(group, arrival - 1)` leaves a tie to the request.
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

from rollcall.coordinator_udfs.protocol.administration import delete_groups, describe_groups
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.config_apis import alter_configs, describe_configs
from rollcall.coordinator_udfs.protocol.consumer.classic_members import (
    heartbeat_to_consumer_group,
    leave_consumer_group,
    sync_with_consumer_group,
)
from rollcall.coordinator_udfs.protocol.consumer.consumer_group_describe import consumer_group_describe
from rollcall.coordinator_udfs.protocol.consumer.consumer_group_heartbeat import consumer_group_heartbeat
from rollcall.coordinator_udfs.protocol.consumer.join_group import join_consumer_group
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import learn_topics
from rollcall.coordinator_udfs.protocol.deadlines import exact_next_deadline_ms, next_deadline_ms
from rollcall.coordinator_udfs.protocol.expiry import fire_due, pass_idle
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_configs import consumer_config_of
from rollcall.coordinator_udfs.protocol.heartbeat import heartbeat, heartbeat_run
from rollcall.coordinator_udfs.protocol.join_group import join_group
from rollcall.coordinator_udfs.protocol.leave_group import leave_group
from rollcall.coordinator_udfs.protocol.observed import observe_group
from rollcall.coordinator_udfs.protocol.offset_commit import offset_commit
from rollcall.coordinator_udfs.protocol.offset_delete import offset_delete
from rollcall.coordinator_udfs.protocol.offset_fetch import offset_fetch
from rollcall.coordinator_udfs.protocol.sync_group import sync_group
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import Effect
from rollcall.schemas.messages import (
    AlterConfigsRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeGroupsRequest,
    GroupObservedRequest,
    HeartbeatRequest,
    HeartbeatRunRequest,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    StreamRequest,
    SyncGroupRequest,
)

__all__ = ["CONSUMER_HANDLERS", "HANDLERS", "expire_due", "next_deadline_ms", "next_due_ms", "step"]

HANDLERS: dict[type[StreamRequest], Callable[[Group, Any, Turn], None]] = {
    HeartbeatRequest: heartbeat,
    HeartbeatRunRequest: heartbeat_run,
    JoinGroupRequest: join_group,
    SyncGroupRequest: sync_group,
    OffsetCommitRequest: offset_commit,
    LeaveGroupRequest: leave_group,
    OffsetFetchRequest: offset_fetch,
    DescribeGroupsRequest: describe_groups,
    OffsetDeleteRequest: offset_delete,
    DeleteGroupsRequest: delete_groups,
    GroupObservedRequest: observe_group,
    ConsumerGroupHeartbeatRequest: consumer_group_heartbeat,
    ConsumerGroupDescribeRequest: consumer_group_describe,
    DescribeConfigsRequest: describe_configs,
    AlterConfigsRequest: alter_configs,
    IncrementalAlterConfigsRequest: alter_configs,
}

CONSUMER_HANDLERS: dict[type[StreamRequest], Callable[[Group, Any, Turn], None]] = HANDLERS | {
    HeartbeatRequest: heartbeat_to_consumer_group,
    JoinGroupRequest: join_consumer_group,
    SyncGroupRequest: sync_with_consumer_group,
    LeaveGroupRequest: leave_consumer_group,
}
"""For groups under the newer protocol; APIs that are not listed have one handler for both kinds of group."""


def step(
    group: Group, request: StreamRequest, now_ms: int, config: GroupConfig, armed_from_ms: int | None = None
) -> list[Effect]:
    """Applies one request to its group at now_ms; returns the effects in order.

    A run of heartbeats is taken up to now_ms, and what falls due between its heartbeats fires. armed_from_ms: what new
    deadlines count from, now_ms if None. Same group, request and time give the same effects.
    """
    turn = Turn(now_ms, config, armed_from_ms)
    if group.configs:
        turn.consumer = consumer_config_of(group.configs, config.consumer)
    if group.consumer is None:
        HANDLERS[type(request)](group, request, turn)
    else:
        learn_topics(group.consumer, turn)
        CONSUMER_HANDLERS[type(request)](group, request, turn)
    if now_ms > group.updated_at_ms:
        group.updated_at_ms = now_ms
    return turn.effects


def next_due_ms(group: Group, until_ms: int, config: GroupConfig) -> int | None:
    """The earliest deadline exactly, for a caller that lets time pass to until_ms; None if there is none.

    Sweeps and ends of join phases up to then that would do nothing are skipped.
    """
    pass_idle(group, until_ms, config)
    return exact_next_deadline_ms(group)


def expire_due(
    group: Group, now_ms: int, config: GroupConfig, armed_from_ms: int | None = None, most_work: float = inf
) -> list[Effect]:
    """Fires every deadline at or before now_ms, in order of time, each at its own moment.

    most_work: once `group.work` reaches it, the remaining deadlines stay, and so does `group.next_due_ms`.
    """
    if group.next_due_ms is None or group.next_due_ms > now_ms:
        return []
    return fire_due(group, now_ms, config, armed_from_ms, most_work)
