"""A machine whose clock on the wall a test sets, while time passes as it does.

Knows two clocks. Must not know who reads them.
"""

from __future__ import annotations

from dataclasses import dataclass

from rollcall.programs.steady_clock import NS_A_MS, SteadyClock

T = 1_700_000_000_000


@dataclass
class Machine:
    """Its two clocks, in ms."""

    wall_ms: int = T
    passed_ms: int = 5

    def clock(self) -> SteadyClock:
        return SteadyClock(lambda: self.wall_ms * NS_A_MS, lambda: self.passed_ms * NS_A_MS)

    def run(self, ms: int) -> None:
        self.wall_ms += ms
        self.passed_ms += ms
