"""JoinGroup (key 11, v0-9): a client asks to be in the next generation.

v0 has no rebalance timeout; v4 adds the second step for new ids (KIP-394); v5 static members (KIP-345); v8 a reason
(KIP-800); v9 lets a returning static leader skip the assignment (KIP-814). A static member that returns without its
member id gets a new one in the old one's place.
Source: GroupMetadataManager.classicGroupJoin, updateStaticMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

import uuid
from typing import assert_never

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import (
    current_generation,
    current_members,
    park_join,
    refuse_join,
    refuse_parked,
    send_join,
)
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.deadlines import arm_session, note_deadline
from rollcall.coordinator_udfs.protocol.group import Group, GroupView
from rollcall.coordinator_udfs.protocol.group_room import why_no_room_to_join
from rollcall.coordinator_udfs.protocol.lifecycle import create_group
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember, fresh_id
from rollcall.coordinator_udfs.protocol.membership import (
    add_member,
    protocols_of,
    rebalance_timeout_of,
    refusal_of_member,
    rejoin,
)
from rollcall.coordinator_udfs.protocol.rebalance import maybe_complete_join, prepare_rebalance, select_protocol
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseKind, EndCause, cause_of_rejoining
from rollcall.schemas.effects import MemberIdGiven, PendingMemberRemoved
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupRequest, JoinGroupResponse
from rollcall.schemas.wire_fields import carries

TWO_STEP_JOIN_SINCE = 4


def join_group(group: Group, request: JoinGroupRequest, turn: Turn) -> None:
    """Parks the JoinGroup until the join phase ends, or answers at once where nothing has to change.

    Errors in the order checked: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT, UNKNOWN_MEMBER_ID (an id for an unknown
    group), GROUP_MAX_SIZE_REACHED (no room for its bytes, then for a member), COORDINATOR_NOT_AVAILABLE,
    INCONSISTENT_GROUP_PROTOCOL, then by member: see below.
    """
    config, member_id = turn.config, request.member_id
    error = refusal_of_join_itself(request, config)
    if error is not None:
        return refuse_join(request, error, turn, member_id=member_id)
    if not group.is_known and member_id:
        return refuse_join(request, Error.UNKNOWN_MEMBER_ID, turn, member_id=member_id)
    if why_no_room_to_join(group, request, config) is not None:
        # A member that nobody waits for stays as long as its session lasts.
        if group.state is GroupState.PREPARING_REBALANCE:
            return _refuse_for_size(group, request, turn)
        return refuse_join(request, Error.GROUP_MAX_SIZE_REACHED, turn, member_id="")
    if not group.is_known:
        create_group(group, turn)
    if not _accepts(group, member_id, config.group_max_size):
        return _refuse_for_size(group, request, turn)
    if group.state is GroupState.DEAD:
        return refuse_join(request, Error.COORDINATOR_NOT_AVAILABLE, turn, member_id=member_id)
    if not supports(group, request):
        return refuse_join(request, Error.INCONSISTENT_GROUP_PROTOCOL, turn, member_id=member_id)
    if member_id:
        return _join_known(group, request, turn)
    return _join_new(group, request, turn)


def refusal_of_join_itself(request: JoinGroupRequest, config: GroupConfig) -> Error | None:
    """What is wrong with a JoinGroup, whatever the group: INVALID_GROUP_ID, INVALID_SESSION_TIMEOUT."""
    if not request.group_id:
        return Error.INVALID_GROUP_ID
    is_within = config.group_min_session_timeout_ms <= request.session_timeout_ms <= config.group_max_session_timeout_ms
    return None if is_within else Error.INVALID_SESSION_TIMEOUT


def is_first_join(request: JoinGroupRequest) -> bool:
    """Whether it is a dynamic client's first one: from v4 it gets an id, and joins with it (KIP-394)."""
    is_dynamic = not request.member_id and request.group_instance_id is None
    return is_dynamic and request.api_version >= TWO_STEP_JOIN_SINCE


def _accepts(group: Group, member_id: str, max_size: int) -> bool:
    """Whether group.max.size leaves room (KIP-389): while the group awaits joins, the waiting joins count, not the
    members.
    """
    if group.state is GroupState.PREPARING_REBALANCE:
        member = group.members.get(member_id)
        is_waiting = member is not None and member.parked_join is not None
        return is_waiting or group.awaiting_join_count < max_size
    return has_place(group, member_id, max_size)


def has_place(group: GroupView, member_id: str, max_size: int) -> bool:
    """The same for a group that awaits no joins."""
    if group.state in (GroupState.EMPTY, GroupState.DEAD):
        return True
    return member_id in group.members or len(group.members) < max_size


def _refuse_for_size(group: Group, request: JoinGroupRequest, turn: Turn) -> None:
    """Refuses the JoinGroup and removes the member; does not check whether this ends the join phase, as in Kafka."""
    was_pending = request.member_id in group.pending
    removed = group.remove(request.member_id)
    if removed is not None:
        history.member_removed(group, history.Gone(removed, EndCause.GROUP_MAX_SIZE_REACHED), turn)
    if was_pending:
        end_cause = EndCause.GROUP_MAX_SIZE_REACHED
        turn.emit(PendingMemberRemoved(at_ms=turn.now_ms, member_id=request.member_id, end_cause=end_cause))
    refuse_join(request, Error.GROUP_MAX_SIZE_REACHED, turn, member_id="")


def supports(group: GroupView, request: JoinGroupRequest) -> bool:
    """Whether the member fits: an Empty group takes any type and any protocol; otherwise the type must be the group's
    and one protocol common to all.
    """
    if not request.protocol_type or not request.protocols:
        return False
    if group.state == GroupState.EMPTY:
        return True
    if request.protocol_type != group.protocol_type:
        return False
    return any(group.is_supported_by_all(protocol.name) for protocol in request.protocols)


def _join_new(group: Group, request: JoinGroupRequest, turn: Turn) -> None:
    """A JoinGroup without member id: a static client joins or returns; a dynamic one joins up to v3 and gets an id
    from v4.
    """
    member_id = _unused_member_id(group, request)
    if group.static_member_id(request.group_instance_id) is not None:
        return replace_static_member(group, member_id, request, turn)
    if not is_first_join(request):
        return add_member(group, member_id, request, turn)
    deadline_ms = note_deadline(group, turn.armed_from_ms + request.session_timeout_ms)
    group.session_starts += 1
    group.give_out(PendingMember(member_id, request.client_id, request.client_host, deadline_ms, group.session_starts))
    turn.emit(
        MemberIdGiven(
            at_ms=turn.now_ms,
            member_id=member_id,
            client_id=request.client_id,
            client_host=request.client_host,
            session_timeout_ms=request.session_timeout_ms,
        )
    )
    return refuse_join(request, Error.MEMBER_ID_REQUIRED, turn, member_id=member_id)


def _unused_member_id(group: Group, request: JoinGroupRequest) -> str:
    """A member id that no member has: a request that arrives twice counts as two clients."""
    attempt = 0
    member_id = request.recorded_member_id or new_member_id(request)
    while member_id in group.members:
        attempt += 1
        member_id = new_member_id(request, attempt)
    return member_id


def new_member_id(request: JoinGroupRequest, attempt: int = 0) -> str:
    """`<instance id or client id>-<UUID>`, the UUID derived from the request so that a replay gives the same one."""
    digest = fresh_id(request.group_id, request, attempt)
    prefix = request.group_instance_id if request.group_instance_id is not None else request.client_id
    return f"{prefix}-{uuid.UUID(bytes=digest, version=4)}"


def _join_known(group: Group, request: JoinGroupRequest, turn: Turn) -> None:
    """A JoinGroup with a member id: an id given out becomes a member; a member joins again.

    Errors: UNKNOWN_SERVER_ERROR (an id given out, with an instance id), UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    member_id = request.member_id
    if member_id in group.pending:
        if request.group_instance_id is not None:
            return refuse_join(request, Error.UNKNOWN_SERVER_ERROR, turn, member_id="")
        return add_member(group, member_id, request, turn)
    refusal = refusal_of_member(group, member_id, request.group_instance_id)
    if refusal is not None:
        return refuse_join(request, refusal, turn, member_id=member_id)
    member = group.members[member_id]
    member.last_seen_at_ms = turn.now_ms
    is_unchanged = list(member.protocols.items()) == list(protocols_of(request).items())
    match group.state:
        case GroupState.COMPLETING_REBALANCE if is_unchanged:
            return send_join(request, request.client_id, current_generation(group, member), turn)
        case GroupState.STABLE if is_unchanged and group.leader_id != member_id:
            return send_join(request, request.client_id, current_generation(group, member), turn)
    gave_partitions_up = group.state is GroupState.STABLE and history.gave_partitions_up(group, member)
    kind = cause_of_rejoining(request.reason, request.inferred_cause, gave_partitions_up=gave_partitions_up)
    return rejoin(group, member, request, kind, turn)


def replace_static_member(group: Group, member_id: str, request: JoinGroupRequest, turn: Turn) -> None:
    """Replaces the old member id by the new one; a request with the old id is fenced from now on.

    Stable, same protocol selected: answered at once, same generation. Stable with another protocol, or
    CompletingRebalance: a rebalance. PreparingRebalance: parked with the others.
    """
    old = group.members[group.static_member_id(request.group_instance_id) or ""]
    leader_before = group.leader_id
    refuse_parked(group, old, Error.FENCED_INSTANCE_ID, turn)
    new = group.replace_static(old, member_id)
    arm_session(group, new, new.session_timeout_ms, turn)
    new.last_seen_at_ms = turn.now_ms
    history.member_removed(group, history.Gone(old, EndCause.STATIC_MEMBER_REPLACED, replaced_by=member_id), turn)
    new.joined_at_ms = turn.now_ms
    group.update(new, protocols_of(request), rebalance_timeout_of(request), request.session_timeout_ms)
    turn.emit(makers.member_joined(turn.now_ms, new, history.terms_of(group, new), replaces_member_id=old.member_id))
    cause = makers.cause_by(CauseKind.STATIC_MEMBER_REPLACED, new, request.reason)
    match group.state:
        case GroupState.STABLE if select_protocol(group) == group.protocol_name:
            history.note_assigned(group, new, turn)
            send_join(
                request, request.client_id, _same_generation(group, new, request.api_version, leader_before), turn
            )
        case GroupState.STABLE | GroupState.COMPLETING_REBALANCE:
            park_join(group, new, request, turn)
            prepare_rebalance(group, cause, turn)
        case GroupState.PREPARING_REBALANCE | GroupState.EMPTY | GroupState.DEAD:
            park_join(group, new, request, turn)
            history.join_received(group, new, turn)
            maybe_complete_join(group, turn)
        case _:
            assert_never(group.state)


def _same_generation(group: Group, member: Member, version: int, leader_before: str | None) -> JoinGroupResponse:
    """The answer without a new generation. From v9 on it tells a leader its new id, the members, and to skip the
    assignment; older versions name the OLD leader id, so that a returning leader acts as a follower and runs no
    assignor.
    """
    can_skip = carries(JoinGroupResponse, "skip_assignment", version)
    leads = can_skip and group.leader_id == member.member_id
    return JoinGroupResponse(
        generation_id=group.generation_id,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=(group.leader_id if can_skip else leader_before) or "",
        skip_assignment=leads,
        member_id=member.member_id,
        members=current_members(group) if leads else [],
    )
