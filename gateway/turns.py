"""Shares the loop's time among connections: whoever asks for little is served at once, whoever floods stands in line.

Knows time and turns; knows no connection and no request.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

TURN_S = 0.0005
"""A connection's turn ends after so much processor time; the request in hand is finished."""
_ROUND_S = 0.005
"""The turns in line stop after so long for the loop to see to all others."""
_SHARE = 0.01
"""The part of the time that a connection may use without standing in line."""
_SAVED_S = 0.005
"""The most time that a connection saves up for a burst."""


class Account:
    """The time that one connection may use now; below zero it stands in line."""

    __slots__ = ("_at", "_left_s")

    def __init__(self, now: float) -> None:
        self._at = now
        self._left_s = _SAVED_S

    def is_overdrawn(self, now: float) -> bool:
        """Whether it has used its share up."""
        self._left_s = min(_SAVED_S, self._left_s + (now - self._at) * _SHARE)
        self._at = now
        return self._left_s <= 0

    def spend(self, seconds: float) -> None:
        """So much processor time was used; a debt is never longer than a burst."""
        self._left_s = max(-_SAVED_S, self._left_s - seconds)


class Turns:
    """The line of those who have used their share up; they have some turns whenever the loop has seen to all others.

    call_soon: the loop's, which calls after all that is due now. clock: the thread's processor time in seconds.
    """

    def __init__(self, call_soon: Callable[[Callable[[], None]], object], clock: Callable[[], float]) -> None:
        self._call_soon = call_soon
        self._clock = clock
        self._line: deque[Callable[[], None]] = deque()
        self._is_due = False

    def stand_in_line(self, turn: Callable[[], None]) -> None:
        """Calls it when its turn comes."""
        self._line.append(turn)
        if not self._is_due:
            self._is_due = True
            self._call_soon(self._next)

    def _next(self) -> None:
        self._is_due = False
        ends_at = self._clock() + _ROUND_S
        try:
            while self._line and self._clock() < ends_at:
                self._line.popleft()()
        finally:
            if self._line and not self._is_due:
                self._is_due = True
                self._call_soon(self._next)
