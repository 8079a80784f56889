"""Requests whose outcome is certain without a trial: those that change nothing for others, and those that are only
parked. Nearly all lines of a log are such, and most lines of a large group's rebalance. In doubt the answer is no.
Knows which requests change nothing for others; changes nothing itself.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.consumer.consumer_group_heartbeat import says_nothing_new
from rollcall.coordinator_udfs.protocol.group import Group, Member
from rollcall.coordinator_udfs.protocol.heartbeat import error_of_heartbeat
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    OffsetCommitRequest,
    SyncGroupRequest,
)


def can_skip_trial(group: Group, entry: LoggedRequest) -> bool:
    """Whether the request is answered as recorded, or parked as it may be, and nobody else is answered by it."""
    request, error = entry.request, entry.recorded.error
    match request:
        case HeartbeatRequest():
            return error_of_heartbeat(group, request) is error
        case OffsetCommitRequest():
            return error is Error.NONE and _only_commits(group, request)
        case ConsumerGroupHeartbeatRequest():
            return error is Error.NONE and _only_beats(group, request, entry)
        case JoinGroupRequest():
            return error is Error.NONE and _only_waits_to_join(group, request, entry)
        case SyncGroupRequest():
            return error is Error.NONE and _only_waits_for_its_part(group, request)
        case _:
            return False


def _only_beats(group: Group, request: ConsumerGroupHeartbeatRequest, entry: LoggedRequest) -> bool:
    """A stable member of a consumer group whose heartbeat and answer have nothing new."""
    consumer, answer = group.consumer, entry.recorded.wire
    member = None if consumer is None else consumer.members.get(request.member_id)
    if (
        consumer is None
        or member is None
        or answer.assignment is not None
        or answer.member_epoch != request.member_epoch
    ):
        return False
    return says_nothing_new(group, consumer, member, request) and consumer.has_seen(consumer.cluster)


def _only_commits(group: Group, request: OffsetCommitRequest) -> bool:
    if group.consumer is not None:
        consumer = group.consumer.members.get(request.member_id)
        return consumer is not None and consumer.member_epoch == request.generation_id_or_member_epoch
    return (
        group.state in (GroupState.STABLE, GroupState.PREPARING_REBALANCE)
        and request.generation_id_or_member_epoch == group.generation_id
        and _member(group, request.member_id, request.group_instance_id) is not None
    )


def _only_waits_to_join(group: Group, request: JoinGroupRequest, entry: LoggedRequest) -> bool:
    """A member joins again, as it did before, and others are awaited still."""
    if group.state is not GroupState.PREPARING_REBALANCE or group.previous_state is GroupState.EMPTY:
        return False
    member = _member(group, request.member_id, request.group_instance_id)
    if member is None or member.parked_join is not None or request.protocol_type != group.protocol_type:
        return False
    if [protocol.name for protocol in request.protocols] != list(member.protocols):
        return False
    generation_id: int = entry.recorded.wire.generation_id
    return group.awaiting_join_count + 1 < len(group.members) and generation_id == group.generation_id + 1


def _only_waits_for_its_part(group: Group, request: SyncGroupRequest) -> bool:
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
