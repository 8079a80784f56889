"""What happens when a deadline passes: sessions, the join phase, SyncGroups that never came, the offset sweep.

Fires deadlines in order of time, each at its own moment, and one at a time, since each may add or cancel others.
Source: GroupMetadataManager.expireClassicGroupMemberHeartbeat, expirePendingSync.
"""

from __future__ import annotations

from math import inf

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.fencing import expire_member
from rollcall.coordinator_udfs.protocol.consumer.lifecycle import learn_topics
from rollcall.coordinator_udfs.protocol.deadlines import Due, earliest
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_configs import consumer_config_of
from rollcall.coordinator_udfs.protocol.membership import remove_member
from rollcall.coordinator_udfs.protocol.offset_expiry import pass_idle_sweeps, sweep_offsets
from rollcall.coordinator_udfs.protocol.rebalance import (
    complete_join,
    end_initial_window,
    end_pending_sync,
    pass_idle_joins,
    prepare_rebalance,
)
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Timer, Turn
from rollcall.schemas import makers
from rollcall.schemas.causes import Cause, CauseKind, EndCause, cause_of_end
from rollcall.schemas.effects import Effect, PendingMemberRemoved

_DEADLINE_WORK, _MEMBERS_A_UNIT = 30, 10
"""What a deadline costs in about microseconds: each time all members are searched for the next one."""


def fire_due(
    group: Group, now_ms: int, config: GroupConfig, armed_from_ms: int | None = None, most_work: float = inf
) -> list[Effect]:
    """Fires every deadline at or before now_ms, in order of time. armed_from_ms: see Turn; None means the deadline.

    most_work: see `step.expire_due`; at least one deadline is fired.
    """
    effects: list[Effect] = []
    while group.next_due_ms is not None and group.next_due_ms <= now_ms:
        if armed_from_ms is None:
            pass_idle(group, now_ms, config)
        due = earliest(group)
        group.next_due_ms = None if due is None else due.deadline_ms
        if due is None or due.deadline_ms > now_ms:
            break
        turn = Turn(due.deadline_ms, config, armed_from_ms, effects)
        if group.configs:
            turn.consumer = consumer_config_of(group.configs, config.consumer)
        if group.consumer is not None:
            learn_topics(group.consumer, turn)
        _fire(group, due, turn)
        group.updated_at_ms = max(group.updated_at_ms, turn.now_ms)
        group.work += _DEADLINE_WORK + len(group.roster.members) // _MEMBERS_A_UNIT
        if group.work >= most_work:
            break
    return effects


def pass_idle(group: Group, until_ms: int, config: GroupConfig) -> None:
    """Skips recurring deadlines up to until_ms that find nothing to do."""
    pass_idle_joins(group, until_ms)
    pass_idle_sweeps(group, until_ms, config)


def _fire(group: Group, due: Due, turn: Turn) -> None:
    if due.timer is not None:
        _fire_group_timer(group, due.timer, turn)
    elif group.consumer is not None:
        expire_member(group, group.consumer, due, turn)
    else:
        _expire_session(group, due, turn)


def _fire_group_timer(group: Group, timer: Timer, turn: Turn) -> None:
    match timer:
        case Timer.JOIN if group.initial_delay_left_ms is not None:
            group.join_deadline_ms = None
            end_initial_window(group, turn)
        case Timer.JOIN:
            group.join_deadline_ms = None
            complete_join(group, turn)
        case Timer.SYNC:
            _expire_pending_sync(group, turn)
        case Timer.SWEEP:
            sweep_offsets(group, turn)


def _expire_session(group: Group, due: Due, turn: Turn) -> None:
    """A session timer fired: drops an id given out, or removes the member. A member that waits for an answer stays, and
    its timer does not start again. Either may end the join phase, also that of an initial rebalance.
    """
    pending = group.take_back(due.member_id)
    if pending is not None:
        history.pending_member_gone(group, pending, turn)
        turn.emit(PendingMemberRemoved(at_ms=turn.now_ms, member_id=due.member_id, end_cause=due.end_cause))
        _complete_join_if_all_joined(group, turn)
        return
    member = group.members[due.member_id]
    member.session_deadline_ms = None
    if member.has_satisfied_heartbeat:
        return
    gone = history.Gone(member, due.end_cause)
    remove_member(group, gone, turn)
    if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        prepare_rebalance(group, makers.cause_by(cause_of_end(due.end_cause), member), turn, gone=[gone])
    else:
        _complete_join_if_all_joined(group, turn)


def _complete_join_if_all_joined(group: Group, turn: Turn) -> None:
    if group.state is GroupState.PREPARING_REBALANCE and group.has_all_members_joined:
        complete_join(group, turn)


def _expire_pending_sync(group: Group, turn: Turn) -> None:
    """The sync timer fired: every member that sent no SyncGroup in this generation is removed, static ones too."""
    members = (group.members[member_id] for member_id in group.pending_sync if member_id in group.members)
    late = [history.Gone(member, EndCause.SYNC_TIMEOUT) for member in members]
    group.sync_deadline_ms = None
    if group.state not in (GroupState.COMPLETING_REBALANCE, GroupState.STABLE) or not group.pending_sync:
        return
    end_pending_sync(group)
    for each in late:
        remove_member(group, each, turn)
    cause = makers.cause_by(CauseKind.SYNC_TIMEOUT, late[0].member) if late else Cause(kind=CauseKind.SYNC_TIMEOUT)
    prepare_rebalance(group, cause, turn, gone=late)
