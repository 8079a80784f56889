"""A member's timers in a consumer group: how long each runs, and arming it.

Knows no consequence of a timer (that is `expiry`). Source: GroupMetadataManager.scheduleConsumerGroupSessionTimeout,
scheduleConsumerGroupRebalanceTimeout, scheduleConsumerGroupJoinTimeoutIfAbsent, scheduleConsumerGroupSyncTimeout.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.consumer.group import ArmedTimer, ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import MemberTimer
from rollcall.coordinator_udfs.protocol.deadlines import note_deadline
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.turn import Turn


def session_timeout_ms(member: ConsumerMember, config: ConsumerConfig) -> int:
    """A classic member's own session timeout, or the group's."""
    return config.session_timeout_ms if member.classic is None else member.classic.session_timeout_ms


def is_of_another_session(member: ConsumerMember, turn: Turn) -> bool:
    """Whether the group's session timeout has changed since this member's last request."""
    if member.classic is not None or member.session_deadline_ms is None:
        return False
    return member.session_length_ms != turn.consumer.session_timeout_ms


def arm_session(group: Group, member: ConsumerMember, length_ms: int, turn: Turn) -> None:
    """(Re)starts a member's session timer."""
    deadline_ms = turn.armed_from_ms + length_ms
    member.session_deadline_ms = deadline_ms
    member.session_length_ms = length_ms
    group.session_starts += 1
    member.session_start = group.session_starts
    if group.next_due_ms is None or deadline_ms < group.next_due_ms:
        group.next_due_ms = deadline_ms


def keep_alive(group: Group, member: ConsumerMember, turn: Turn) -> None:
    """Restarts the session timer of a member whose request proves it alive."""
    member.last_seen_at_ms = turn.now_ms
    arm_session(group, member, session_timeout_ms(member, turn.consumer), turn)


def arm(group: Group, member: ConsumerMember, timer: MemberTimer, length_ms: int, turn: Turn) -> None:
    """(Re)starts another timer of a member."""
    group.session_starts += 1
    deadline_ms = note_deadline(group, turn.armed_from_ms + length_ms)
    member.timers[timer] = ArmedTimer(deadline_ms, group.session_starts, length_ms, member.member_epoch)
