"""Shares the loop's time among connections: one that asks for little is served at once, one that floods waits in a
queue.

Knows time and turns; knows no connection and no request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

TURN_S = 0.0005
"""Processor seconds that one turn may take. A request that was started is finished first."""
_ROUND_S = 0.005
"""After this many seconds of queued turns the loop serves everything else."""
_SHARE = 0.01
"""The part of the time that a connection may use without queueing."""
_SAVED_S = 0.005
"""The most time that a connection saves up for a burst."""


class Account:
    """The time that one connection may use now; below zero it queues."""

    __slots__ = ("_at", "_left_s")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left_s = _SAVED_S

    def is_overdrawn(self, now: float) -> bool:
        """Whether it has used its share up."""
        left_s = self._left_s + (now - self._at) * _SHARE
        self._left_s = left_s if left_s < _SAVED_S else _SAVED_S
        self._at = now
        return left_s <= 0

    def spend(self, seconds: float) -> None:
        """Counts processor time that was used; a debt is never longer than a burst."""
        left_s = self._left_s - seconds
        self._left_s = left_s if left_s > -_SAVED_S else -_SAVED_S


class Turns:
    """The queue of connections that have used up their share; they get turns after the loop has served all others.

    call_soon: the loop's, which calls after all that is due now. clock: the thread's processor time in seconds.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._queue: deque[Callable[[], None]] = deque()
        self._is_due = False

    def enqueue(self, turn: Callable[[], None]) -> None:
        """Calls it when its turn comes."""
        self._queue.append(turn)
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._next)

    def _next(self) -> None:
        self._is_due = False
        ends_at = self._clock() + _ROUND_S
        try:
            while self._queue and self._clock() < ends_at:
                self._queue.popleft()()
        finally:
            if self._queue and not self._is_due:
                self._is_due = True
                self._call_soon(self._next)
