"""LeaveGroup (key 13, v0-5): members leave, by their own request or an administrator's.

v3 names several members and their instance ids (KIP-345), v5 a reason each (KIP-800).
Source: GroupMetadataManager.classicGroupLeave.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.membership import refusal_of_member, remove_member
from rollcall.coordinator_udfs.protocol.rebalance import maybe_complete_join, prepare_rebalance
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, CauseKind, EndCause, cause_of_leaving
from rollcall.schemas.effects import PendingMemberRemoved
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import LeaveGroupRequest, LeaveGroupResponse, LeaveGroupResponseMember, MemberIdentity
from rollcall.schemas.wire_fields import first_version

MEMBERS_SINCE = first_version(LeaveGroupRequest, "members")


def leave_group(group: Group, request: LeaveGroupRequest, turn: Turn) -> None:
    """Removes each member that is named, each with its own error; then one rebalance, if any was removed.

    Errors in the order checked: INVALID_GROUP_ID and COORDINATOR_NOT_AVAILABLE on top with no members; then per
    member UNKNOWN_MEMBER_ID (unknown group, unknown id) or FENCED_INSTANCE_ID. Up to v2 that error is on top.
    """
    if not request.group_id:
        return reply_to_leave(request, [], turn, Error.INVALID_GROUP_ID)
    if group.state is GroupState.DEAD:
        return reply_to_leave(request, [], turn, Error.COORDINATOR_NOT_AVAILABLE)
    causes: list[Cause] = []
    gone: list[history.Gone] = []
    errors = [_leave(group, identity, request, causes, gone, turn) for identity in identities_of(request)]
    reply_to_leave(request, errors, turn)
    if not causes:
        return None
    match group.state:
        case GroupState.STABLE | GroupState.COMPLETING_REBALANCE:
            prepare_rebalance(group, causes[0], turn, gone=gone)
        case GroupState.PREPARING_REBALANCE:
            maybe_complete_join(group, turn)
    return None


def identities_of(request: LeaveGroupRequest) -> list[MemberIdentity]:
    """The members that a LeaveGroup names: one up to v2."""
    if request.api_version >= MEMBERS_SINCE:
        return request.members
    return [MemberIdentity(member_id=request.member_id, inferred_cause=request.inferred_cause)]


def _leave(
    group: Group,
    identity: MemberIdentity,
    request: LeaveGroupRequest,
    causes: list[Cause],
    gone: list[history.Gone],
    turn: Turn,
) -> Error:
    """Removes one member. An id given out may leave too, whatever instance id is sent with it."""
    member_id = identity.member_id or group.static_member_id(identity.group_instance_id) or ""
    if not group.is_known:
        return Error.UNKNOWN_MEMBER_ID
    pending = group.take_back(member_id) if identity.member_id else None
    if pending is not None:
        history.pending_member_gone(group, pending, turn)
        turn.emit(PendingMemberRemoved(at_ms=turn.now_ms, member_id=member_id, end_cause=EndCause.MEMBER_LEFT))
        causes.append(
            Cause(
                kind=CauseKind.MEMBER_LEFT,
                member_id=member_id,
                client_id=pending.client_id,
                client_host=pending.client_host,
                client_reason=identity.reason or None,
            )
        )
        return Error.NONE
    refusal = refusal_of_member(group, member_id, identity.group_instance_id)
    if refusal is not None:
        return refusal
    member = group.members[member_id]
    cause = cause_of_leave(request, identity, member)
    causes.append(cause)
    gone.append(history.Gone(member, EndCause(cause.kind), identity.reason, cause.is_inferred))
    remove_member(group, gone[-1], turn)
    return Error.NONE


def cause_of_leave(request: LeaveGroupRequest, identity: MemberIdentity, member: history.AnyMember) -> Cause:
    """Why a member that a LeaveGroup names leaves, with what a replay inferred."""
    inferred = identity.inferred_cause or request.inferred_cause
    kind = cause_of_leaving(
        identity.reason,
        inferred,
        by_instance_id_only=not identity.member_id,
        by_another=request.client_id != member.client_id and request.client_host != member.client_host,
    )
    cause = makers.cause_by(kind, member, identity.reason)
    cause.is_inferred = inferred is not None
    return cause


def reply_to_leave(request: LeaveGroupRequest, errors: list[Error], turn: Turn, error: Error = Error.NONE) -> None:
    """Answers a LeaveGroup. errors: of each member that it names; none if the request itself has the error."""
    members = [
        LeaveGroupResponseMember(member_id=one.member_id, group_instance_id=one.group_instance_id, error_code=its)
        for one, its in zip(identities_of(request), errors, strict=False)
    ]
    if request.api_version < MEMBERS_SINCE and errors:
        error = errors[0]
    response = LeaveGroupResponse(error_code=error, members=members)
    member_id = request.member_id or (request.members[0].member_id if request.members else "")
    answer(request, "LeaveGroup", error, response, turn, member_id=member_id)
