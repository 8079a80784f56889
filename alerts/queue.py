"""What receivers wait for: which message is next.

A message that has to wait for another try holds up only later messages of its own alarm. Pure. Must not know how a
message is sent.
"""

from __future__ import annotations

from collections.abc import Iterable

from alerts.alarm import Due

FIRST_WAIT_MS, LONGEST_WAIT_MS = 1_000, 600_000
LONGEST_PAUSE_MS = 10_000
"""A receiver that takes nothing at all is asked at these distances at most, whichever message is next."""


def next_due(due: Iterable[Due], receiver: str, now_ms: int) -> Due | None:
    """Return the message that the receiver gets now: the first of those that were tried least."""
    seen, found = set[str](), list[Due]()
    for one in due:
        if one.receiver != receiver or one.alarm.id in seen:
            continue
        seen.add(one.alarm.id)
        if one.next_ms <= now_ms:
            found.append(one)
    return min(found, key=lambda one: one.tries, default=None)


def wait_ms(failures: int, longest_ms: int) -> int:
    """Return how long to wait after so many failures, one after the other."""
    return min(FIRST_WAIT_MS << min(failures - 1, 20), longest_ms)
