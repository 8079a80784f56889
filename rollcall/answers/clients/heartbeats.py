"""What runs in the background: heartbeats, the session timer, and the check that the application polls.

Knows the order in which the heartbeat thread looks at its timers. It tells the application nothing: what it notes in
the membership takes effect at the next poll. Source: AbstractCoordinator.HeartbeatThread, HeartbeatResponseHandler,
Heartbeat.
"""

from __future__ import annotations

from rollcall.answers.clients.events import FatalError
from rollcall.answers.clients.leaving import leave_group
from rollcall.answers.clients.lookup import mark_coordinator_unknown, maybe_look
from rollcall.answers.clients.membership import InFlight, Membership, MemberState, Turn
from rollcall.answers.clients.reactions import (
    ALREADY_REBALANCING,
    HEARTBEAT,
    LEAVE_UNPOLLED,
    Reaction,
    encountered,
    fenced,
)
from rollcall.answers.clients.requests import send_heartbeat
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatResponse


def beat(member: Membership, turn: Turn) -> None:
    """Does the first of these that is due:

    It looks for an unknown coordinator. After a session without a good answer it looks for the coordinator anew, and
    does not leave. After max.poll.interval.ms without a poll the member leaves. After an interval it sends the next
    heartbeat.
    """
    if not member.is_beating:
        return
    pulse = member.pulse
    if member.lookup.node is None:
        maybe_look(member, turn)
    elif pulse.session_deadline_ms <= turn.now_ms:
        mark_coordinator_unknown(member, "session timed out without receiving a heartbeat response", turn)
        maybe_look(member, turn)
    elif pulse.poll_deadline_ms <= turn.now_ms:
        leave_group(member, LEAVE_UNPOLLED, turn)
    elif pulse.heartbeat_due_ms <= turn.now_ms:
        pulse.heartbeat_due_ms = turn.now_ms + member.config.heartbeat_interval_ms
        send_heartbeat(member, turn)


def next_beat_ms(member: Membership) -> int | None:
    """When `beat` must be called next; None if it waits for an answer or has nothing to do."""
    if not member.is_beating:
        return None
    if member.lookup.node is None:
        return None if member.is_looking else member.lookup.retry_at_ms
    pulse = member.pulse
    return min(pulse.session_deadline_ms, pulse.poll_deadline_ms, pulse.heartbeat_due_ms)


def on_heartbeat(member: Membership, sent: InFlight, response: HeartbeatResponse, turn: Turn) -> None:
    """NONE and REBALANCE_IN_PROGRESS prove the session alive, and so does an error about a generation left behind."""
    error = response.error_code
    if error is Error.NONE:
        return _received(member, turn)
    reaction = HEARTBEAT.get(error, Reaction.RETRY)
    is_unchanged = sent.sent_generation == member.generation
    match reaction:
        case Reaction.REJOIN:
            if member.state is MemberState.STABLE:
                member.request_rejoin(ALREADY_REBALANCING)
            _received(member, turn)
        case Reaction.RESET_GENERATION | Reaction.RESET_MEMBER | Reaction.FENCED if not is_unchanged:
            _received(member, turn)
        case Reaction.RESET_GENERATION | Reaction.RESET_MEMBER | Reaction.FENCED:
            keeps_id = reaction is Reaction.RESET_GENERATION
            member.reset(encountered(error, "HEARTBEAT"), forgets_member_id=not keeps_id)
            if reaction is Reaction.FENCED:
                member.failures.append(FatalError("Heartbeat", error, fenced(member.config.group_instance_id)))
        case _:
            heartbeat_failed(member, turn)


def _received(member: Membership, turn: Turn) -> None:
    member.pulse.attempts = 0
    member.pulse.session_deadline_ms = turn.now_ms + member.config.session_timeout_ms


def heartbeat_failed(member: Membership, turn: Turn) -> None:
    """Sends the next heartbeat after a backoff instead of an interval."""
    pulse = member.pulse
    pulse.heartbeat_due_ms = turn.now_ms + member.config.backoff_ms(pulse.attempts)
    pulse.attempts += 1
