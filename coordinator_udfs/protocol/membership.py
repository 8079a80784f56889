"""How members join, stay and are removed: what JoinGroup, LeaveGroup and the session timer share.

Knows the checks of a member's identity and what a new or a leaving member sets off; of answers it knows only those to
requests parked on a member that leaves. Source: ClassicGroup.validateMember, addMemberThenRebalanceOrCompleteJoin.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import drop, park_join, send_join
from rollcall.coordinator_udfs.protocol.config import NEW_MEMBER_JOIN_TIMEOUT_MS
from rollcall.coordinator_udfs.protocol.deadlines import arm_session
from rollcall.coordinator_udfs.protocol.group import Group, Roster
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.rebalance import maybe_complete_join, prepare_rebalance
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import JoinGroupRequest, JoinGroupResponse
from rollcall.schemas.wire_fields import first_version

_REBALANCE_TIMEOUT_SINCE = first_version(JoinGroupRequest, "rebalance_timeout_ms")


def refusal_of_member(roster: Roster, member_id: str, group_instance_id: str | None) -> Error | None:
    """Why this identity is refused, None if it is a member's. Order: the instance id first, then the member id.

    UNKNOWN_MEMBER_ID: no member has the instance id. FENCED_INSTANCE_ID: it belongs to another member id.
    UNKNOWN_MEMBER_ID: no such member. Source: ClassicGroup.validateMember.
    """
    if group_instance_id is not None:
        known = roster.static_member_id(group_instance_id)
        if known is None:
            return Error.UNKNOWN_MEMBER_ID
        if known != member_id:
            return Error.FENCED_INSTANCE_ID
    return None if member_id in roster.members else Error.UNKNOWN_MEMBER_ID


def protocols_of(request: JoinGroupRequest) -> dict[str, bytes]:
    """Metadata by name, in the order of preference; if a name is given twice, the first counts."""
    protocols: dict[str, bytes] = {}
    for protocol in request.protocols:
        protocols.setdefault(protocol.name, protocol.metadata)
    return protocols


def rebalance_timeout_of(request: JoinGroupRequest) -> int:
    """JoinGroup v0 has no rebalance timeout: its session timeout serves as such."""
    has_its_own = request.api_version >= _REBALANCE_TIMEOUT_SINCE
    return request.rebalance_timeout_ms if has_its_own else request.session_timeout_ms


def add_member(group: Group, member_id: str, request: JoinGroupRequest, turn: Turn) -> None:
    """Adds a new member, parks its JoinGroup, and starts a rebalance or completes the join phase under way.

    Its session timer is five minutes until that JoinGroup is answered.
    """
    member = Member(
        member_id=member_id,
        client_id=request.client_id,
        client_host=request.client_host,
        session_timeout_ms=request.session_timeout_ms,
        rebalance_timeout_ms=rebalance_timeout_of(request),
        protocols=protocols_of(request),
        joined_at_ms=turn.now_ms,
        group_instance_id=request.group_instance_id,
        is_new=True,
        last_seen_at_ms=turn.now_ms,
    )
    if group.state is GroupState.PREPARING_REBALANCE and group.previous_state is GroupState.EMPTY:
        group.new_member_added = True
    group.add(member, request.protocol_type)
    arm_session(group, member, NEW_MEMBER_JOIN_TIMEOUT_MS, turn)
    is_inferred = request.inferred_cause is not None
    turn.emit(makers.member_joined(turn.now_ms, member, history.terms_of(group, member), is_inferred=is_inferred))
    park_join(group, member, request, turn)
    if group.can_rebalance:
        cause = makers.cause_by(CauseKind.MEMBER_JOINED, member, request.reason)
        cause.is_inferred = is_inferred
        prepare_rebalance(group, cause, turn, joined=[member])
        return
    history.note_newcomer(group, member)
    history.join_received(group, member, turn)
    maybe_complete_join(group, turn)


def rejoin(group: Group, member: Member, request: JoinGroupRequest, kind: CauseKind, turn: Turn) -> None:
    """Parks a member's JoinGroup, takes over its new settings, and starts a rebalance or completes the join phase under
    way.
    """
    protocols, timeouts_ms = protocols_of(request), (rebalance_timeout_of(request), request.session_timeout_ms)
    is_same = list(protocols.items()) == list(member.protocols.items())
    # Equal bytes need not be decoded.
    says_nothing_new = is_same and timeouts_ms == (member.rebalance_timeout_ms, member.session_timeout_ms)
    terms_before = None if says_nothing_new else history.terms_of(group, member)
    group.update(member, protocols, *timeouts_ms)
    if terms_before is not None and terms_before != (terms := history.terms_of(group, member)):
        turn.emit(makers.member_updated(turn.now_ms, member, terms))
    park_join(group, member, request, turn)
    if group.can_rebalance:
        cause = makers.cause_by(kind, member, request.reason)
        cause.is_inferred = request.inferred_cause is not None
        prepare_rebalance(group, cause, turn)
        return
    history.join_received(group, member, turn)
    maybe_complete_join(group, turn)


def remove_member(group: Group, gone: history.Gone, turn: Turn) -> None:
    """Removes a member; a parked JoinGroup is answered UNKNOWN_MEMBER_ID, a parked SyncGroup never, as in Kafka."""
    member = group.members[gone.member.member_id]
    parked = group.take_parked_join(member)
    if parked is not None:
        send_join(parked, member.client_id, JoinGroupResponse(error_code=Error.UNKNOWN_MEMBER_ID), turn)
    if member.parked_sync is not None:
        drop(member.parked_sync, "SyncGroup", member.member_id, "the member was removed while it waited", turn)
        member.parked_sync = None
    group.remove(member.member_id)
    history.member_removed(group, gone, turn)


def keep_alive(group: Group, member: Member, turn: Turn) -> None:
    """Restarts the session timer of a member that has proved to be alive."""
    member.last_seen_at_ms = turn.now_ms
    arm_session(group, member, member.session_timeout_ms, turn)
