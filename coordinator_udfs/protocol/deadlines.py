"""Deadlines: arming them, and the next one due without looking at every member.

`group.next_due_ms` is a lower bound of all deadlines: arming an earlier deadline lowers it, a heartbeat that moves its
member's deadline later does not change it, and only a scan that finds nothing due raises it.

Knows where deadlines are stored; what happens when one passes is in `expiry`.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerMember
from rollcall.coordinator_udfs.protocol.consumer.states import MemberTimer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import Member, PendingMember
from rollcall.coordinator_udfs.protocol.turn import Timer, Turn
from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import TimerArmed

AnyOwner = Member | PendingMember | ConsumerMember
_ENDS = {
    None: EndCause.SESSION_EXPIRED,
    MemberTimer.REBALANCE: EndCause.REBALANCE_TIMEOUT,
    MemberTimer.JOIN: EndCause.REBALANCE_TIMEOUT,
    MemberTimer.SYNC: EndCause.SYNC_TIMEOUT,
}
REPORTED_EVERY_MS = 1000
"""A join timer that expires without effect and starts again is reported at most this often."""


class Due(NamedTuple):
    """The earliest deadline: the group's own timer, or the session timer of a member or of an id given out."""

    deadline_ms: int
    timer: Timer | None
    member_id: str
    member_timer: MemberTimer | None = None
    """Which timer of a consumer group's member it is; None for its session."""

    @property
    def end_cause(self) -> EndCause:
        """Why the member is removed whose timer this is."""
        return _ENDS[self.member_timer]


def arm_session(group: Group, member: Member, length_ms: int, turn: Turn) -> None:
    """(Re)starts a member's session timer, if its length is known."""
    if not member.has_known_timeouts:
        member.session_deadline_ms = None
        return
    deadline_ms = turn.armed_from_ms + length_ms
    member.session_deadline_ms = deadline_ms
    group.session_starts += 1
    member.session_start = group.session_starts
    if group.next_due_ms is None or deadline_ms < group.next_due_ms:
        group.next_due_ms = deadline_ms


def arm_join(group: Group, length_ms: int, turn: Turn) -> None:
    """(Re)starts the group's one join timer; of length zero, it fires after the requests of the same millisecond.

    While a member's timeouts are unknown no timer runs, since its length is the longest of these timeouts.
    """
    group.join_deadline_ms = _deadline(group, length_ms, Timer.JOIN, turn) if group.has_known_timeouts else None


def arm_join_again(group: Group, length_ms: int, turn: Turn) -> None:
    """The same after it expired and found no member; a short timer is reported only once a second."""
    if not group.has_known_timeouts:
        group.join_deadline_ms = None
        return
    if turn.armed_from_ms // REPORTED_EVERY_MS != (turn.now_ms - length_ms) // REPORTED_EVERY_MS:
        turn.emit(TimerArmed(at_ms=turn.now_ms, timer=Timer.JOIN, length_ms=length_ms))
    group.join_deadline_ms = note_deadline(group, turn.armed_from_ms + length_ms)


def reported_from_ms(at_ms: int, length_ms: int) -> int:
    """When the next start of such a timer is reported, if it ends at at_ms and then every length_ms."""
    return ((at_ms - length_ms) // REPORTED_EVERY_MS + 1) * REPORTED_EVERY_MS


def arm_sync(group: Group, length_ms: int, turn: Turn) -> None:
    """(Re)starts the timer for members that do not send SyncGroup; see `arm_join`."""
    group.sync_deadline_ms = _deadline(group, length_ms, Timer.SYNC, turn) if group.has_known_timeouts else None


def arm_sweep(group: Group, turn: Turn) -> None:
    """Starts the next interval of the offset expiry sweep."""
    length_ms = turn.config.offsets_retention_check_interval_ms
    group.sweep_deadline_ms = _deadline(group, length_ms, Timer.SWEEP, turn)


def _deadline(group: Group, length_ms: int, timer: Timer, turn: Turn) -> int:
    if length_ms <= 0:
        return note_deadline(group, turn.now_ms)
    if timer is not Timer.SWEEP:
        turn.emit(TimerArmed(at_ms=turn.now_ms, timer=timer, length_ms=length_ms))
    return note_deadline(group, turn.armed_from_ms + length_ms)


def note_deadline(group: Group, deadline_ms: int) -> int:
    """Lowers the bound to this deadline; returns it."""
    if group.next_due_ms is None or deadline_ms < group.next_due_ms:
        group.next_due_ms = deadline_ms
    return deadline_ms


def next_deadline_ms(group: Group) -> int | None:
    """No deadline is earlier than this; None if there is none at all. Constant time."""
    return group.next_due_ms


def exact_next_deadline_ms(group: Group) -> int | None:
    """The exact earliest deadline; also raises the bound to it. For a caller that is about to wait."""
    due = earliest(group)
    group.next_due_ms = None if due is None else due.deadline_ms
    return group.next_due_ms


def earliest(group: Group, but: Timer | None = None) -> Due | None:
    """The earliest deadline of all, or of all but one timer; ties go to the session that was started first, then join,
    sync and sweep.

    Kafka's timers fire in the order in which they were started, and a request that starts both starts sessions before
    the group's timer.
    """
    due = _earliest_of_members(group)
    for timer, deadline_ms in own_deadlines(group):
        if deadline_ms is not None and timer is not but and (due is None or deadline_ms < due.deadline_ms):
            due = Due(deadline_ms, timer, "")
    return due


def own_deadlines(group: Group) -> tuple[tuple[Timer, int | None], ...]:
    """When each of the group's own timers fires; None: it does not run."""
    join_ms, sync_ms, sweep_ms = group.join_deadline_ms, group.sync_deadline_ms, group.sweep_deadline_ms
    return (Timer.JOIN, join_ms), (Timer.SYNC, sync_ms), (Timer.SWEEP, sweep_ms)


def _earliest_of_members(group: Group) -> Due | None:
    """Of the members, and of a classic group's ids given out: in a consumer group nothing waits for these."""
    consumers = () if group.consumer is None else tuple(group.consumer.members.values())
    due: Due | None = None
    start = 0
    owners: tuple[AnyOwner, ...] = (*group.members.values(), *group.pending.values())
    for owner in owners if group.consumer is None else consumers:
        at_ms = owner.session_deadline_ms
        if at_ms is not None and (due is None or (at_ms, owner.session_start) < (due.deadline_ms, start)):
            due, start = Due(at_ms, None, owner.member_id), owner.session_start
    for member in consumers:
        for timer, armed in member.timers.items():
            if due is None or (armed.deadline_ms, armed.start) < (due.deadline_ms, start):
                due, start = Due(armed.deadline_ms, None, member.member_id, timer), armed.start
    return due
