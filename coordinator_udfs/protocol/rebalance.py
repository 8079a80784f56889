"""A rebalance from its first sign to Stable: the join phase, the election, the vote, the assignment.

Knows when a phase begins and ends and which requests that answers; knows no API's checks. Each public function says
which state it leads to. Source: GroupMetadataManager.prepareRebalance, completeClassicGroupJoin,
setAndPropagateAssignment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import current_generation, send_join, send_sync
from rollcall.coordinator_udfs.protocol.claims import CONSUMER
from rollcall.coordinator_udfs.protocol.deadlines import (
    arm_join,
    arm_join_again,
    arm_session,
    arm_sync,
    earliest,
    reported_from_ms,
)
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.java_maps import hash_map_order
from rollcall.coordinator_udfs.protocol.members import Member
from rollcall.coordinator_udfs.protocol.states import VALID_PREVIOUS, GroupState
from rollcall.coordinator_udfs.protocol.turn import Timer, Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, EndCause
from rollcall.schemas.consumer_protocol import decode_topics
from rollcall.schemas.effects import JoinPhaseEnded
from rollcall.schemas.errors import Error
from rollcall.schemas.layout import LayoutError
from rollcall.schemas.messages import SyncGroupResponse


def transition(group: Group, to_state: GroupState, turn: Turn) -> None:
    """Moves the group to another state. Raises AssertionError if the table does not allow it: our own defect."""
    if group.state not in VALID_PREVIOUS[to_state]:
        raise AssertionError(f"group {group.group_id!r} cannot move from {group.state} to {to_state}")
    move(group, to_state, turn)


def move(group: Group, to_state: GroupState, turn: Turn) -> None:
    """Moves the group without checking the table, and emits it: for what happens outside the protocol."""
    from_state = group.state
    group.previous_state, group.state, group.state_timestamp_ms = from_state, to_state, turn.now_ms
    turn.emit(makers.state_changed(turn.now_ms, group, from_state, to_state))


# ---------------------------------------------------------------- into PreparingRebalance


def prepare_rebalance(
    group: Group,
    cause: Cause,
    turn: Turn,
    *,
    joined: Sequence[Member] = (),
    gone: Sequence[history.Gone] = (),
) -> None:
    """Empty, CompletingRebalance or Stable -> PreparingRebalance; continues at once if everybody has joined already.

    From Empty the initial delay runs instead of the rebalance timeout. joined, gone: for the history, the members that
    joined or left by the request that set this off; they do not count in the rebalance that this one supersedes.
    """
    from_state = group.state
    members_before = len(group.members) - len(joined) + len(gone)
    if from_state is GroupState.COMPLETING_REBALANCE:
        group.assign({})
        for member in group.members.values():
            _answer_sync(group, member, SyncGroupResponse(error_code=Error.REBALANCE_IN_PROGRESS), turn)
    end_pending_sync(group)
    history.rebalance_ended(group, "superseded", turn, members_before)
    history.rebalance_started(group, cause, from_state, turn, members_before=members_before, joined=joined, gone=gone)
    if from_state is GroupState.EMPTY:
        delay_ms = turn.config.group_initial_rebalance_delay_ms
        group.initial_delay_ms = delay_ms
        group.initial_delay_left_ms = max(group.rebalance_timeout_ms - delay_ms, 0)
        arm_join(group, delay_ms, turn)
    transition(group, GroupState.PREPARING_REBALANCE, turn)
    for member in group.members.values():
        if member.parked_join is not None:
            history.join_received(group, member, turn)
    if from_state is GroupState.EMPTY:
        return
    if group.has_all_members_joined:
        complete_join(group, turn)
    else:
        arm_join(group, group.rebalance_timeout_ms, turn)


def end_pending_sync(group: Group) -> None:
    """Stops waiting for SyncGroups, and their timer."""
    group.pending_sync.clear()
    group.sync_deadline_ms = None


def end_timers(group: Group) -> None:
    """Ends the timers of the join phase and of the wait for SyncGroups, without what they would set off."""
    end_pending_sync(group)
    group.join_deadline_ms = group.initial_delay_left_ms = None


def note_synced(group: Group, member_id: str) -> None:
    """Stops waiting for a member's SyncGroup; the last one stops the timer."""
    if group.pending_sync.pop(member_id, 0) == 0:
        return
    if not group.pending_sync:
        group.sync_deadline_ms = None


# ---------------------------------------------------------------- out of PreparingRebalance


def maybe_complete_join(group: Group, turn: Turn) -> None:
    """Ends the join phase once everybody has joined; only its delay ends an initial rebalance."""
    if group.state is not GroupState.PREPARING_REBALANCE or group.previous_state is GroupState.EMPTY:
        return
    if group.has_all_members_joined:
        complete_join(group, turn)


def end_initial_window(group: Group, turn: Turn) -> None:
    """The initial delay has passed: starts another if a member joined during it and the rebalance timeout is not used
    up; otherwise ends the join phase.
    """
    left_ms = group.initial_delay_left_ms or 0
    if not group.new_member_added or left_ms == 0:
        complete_join(group, turn)
        return
    group.new_member_added = False
    passed_ms = group.initial_delay_ms
    group.initial_delay_ms = min(turn.config.group_initial_rebalance_delay_ms, left_ms)
    group.initial_delay_left_ms = max(left_ms - passed_ms, 0)
    arm_join(group, group.initial_delay_ms, turn)


def complete_join(group: Group, turn: Turn) -> None:
    """PreparingRebalance -> CompletingRebalance, or Empty if nobody is left.

    Dynamic members that did not join are dropped, static ones stay. If only absent static ones are left, the phase goes
    on for another rebalance timeout, as often as that takes. The generation grows whenever the phase ends.
    """
    absent = [member for member in group.members.values() if member.parked_join is None]
    for member in absent:
        if member.group_instance_id is None:
            group.remove(member.member_id)
            history.member_removed(group, history.Gone(member, EndCause.REBALANCE_TIMEOUT), turn)
        elif group.rebalance is not None:
            history.part_of(group.rebalance, member)
    group.join_deadline_ms = None
    group.initial_delay_left_ms = None
    if not _elect_joined_leader(group) and group.members:
        arm_join_again(group, _prolonged_by_ms(group), turn)
        return
    history.join_phase_ended(group, turn)
    group.generation_id += 1
    end_pending_sync(group)
    if not group.members:
        group.protocol_name = None
        group.subscribed_topics = frozenset() if group.protocol_type == CONSUMER else None
        transition(group, GroupState.EMPTY, turn)
        history.rebalance_ended(group, "empty", turn)
        return
    group.protocol_name = select_protocol(group)
    group.subscribed_topics = selected_topics(group)
    transition(group, GroupState.COMPLETING_REBALANCE, turn)
    turn.emit(
        JoinPhaseEnded(
            at_ms=turn.now_ms,
            generation_id=group.generation_id,
            protocol_name=group.protocol_name,
            leader_id=group.leader_id,
            member_ids=list(group.members),
        )
    )
    for member in group.members.values():
        parked = group.take_parked_join(member)
        if parked is not None:
            send_join(parked, member.client_id, current_generation(group, member), turn)
        arm_session(group, member, member.session_timeout_ms, turn)
        member.is_new = False
        group.pending_sync[member.member_id] = None
    arm_sync(group, group.rebalance_timeout_ms, turn)


def pass_idle_joins(group: Group, until_ms: int) -> None:
    """Skips the join timer's expiries up to until_ms that would find no member and write no effect.

    It stops before any other deadline. So passing time costs by what is due, not by its length.
    """
    join_ms = group.join_deadline_ms
    if join_ms is None or join_ms > until_ms or not _has_only_noted_absent(group):
        return
    length_ms = _prolonged_by_ms(group)
    other, last_ms = earliest(group, but=Timer.JOIN), min(reported_from_ms(join_ms, length_ms), until_ms + 1)
    if other is not None:
        last_ms = min(last_ms, other.deadline_ms)
    idle = -((join_ms - last_ms) // length_ms)
    if idle > 0:
        group.join_deadline_ms = join_ms + idle * length_ms
        group.updated_at_ms = max(group.updated_at_ms, group.join_deadline_ms - length_ms)


def _has_only_noted_absent(group: Group) -> bool:
    """Whether the join phase continues only for absent static members that were all found missing before."""
    return (
        group.state is GroupState.PREPARING_REBALANCE
        and group.initial_delay_left_ms is None
        and group.awaiting_join_count == 0
        and bool(group.members)
        and group.has_known_timeouts
        and all(member.group_instance_id is not None for member in group.members.values())
        and (group.rebalance is None or group.rebalance.parts.keys() >= group.members.keys())
    )


def _prolonged_by_ms(group: Group) -> int:
    return max(group.rebalance_timeout_ms, 1)


def _elect_joined_leader(group: Group) -> bool:
    """Keeps a leader that has joined; otherwise the first member in join order that has joined becomes the leader.
    False if there is none.

    Kafka takes any of them, and any member when a leader leaves; a replay takes the one that the broker took.
    """
    waiting = {member.member_id: member for member in group.members.values() if member.parked_join is not None}
    if not waiting:
        return False
    recorded = (member.parked_join.recorded_leader_id for member in waiting.values() if member.parked_join)
    candidates = (*(member_id for member_id in recorded if member_id), group.leader_id, next(iter(waiting)))
    group.leader_id = next(member_id for member_id in candidates if member_id in waiting)
    return True


def select_protocol(group: Group) -> str:
    """The protocol most members put first among those that all support; ties go by Java's HashMap order."""
    votes: Counter[str] = Counter()
    for member in group.members.values():
        if member.protocols:
            votes[next(name for name in member.protocols if group.is_supported_by_all(name))] += 1
    most = max(votes.values())
    return next(name for name in hash_map_order(votes) if votes[name] == most)


def selected_topics(group: Group) -> frozenset[str] | None:
    """The union of what members subscribe to by the selected protocol; None (unknown) for other types or bad bytes."""
    if group.protocol_type != CONSUMER:
        return None
    chosen = {member.protocols[group.protocol_name or ""] for member in group.members.values()}
    try:
        return frozenset(topic for metadata in chosen for topic in decode_topics(metadata))
    except LayoutError:
        return None


# ---------------------------------------------------------------- out of CompletingRebalance


def assign_and_stabilize(group: Group, assignments: dict[str, bytes], turn: Turn) -> None:
    """CompletingRebalance -> Stable: stores the leader's assignment and answers every parked SyncGroup.

    A member the leader left out gets empty bytes; ids of unknown members are ignored.
    """
    group.assign(assignments)
    for member in group.members.values():
        _answer_sync(group, member, own_assignment(group, member), turn)
    transition(group, GroupState.STABLE, turn)
    for member in group.members.values():
        history.note_assigned(group, member, turn)
    history.rebalance_ended(group, "completed", turn)


def own_assignment(group: Group, member: Member) -> SyncGroupResponse:
    """The answer to a member that may know its assignment."""
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def _answer_sync(group: Group, member: Member, response: SyncGroupResponse, turn: Turn) -> None:
    parked = member.parked_sync
    if parked is None:
        return
    member.parked_sync = None
    send_sync(parked, member.member_id, member.client_id, group.generation_id, response, turn)
    arm_session(group, member, member.session_timeout_ms, turn)
