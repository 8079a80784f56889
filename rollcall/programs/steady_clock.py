"""The time of day that never goes back and never stands still, for what counts silences across processes.

A clock that is set back would let nothing fall due until it has caught up. So this one continues from where it was, at
the pace of time that passes, and follows the clock on the wall again as soon as that is ahead: it has caught up, it was
set forward, or the machine has slept. Knows the machine's two clocks; must not know what is timed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

NS_A_MS = 1_000_000


class SteadyClock:
    """One such clock. wall_ns, passed_ns: the clock on the wall since the epoch, and time that only passes."""

    def __init__(
        self, wall_ns: Callable[[], int] = time.time_ns, passed_ns: Callable[[], int] = time.monotonic_ns
    ) -> None:
        self._wall_ns = wall_ns
        self._passed_ns = passed_ns
        self._at_ns, self._since_ns = wall_ns(), passed_ns()
        self._turn = threading.Lock()

    def now_ms(self) -> int:
        """Milliseconds since the epoch."""
        with self._turn:
            wall_ns, passed_ns = self._wall_ns(), self._passed_ns()
            self._at_ns, self._since_ns = max(wall_ns, self._at_ns + passed_ns - self._since_ns), passed_ns
            return self._at_ns // NS_A_MS


now_ms = SteadyClock().now_ms
"""The process's own."""
