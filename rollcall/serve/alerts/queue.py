"""What receivers wait for: which message is next, and which go where too many wait.

A message that has to wait for another try holds up only later messages of its own alarm. Pure. Must not know how a
message is sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.answers.views.view import rank
from rollcall.serve.alerts.alarm import DueMessage

FIRST_WAIT_MS, LONGEST_WAIT_MS = 1_000, 600_000
LONGEST_PAUSE_MS = 10_000
"""A receiver that takes nothing at all is asked at these distances at most, whichever message is next."""

MOST_DUE = 500
"""Maximum number of messages that wait for one receiver."""


def next_due(due: Iterable[DueMessage], receiver: str, now_ms: int) -> DueMessage | None:
    """Return the message that the receiver gets now: the first of those that were tried least."""
    seen, found = set[str](), list[DueMessage]()
    for one in due:
        if one.receiver != receiver or one.alarm.id in seen:
            continue
        seen.add(one.alarm.id)
        if one.next_ms <= now_ms:
            found.append(one)
    return min(found, key=lambda one: one.tries, default=None)


def wait_ms(failures: int, longest_ms: int) -> int:
    """Return how long to wait after this number of failures in a row."""
    return min(FIRST_WAIT_MS << min(failures - 1, 20), longest_ms)


def surplus(due: Iterable[DueMessage], receiver: str, held: DueMessage | None) -> list[DueMessage]:
    """Return the messages to drop because more than MOST_DUE wait. held: the one that is being sent, which stays.

    Both messages of ended alarms are dropped first, oldest first; then alarms that the receiver does not know, least
    severe first; the ends of alarms that it knows are dropped last.
    """
    of_alarms = dict[str, list[DueMessage]]()
    for one in due:
        if one.receiver == receiver:
            of_alarms.setdefault(one.alarm.id, []).append(one)
    more = sum(map(len, of_alarms.values())) - MOST_DUE
    gone = list[DueMessage]()
    for messages in sorted(of_alarms.values(), key=_worth) if more > 0 else ():
        if len(gone) >= more:
            break
        if not any(one is held for one in messages):
            gone += messages
    return gone


def _worth(messages: list[DueMessage]) -> tuple[int, int]:
    events = {one.event for one in messages}
    if "closed" not in events:
        return 1, rank(messages[0].alarm.severity)
    return (0, 0) if "opened" in events else (2, rank(messages[0].alarm.severity))
