"""The ways to leave a group: unsubscribe, close, and too long without a poll.

Knows which members send LeaveGroup, and what a close waits for. Source: AbstractCoordinator.maybeLeaveGroup, close;
ConsumerCoordinator.close.
"""

from __future__ import annotations

from rollcall.answers.clients.committing import start_auto_commit
from rollcall.answers.clients.events import Closed, CommitKind, LeftGroup
from rollcall.answers.clients.joining import leave_partitions
from rollcall.answers.clients.membership import Closing, Membership, MemberState, Turn
from rollcall.answers.clients.reactions import LEAVE_ON_CLOSE, LEAVE_ON_UNSUBSCRIBE, LEAVING
from rollcall.answers.clients.requests import send_leave_group


def leave_group(member: Membership, reason: str, turn: Turn) -> None:
    """Leaves the group and forgets the member id. A static member sends no LeaveGroup: its session ends, or it comes
    back.
    """
    generation = member.generation
    is_announced = (
        not member.config.is_static
        and member.lookup.node is not None
        and member.state is not MemberState.UNJOINED
        and bool(generation.member_id)
    )
    if is_announced:
        send_leave_group(member, reason, turn)
    was_member = member.state is not MemberState.UNJOINED
    member.reset(LEAVING, forgets_member_id=True)
    if was_member:
        turn.emit(LeftGroup(generation.member_id, reason, is_announced))


def unsubscribe(member: Membership, turn: Turn) -> None:
    """Gives all partitions up and leaves, without a commit."""
    leave_partitions(member, turn)
    leave_group(member, LEAVE_ON_UNSUBSCRIBE, turn)
    member.subscription.topics = None
    member.subscription.joined_topics = None
    member.subscription.assignment_snapshot = None


def start_close(member: Membership, timeout_ms: int, turn: Turn) -> None:
    """Starts a last commit; `maybe_finish_close` then leaves and waits for the answers."""
    deadline_ms = turn.now_ms + timeout_ms
    member.closing = Closing(deadline_ms)
    start_auto_commit(member, CommitKind.AT_CLOSE, turn, deadline_ms)
    maybe_finish_close(member, turn)


def maybe_finish_close(member: Membership, turn: Turn) -> None:
    """Leaves once no commit is under way, and closes once no answer is awaited; after the close's time both happen
    anyway.
    """
    closing = member.closing
    if closing is None or member.is_closed:
        return
    is_over = closing.deadline_ms <= turn.now_ms
    if not closing.has_left:
        if member.commits and not is_over:
            return
        closing.has_left = True
        if member.config.leave_group_on_close:
            leave_partitions(member, turn)
            leave_group(member, LEAVE_ON_CLOSE, turn)
    is_awaited = member.lookup.node is not None and any(each.is_to_coordinator for each in member.in_flight.values())
    if is_awaited and not is_over:
        return
    member.is_closed = True
    member.in_flight.clear()
    member.commits.clear()
    turn.emit(Closed())
