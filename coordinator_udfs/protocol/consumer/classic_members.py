"""SyncGroup, Heartbeat and LeaveGroup of classic members in a consumer group; JoinGroup has a file of its own.

The generation they name is their epoch. Nothing is parked, and they do not compute a target: a classic member that
gets REBALANCE_IN_PROGRESS comes back with a JoinGroup. Source: GroupMetadataManager.classicGroupSyncToConsumerGroup,
classicGroupHeartbeatToConsumerGroup, classicGroupLeaveToConsumerGroup.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import answer, refuse_sync, send_sync
from rollcall.coordinator_udfs.protocol.claims import CONSUMER
from rollcall.coordinator_udfs.protocol.consumer.conversion import assignment_bytes
from rollcall.coordinator_udfs.protocol.consumer.deadlines import arm, keep_alive
from rollcall.coordinator_udfs.protocol.consumer.fencing import remove_members
from rollcall.coordinator_udfs.protocol.consumer.group import NO_EPOCH, ClassicMember, ConsumerGroup, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import MemberState, MemberTimer
from rollcall.coordinator_udfs.protocol.group import Group, Roster
from rollcall.coordinator_udfs.protocol.history import Gone
from rollcall.coordinator_udfs.protocol.leave_group import cause_of_leave, identities_of, reply_to_leave
from rollcall.coordinator_udfs.protocol.membership import refusal_of_member
from rollcall.coordinator_udfs.protocol.sync_group import PROTOCOL_MANDATORY_SINCE
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
    SyncGroupResponse,
)


def refusal_of_classic_member(
    roster: Roster, request: HeartbeatRequest | SyncGroupRequest, *, is_classic: bool, member_epoch: int
) -> Error | None:
    """Why a classic request is refused: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION.

    is_classic, member_epoch: of the member with the request's id, if there is one.
    """
    refusal = refusal_of_member(roster, request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if not is_classic:
        return Error.UNKNOWN_MEMBER_ID
    return None if request.generation_id == member_epoch else Error.ILLEGAL_GENERATION


def _classic_member(
    consumer: ConsumerGroup, request: HeartbeatRequest | SyncGroupRequest
) -> tuple[ConsumerMember, ClassicMember] | Error:
    """The member that sent the request, or why it is refused."""
    member = consumer.members.get(request.member_id)
    classic = None if member is None else member.classic
    epoch = NO_EPOCH if member is None else member.member_epoch
    refusal = refusal_of_classic_member(consumer, request, is_classic=classic is not None, member_epoch=epoch)
    if refusal is not None:
        return refusal
    assert member is not None
    assert classic is not None
    return member, classic


def _ask_to_rejoin(group: Group, member: ConsumerMember, turn: Turn) -> None:
    """Answers REBALANCE_IN_PROGRESS; the member has its rebalance timeout to rejoin, counted from the first such
    answer."""
    if MemberTimer.JOIN not in member.timers:
        arm(group, member, MemberTimer.JOIN, member.rebalance_timeout_ms, turn)


# ---------------------------------------------------------------- SyncGroup


def sync_with_consumer_group(group: Group, request: SyncGroupRequest, turn: Turn) -> None:
    """Answers a classic member with what it may use now; assignments in its request are ignored.

    Errors in the order checked: INCONSISTENT_GROUP_PROTOCOL (v5 without type or name), UNKNOWN_MEMBER_ID (a consumer
    too), FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS.
    """
    consumer = group.consumer
    assert consumer is not None
    lacks_protocol = request.protocol_type is None or request.protocol_name is None
    if request.api_version >= PROTOCOL_MANDATORY_SINCE and lacks_protocol:
        return refuse_sync(request, Error.INCONSISTENT_GROUP_PROTOCOL, turn)
    found = _classic_member(consumer, request)
    if isinstance(found, Error):
        return refuse_sync(request, found, turn)
    member, classic = found
    if request.protocol_type not in (None, CONSUMER) or request.protocol_name not in (None, classic.protocol_name):
        return refuse_sync(request, Error.INCONSISTENT_GROUP_PROTOCOL, turn)
    if member.member_epoch < consumer.target_epoch and member.state is not MemberState.UNREVOKED:
        _ask_to_rejoin(group, member, turn)
        return refuse_sync(request, Error.REBALANCE_IN_PROGRESS, turn)
    member.timers.pop(MemberTimer.SYNC, None)
    keep_alive(group, member, turn)
    partitions = [TopicPartition(topic, p) for topic in sorted(member.assigned) for p in sorted(member.assigned[topic])]
    response = SyncGroupResponse(
        protocol_type=CONSUMER,
        protocol_name=classic.protocol_name,
        assignment=assignment_bytes(partitions, classic),
    )
    return send_sync(request, member.member_id, request.client_id, member.member_epoch, response, turn)


# ---------------------------------------------------------------- Heartbeat


def heartbeat_to_consumer_group(group: Group, request: HeartbeatRequest, turn: Turn) -> None:
    """Answers NONE, or REBALANCE_IN_PROGRESS where a JoinGroup would change its assignment; either keeps it alive.

    Errors in the order checked: UNKNOWN_MEMBER_ID (a consumer too), FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    consumer = group.consumer
    assert consumer is not None
    found = _classic_member(consumer, request)
    if isinstance(found, Error):
        error = found
    else:
        member = found[0]
        keep_alive(group, member, turn)
        error = Error.NONE
        if _must_rejoin(consumer, member):
            error = Error.REBALANCE_IN_PROGRESS
            _ask_to_rejoin(group, member, turn)
    response = HeartbeatResponse(error_code=error)
    answer(request, "Heartbeat", error, response, turn, request.member_id, request.generation_id)


def _must_rejoin(consumer: ConsumerGroup, member: ConsumerMember) -> bool:
    """True if there is a newer target, something to give up, or all that it waits for is free."""
    if member.member_epoch < consumer.target_epoch:
        return True
    match member.state:
        case MemberState.UNREVOKED:
            return True
        case MemberState.UNRELEASED:
            missing = (
                (topic, partition)
                for topic, partitions in (member.target or {}).items()
                for partition in partitions
                if partition not in member.assigned.get(topic, {})
            )
            return all(consumer.owner_of(topic, partition) is None for topic, partition in missing)
        case MemberState.STABLE:
            return False


# ---------------------------------------------------------------- LeaveGroup


def leave_consumer_group(group: Group, request: LeaveGroupRequest, turn: Turn) -> None:
    """Removes each member named, consumers too, each with its own error; the epoch rises once for all of them.

    Errors per member: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID. Up to v2 that error is on top.
    """
    consumer = group.consumer
    assert consumer is not None
    gone: dict[str, Gone] = {}
    causes: list[Cause] = []
    errors = [_leave(consumer, identity, request, gone, causes) for identity in identities_of(request)]
    reply_to_leave(request, errors, turn)
    if gone:
        remove_members(group, consumer, list(gone.values()), causes[0], turn)


def _leave(
    consumer: ConsumerGroup,
    identity: MemberIdentity,
    request: LeaveGroupRequest,
    gone: dict[str, Gone],
    causes: list[Cause],
) -> Error:
    member_id = identity.member_id or consumer.static_member_id(identity.group_instance_id) or ""
    refusal = refusal_of_member(consumer, member_id, identity.group_instance_id)
    if refusal is not None:
        return refusal
    member = consumer.members[member_id]
    cause = cause_of_leave(request, identity, member)
    causes.append(cause)
    gone.setdefault(member_id, Gone(member, EndCause(cause.kind), identity.reason, cause.is_inferred))
    return Error.NONE
