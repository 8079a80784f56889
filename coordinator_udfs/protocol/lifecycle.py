"""A group's creation and end: created Empty, loaded after a failover, unloaded when its coordinator moves away.

Source: GroupMetadataManager.getOrMaybeCreateClassicGroup, onLoaded, onUnloaded. No job unloads a group: see
docs/decisions/0009-dead-stays.md.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import drop_parked, refuse_parked
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import load_consumer_group
from rollcall.coordinator_udfs.protocol.deadlines import arm_session, arm_sweep
from rollcall.coordinator_udfs.protocol.group import Group
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
