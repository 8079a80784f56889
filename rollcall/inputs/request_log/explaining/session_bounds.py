"""How long the sessions of an unknown consumer group are: longer than silences that members survived, and no longer
than those that removed one.

Knows only durations; must not know where they come from.
"""

from __future__ import annotations

from dataclasses import dataclass

UNITS_MS = (60_000, 30_000, 15_000, 10_000, 5_000, 1_000, 500, 100, 10, 1)
"""People set round numbers: the roundest that fits is the likeliest."""


@dataclass(slots=True)
class SessionBounds:
    """A session is longer than `outlived_ms` and at most `ended_ms`; 0: not known."""

    outlived_ms: int = 0
    ended_ms: int = 0

    def narrow(self, outlived_ms: int, ended_ms: int) -> None:
        """Adds a silence: both bounds hold, unless they contradict each other; then the session timeout has changed."""
        lower = max(self.outlived_ms, outlived_ms)
        upper = min(ended for ended in (self.ended_ms, ended_ms) if ended) if self.ended_ms or ended_ms else 0
        if upper and lower >= upper:
            lower, upper = outlived_ms, ended_ms
        self.outlived_ms, self.ended_ms = lower, upper

    def hold(self, session_ms: int) -> bool:
        """Whether a session of this length is possible."""
        return self.outlived_ms < session_ms and (not self.ended_ms or session_ms <= self.ended_ms)

    @property
    def likely_ms(self) -> int:
        """The roundest length between the bounds, if there are several the middle one; 0: there is no upper bound."""
        if not self.ended_ms:
            return 0
        middle = (self.outlived_ms + self.ended_ms) // 2
        for unit in UNITS_MS:
            fitting = range((self.outlived_ms // unit + 1) * unit, self.ended_ms + 1, unit)
            if fitting:
                return min(fitting, key=lambda each: abs(each - middle))
        return self.ended_ms

    @property
    def text(self) -> str:
        """As a report says it: 7.4 to 9.1 s."""
        return f"{self.outlived_ms / 1000:.1f} to {self.ended_ms / 1000:.1f} s"
