"""A coordinator that was away or asleep gives its group's members the lost time back. Kafka does the same when it loads
a group: members could not send requests meanwhile. Knows how long each timer is; must not know why the coordinator was
away. See `lifecycle.load_group` for a coordinator that moves, where parked requests are lost.
"""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy

from rollcall.coordinator_udfs.protocol.config import NEW_MEMBER_JOIN_TIMEOUT_MS, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup
from rollcall.coordinator_udfs.protocol.deadlines import exact_next_deadline_ms
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember


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
