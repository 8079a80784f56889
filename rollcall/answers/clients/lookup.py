"""Finding the coordinator, and giving it up.

Knows when to look and what a lost coordinator means for requests in flight: they will not be answered. Their own
handlers learn of it through the turn, after the input that lost it. Source: AbstractCoordinator.lookupCoordinator,
markCoordinatorUnknown.
"""

from __future__ import annotations

from rollcall.answers.clients.events import CoordinatorFound, CoordinatorLost
from rollcall.answers.clients.membership import Membership, Turn
from rollcall.answers.clients.requests import send_find_coordinator
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import FindCoordinatorResponse


def maybe_look(member: Membership, turn: Turn) -> None:
    """Sends a FindCoordinator unless one is in flight or the backoff after a failed one is not over."""
    if member.lookup.node is not None or member.is_looking or turn.now_ms < member.lookup.retry_at_ms:
        return
    send_find_coordinator(member, turn)


def on_find_coordinator(member: Membership, response: FindCoordinatorResponse, turn: Turn) -> None:
    """Takes the answer: a coordinator restarts the session timer, an error is retried."""
    (found,) = response.coordinators
    if found.error_code is not Error.NONE:
        return find_failed(member, turn)
    member.lookup.node = CoordinatorFound(found.node_id, found.host, found.port)
    member.lookup.attempts = 0
    member.pulse.session_deadline_ms = turn.now_ms + member.config.session_timeout_ms
    turn.emit(member.lookup.node)


def find_failed(member: Membership, turn: Turn) -> None:
    """Lets the next look wait for a backoff."""
    member.lookup.retry_at_ms = turn.now_ms + member.config.backoff_ms(member.lookup.attempts)
    member.lookup.attempts += 1


def mark_coordinator_unknown(member: Membership, cause: str, turn: Turn) -> None:
    """Forgets the coordinator and gives up on every request in flight to it; the next look may start at once."""
    if member.lookup.node is None:
        return
    member.lookup.node = None
    member.lookup.retry_at_ms = turn.now_ms
    turn.emit(CoordinatorLost(cause))
    # While the coordinator is known no FindCoordinator is in flight, so every request went to it.
    turn.disconnected += member.in_flight.values()
    member.in_flight.clear()
