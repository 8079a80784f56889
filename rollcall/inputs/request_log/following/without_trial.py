"""Requests whose outcome is certain without a trial: those that change nothing for others, and those that are only
parked. Nearly all lines of a log are such, and most lines of a large group's rebalance. In doubt the answer is no.
Knows which requests change nothing for others; changes nothing itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rollcall.coordinator_udfs.protocol.consumer.consumer_group_heartbeat import says_nothing_new
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.heartbeat import error_of_heartbeat
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)


def can_skip_trial(group: Group, entry: LoggedRequest) -> bool:
    """Whether the request is answered as recorded, or parked as it may be, and nobody else is answered by it."""
    request, error = entry.request, entry.recorded.error
    if isinstance(request, HeartbeatRequest):
        return error_of_heartbeat(group, request) is error
    is_certain = _CERTAIN.get(type(request)) if error is Error.NONE else None
    return is_certain is not None and is_certain(group, request, entry.recorded.wire)


def _only_beats(group: Group, request: ConsumerGroupHeartbeatRequest, answer: Any) -> bool:
    """A stable member of a consumer group whose heartbeat and answer have nothing new."""
    consumer = group.consumer
    member = None if consumer is None else consumer.members.get(request.member_id)
    return (
        consumer is not None
        and member is not None
        and answer.assignment is None
        and answer.member_epoch == request.member_epoch
        and says_nothing_new(group, consumer, member, request)
        and consumer.has_seen(consumer.cluster)
    )


def _only_commits(group: Group, request: OffsetCommitRequest, answer: Any) -> bool:
    if group.consumer is not None:
        consumer = group.consumer.members.get(request.member_id)
        return consumer is not None and consumer.member_epoch == request.generation_id_or_member_epoch
    return (
        group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
        and request.generation_id_or_member_epoch == group.generation_id
        and _member(group, request.member_id, request.group_instance_id) is not None
    )


def _only_waits_to_join(group: Group, request: JoinGroupRequest, answer: Any) -> bool:
    """A member joins again, as it did before, and others are awaited still."""
    if group.state is not GroupState.PREPARING_REBALANCE or group.previous_state is GroupState.EMPTY:
        return False
    member = _member(group, request.member_id, request.group_instance_id)
    return (
        member is not None
        and member.parked_join is None
        and request.protocol_type == group.protocol_type
        and [protocol.name for protocol in request.protocols] == list(member.protocols)
        and group.awaiting_join_count + 1 < len(group.members)
        and answer.generation_id == group.generation_id + 1
    )


def _only_waits_for_its_part(group: Group, request: SyncGroupRequest, answer: Any) -> bool:
    """A follower waits for the leader's assignment."""
    member = _member(group, request.member_id, request.group_instance_id)
    return (
        group.state is GroupState.COMPLETING_REBALANCE
        and member is not None
        and member.parked_sync is None
        and request.member_id != group.leader_id
        and request.generation_id == group.generation_id
        and request.protocol_type in (None, group.protocol_type)
        and request.protocol_name in (None, group.protocol_name)
    )


def _member(group: Group, member_id: str, group_instance_id: str | None) -> Member | None:
    """The member with this id, if the instance id is its own or not given."""
    member = group.members.get(member_id)
    is_it = member is not None and group_instance_id in (None, member.group_instance_id)
    return member if is_it else None


_CERTAIN: dict[type[GroupRequest], Callable[[Group, Any, Any], bool]] = {
    OffsetCommitRequest: _only_commits,
    ConsumerGroupHeartbeatRequest: _only_beats,
    JoinGroupRequest: _only_waits_to_join,
    SyncGroupRequest: _only_waits_for_its_part,
}
"""By kind of request, whether an answer without an error is certain."""
