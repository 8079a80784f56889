"""What a recording proves about a group although no request in it says so: written into the group, and marked as
inferred.

Only a replay sends such facts (`GroupObserved`): of groups formed before the recording began, of coordinators that
moved, of members whose last request left no line. Knows how to bring a group to the observed state; must not know what
proves it.
"""

from __future__ import annotations

from typing import assert_never

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import drop_parked
from rollcall.coordinator_udfs.protocol.config_apis import set_configs
from rollcall.coordinator_udfs.protocol.consumer.observed import (
    see_alive,
    see_consumer,
    see_consumers_gone,
    see_sessions,
)
from rollcall.coordinator_udfs.protocol.deadlines import arm_session
from rollcall.coordinator_udfs.protocol.group import CommittedOffset, Group
from rollcall.coordinator_udfs.protocol.lifecycle import create_group, load_group
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.membership import remove_member
from rollcall.coordinator_udfs.protocol.rebalance import (
    assign_and_stabilize,
    complete_join,
    end_timers,
    move,
    note_synced,
    prepare_rebalance,
)
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, CauseCandidate, CauseKind, EndCause, cause_of_end
from rollcall.schemas.effects import GroupObserved, PendingMemberRemoved
from rollcall.schemas.messages import GoneMember, GroupObservedRequest, ObservedMember, ObservedOffset


def observe_group(group: Group, request: GroupObservedRequest, turn: Turn) -> None:
    """What is set only for the group; or all that was seen of it, in this order: away or loaded anew, generation,
    members, state, who is gone, offsets.

    A member that is observed has a whole session again. For silent times only passed deadlines are reported.
    """
    if request.configs is not None:
        set_configs(group, request.configs, turn, why=request.why)
        if group.consumer is not None:
            see_sessions(group, group.consumer, turn)
    elif not request.is_silent:
        _see_group(group, request, turn)


def _see_group(group: Group, request: GroupObservedRequest, turn: Turn) -> None:
    if not group.is_known:
        create_group(group, turn)
    seen = [*request.members, *(() if request.consumer is None else (request.consumer,))]
    turn.emit(
        GroupObserved(
            at_ms=turn.now_ms,
            why=request.why,
            is_away=request.is_away,
            is_loaded=request.is_loaded,
            generation_id=group.generation_id if request.generation_id is None else request.generation_id,
            member_ids=[member.member_id for member in seen],
        )
    )
    if request.is_away or request.is_loaded:
        load_group(group, turn)
    if request.is_away:
        newer = () if group.consumer is None else group.consumer.members.values()
        for member in (*group.members.values(), *newer):
            member.session_deadline_ms = None
    if group.consumer is None:
        _see_classic(group, request, turn)
    else:
        see_alive(group, group.consumer, [member.member_id for member in request.members], turn)
    if request.gone and group.consumer is not None:
        see_consumers_gone(group, group.consumer, request.gone, turn)
    elif request.gone:
        _see_gone(group, request.gone, turn)
    if request.consumer is not None:
        see_consumer(group, request.consumer, turn)
    _see_offsets(group, request.offsets, turn)


def _see_classic(group: Group, request: GroupObservedRequest, turn: Turn) -> None:
    """A generation, members and a state: a consumer group has others, which its own members' answers show."""
    if request.generation_id is not None:
        if group.rebalance is not None and request.generation_id < group.generation_id:
            group.rebalance.from_generation_id = request.generation_id
        group.generation_id = request.generation_id
    _see_members(group, request, turn)
    if request.state is not None:
        _see_state(group, GroupState(request.state), turn)


def _see_offsets(group: Group, offsets: list[ObservedOffset], turn: Turn) -> None:
    for offset in offsets:
        group.offsets.pop((offset.topic, offset.partition), None)
        if offset.committed_offset >= 0:
            group.offsets[offset.topic, offset.partition] = CommittedOffset(
                committed_offset=offset.committed_offset,
                leader_epoch=offset.leader_epoch,
                metadata=offset.metadata,
                commit_timestamp_ms=turn.now_ms,
            )


def _see_members(group: Group, request: GroupObservedRequest, turn: Turn) -> None:
    seen = {member.member_id for member in request.members}
    if request.is_complete:
        for member in [member for member in group.members.values() if member.member_id not in seen]:
            _forget(group, member, turn)
        for member_id in list(group.pending):
            group.take_back(member_id)
    for observed in request.members:
        _see_member(group, observed, request.protocol_type or group.protocol_type or "", turn)
    if request.protocol_type is not None:
        group.protocol_type = request.protocol_type
    if request.protocol_name is not None:
        group.protocol_name = request.protocol_name
    if request.leader_id is not None:
        group.leader_id = request.leader_id


def _see_member(group: Group, observed: ObservedMember, protocol_type: str, turn: Turn) -> None:
    member = group.members.get(observed.member_id)
    if member is None:
        replaced = group.members.get(group.static_member_id(observed.group_instance_id) or "")
        if replaced is not None:
            _forget(group, replaced, turn)
        member = Member(
            member_id=observed.member_id,
            client_id=observed.client_id,
            client_host=observed.client_host,
            session_timeout_ms=-1,
            rebalance_timeout_ms=-1,
            protocols={},
            joined_at_ms=turn.now_ms,
            group_instance_id=observed.group_instance_id,
            last_seen_at_ms=turn.now_ms,
            has_known_timeouts=False,
        )
        group.add(member, protocol_type)
        turn.emit(makers.member_joined(turn.now_ms, member, history.terms_of(group, member), is_inferred=True))
        history.note_newcomer(group, member)
    else:
        arm_session(group, member, member.session_timeout_ms, turn)
        member.client_id = member.client_id or observed.client_id
        member.client_host = member.client_host or observed.client_host
        if member.group_instance_id is None and observed.group_instance_id is not None:
            group.name_static(member, observed.group_instance_id)
    if observed.protocols is not None:
        group.update_protocols(member, {p.name: p.metadata for p in observed.protocols})
    if observed.assignment is not None:
        member.assignment = observed.assignment
        if group.state is GroupState.STABLE:
            history.note_assigned(group, member, turn)


def _forget(group: Group, member: Member, turn: Turn) -> None:
    """Removes a member; when and why it left is not known. Its parked request was answered without a line in the
    recording.
    """
    drop_parked(group, member, "the recording shows the group without this member", turn)
    group.remove(member.member_id)
    history.member_removed(group, history.Gone(member, EndCause.UNKNOWN), turn)
    if group.state is not GroupState.PREPARING_REBALANCE:
        group.note_gone(member, EndCause.UNKNOWN)


def _see_state(group: Group, state: GroupState, turn: Turn) -> None:
    if state is group.state:
        return
    match state:
        case GroupState.PREPARING_REBALANCE:
            if group.state is GroupState.EMPTY:
                _move(group, GroupState.STABLE, turn)
            prepare_rebalance(group, Cause(kind=CauseKind.UNKNOWN, is_inferred=True), turn)
        case GroupState.STABLE if group.state is GroupState.COMPLETING_REBALANCE and _has_risen(group):
            for member_id in list(group.pending_sync):
                note_synced(group, member_id)
            assignments = {member.member_id: member.assignment for member in group.members.values()}
            assign_and_stabilize(group, assignments, turn)
        case GroupState.STABLE | GroupState.COMPLETING_REBALANCE | GroupState.EMPTY | GroupState.DEAD:
            _move(group, state, turn)
        case _:
            assert_never(state)


def _move(group: Group, state: GroupState, turn: Turn) -> None:
    """Moves the group to a state without the protocol's rules: nothing of the old state stays."""
    for member in group.members.values():
        drop_parked(group, member, "the recording shows a later state of the group", turn)
    end_timers(group)
    if state is GroupState.COMPLETING_REBALANCE:
        group.pending_sync = dict.fromkeys(group.members)
    move(group, state, turn)
    has_risen = _has_risen(group)
    if state in (GroupState.STABLE, GroupState.EMPTY) or (state is GroupState.COMPLETING_REBALANCE and not has_risen):
        # One that led to no later generation is still to come, or never was.
        outcome = "completed" if has_risen else "superseded"
        history.rebalance_ended(group, outcome if group.members else "empty", turn)


def _has_risen(group: Group) -> bool:
    """Whether the rebalance under way has led to a later generation."""
    return group.rebalance is None or group.rebalance.from_generation_id < group.generation_id


def _see_gone(group: Group, gone: list[GoneMember], turn: Turn) -> None:
    """Removes members as their session timers would; one rebalance after all of them."""
    removed: list[history.Gone] = []
    for identity in gone:
        end_cause = EndCause(identity.end_cause)
        if group.take_back(identity.member_id) is not None:
            turn.emit(PendingMemberRemoved(at_ms=turn.now_ms, member_id=identity.member_id, end_cause=end_cause))
        member = group.members.get(identity.member_id)
        if member is not None:
            removed.append(history.Gone(member, end_cause, is_inferred=True))
            remove_member(group, removed[-1], turn)
    if group.state is GroupState.PREPARING_REBALANCE:
        if group.has_all_members_joined:
            complete_join(group, turn)
    elif removed and group.state is not GroupState.EMPTY:
        kind = cause_of_end(removed[0].end_cause)
        cause = makers.cause_by(kind, removed[0].member, is_inferred=True)
        if len({each.end_cause for each in removed}) == 1 and len(removed) > 1:
            cause.candidates = tuple(
                CauseCandidate(kind=kind, member_id=each.member.member_id, client_id=each.member.name)
                for each in removed
            )
        prepare_rebalance(group, cause, turn, gone=removed)
