"""A static member that returns without its member id: a new id takes the old one's place (KIP-345, KIP-814).

Knows what the change of ids does in each state. Source: updateStaticMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

from typing import assert_never

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import current_members, park_join, refuse_parked, send_join
from rollcall.coordinator_udfs.protocol.deadlines import arm_session
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.membership import protocols_of, rebalance_timeout_of
from rollcall.coordinator_udfs.protocol.rebalance import maybe_complete_join, prepare_rebalance, select_protocol
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupRequest, JoinGroupResponse
from rollcall.schemas.wire_fields import carries


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
