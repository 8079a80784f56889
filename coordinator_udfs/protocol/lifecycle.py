"""A group's creation and end: created Empty, loaded after a failover, unloaded when its coordinator moves away.

A coordinator that was only away or asleep resumes: it gives members the lost time back, since they could not send
requests meanwhile. Kafka does the same when it loads a group.

Source: GroupMetadataManager.getOrMaybeCreateClassicGroup, onLoaded, onUnloaded. No job unloads a group: see
docs/decisions/0009-dead-stays.md.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import drop_parked, refuse_parked
from rollcall.coordinator_udfs.protocol.config import NEW_MEMBER_JOIN_TIMEOUT_MS, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import load_consumer_group
from rollcall.coordinator_udfs.protocol.deadlines import arm_session, arm_sweep, exact_next_deadline_ms
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember
from rollcall.coordinator_udfs.protocol.rebalance import end_timers, move, prepare_rebalance, transition
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.causes import Cause, CauseKind, EndCause
from rollcall.schemas.effects import GroupCreated, PendingMemberRemoved
from rollcall.schemas.errors import Error


def create_group(group: Group, turn: Turn) -> None:
    """(none) -> Empty, with the offset sweep running."""
    group.is_known = True
    group.state_timestamp_ms = turn.now_ms
    arm_sweep(group, turn)
    turn.emit(GroupCreated(at_ms=turn.now_ms))


def unload_group(group: Group, turn: Turn) -> None:
    """any -> Dead: the coordinator moves away; parked requests are answered NOT_COORDINATOR and no timer is left."""
    end_timers(group)
    group.sweep_deadline_ms = None
    forget_pending(group, EndCause.GROUP_UNLOADED, turn)
    for member in group.members.values():
        refuse_parked(group, member, Error.NOT_COORDINATOR, turn)
        member.session_deadline_ms = None
    transition(group, GroupState.DEAD, turn)
    history.rebalance_ended(group, "superseded", turn)
    group.next_due_ms = None


def forget_pending(group: Group, end_cause: EndCause, turn: Turn) -> None:
    """Forgets every id given out."""
    for member_id in list(group.pending):
        group.take_back(member_id)
        turn.emit(PendingMemberRemoved(at_ms=turn.now_ms, member_id=member_id, end_cause=end_cause))


def load_group(group: Group, turn: Turn) -> None:
    """(a stored group) -> Stable or Empty: every member gets a whole session to find the new coordinator.

    What Kafka does not store is lost: ids given out, parked requests, the protocols of members except the selected one.
    Above group.max.size it rebalances at once (cause group_loaded).
    """
    if group.consumer is not None:
        load_consumer_group(group, group.consumer, turn)
        arm_sweep(group, turn)
        return
    name = group.protocol_name
    for member in group.members.values():
        if name is not None and name in member.protocols:
            group.update_protocols(member, {name: member.protocols[name]})
        drop_parked(group, member, "the coordinator moved while it waited", turn)
        member.is_new = False
        arm_session(group, member, member.session_timeout_ms, turn)
    forget_pending(group, EndCause.GROUP_UNLOADED, turn)
    end_timers(group)
    group.new_member_added = False
    history.rebalance_ended(group, "superseded", turn)
    loaded_state = GroupState.STABLE if group.members else GroupState.EMPTY
    if group.state is not loaded_state:
        move(group, loaded_state, turn)
    group.previous_state = GroupState.DEAD
    arm_sweep(group, turn)
    if len(group.members) > turn.config.group_max_size:
        prepare_rebalance(group, Cause(kind=CauseKind.GROUP_LOADED), turn)


def resume_group(group: Group, from_ms: int, config: GroupConfig, except_from_ms: int | None = None) -> None:
    """Moves every deadline to at least from_ms + its timer's length; none becomes earlier.

    except_from_ms: deadlines that count from exactly this moment were moved before and stay, so a member that never
    comes back gets its time back once. The offset sweep is not moved.
    """
    for owner, length_ms in _sessions(group, config):
        deadline_ms = owner.session_deadline_ms
        if deadline_ms is not None:
            owner.session_deadline_ms = _lifted(deadline_ms, length_ms, from_ms, except_from_ms)
    if group.consumer is not None:
        _lift_consumers(group.consumer, from_ms, except_from_ms)
    if group.join_deadline_ms is not None:
        length_ms = group.rebalance_timeout_ms if group.initial_delay_left_ms is None else group.initial_delay_ms
        group.join_deadline_ms = _lifted(group.join_deadline_ms, length_ms, from_ms, except_from_ms)
    if group.sync_deadline_ms is not None:
        length_ms = group.rebalance_timeout_ms
        group.sync_deadline_ms = _lifted(group.sync_deadline_ms, length_ms, from_ms, except_from_ms)
    exact_next_deadline_ms(group)


def _lift_consumers(consumer: ConsumerGroup, from_ms: int, except_from_ms: int | None) -> None:
    for member in consumer.members.values():
        at_ms = member.session_deadline_ms
        if at_ms is not None:
            member.session_deadline_ms = _lifted(at_ms, member.session_length_ms, from_ms, except_from_ms)
        for timer, armed in member.timers.items():
            member.timers[timer] = lifted = copy(armed)
            lifted.deadline_ms = _lifted(armed.deadline_ms, armed.length_ms, from_ms, except_from_ms)


def _lifted(deadline_ms: int, length_ms: int, from_ms: int, except_from_ms: int | None) -> int:
    if deadline_ms - length_ms == except_from_ms:
        return deadline_ms
    return max(deadline_ms, from_ms + length_ms)


def _sessions(group: Group, config: GroupConfig) -> Iterator[tuple[Member | PendingMember, int]]:
    """Every session timer with its length; a member that only has its id yet has the least session timeout."""
    for member in group.members.values():
        yield member, NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    for pending in group.pending.values():
        yield pending, config.group_min_session_timeout_ms
