"""The one loop of every shadow: it looks at its input again and again, until a signal comes or the input fails.

Knows what all shadows share: the signal to stop, a status, output for people. Must not know the input, nor Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from rollcall.inputs.following.following import Following
from rollcall.jobs.stream.upkeep import Beside
from rollcall.programs.stop_signal import StopSignal
from rollcall.programs.terminal import Teller
from rollcall.programs.visible import visible
from rollcall.shown.watch import RebalanceLines
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

POLL_S = 0.1


class ShadowProgram:
    """Runs a shadow on a home; one in a process."""

    def __init__(self, home: Home, console: Console) -> None:
        self.teller = Teller(console)
        self.stop, self.status = StopSignal(), StatusWriter(home.path)
        self._home, self._rebalances = home, RebalanceLines(home.path)

    def follow(self, following: Following, besides: Sequence[Beside]) -> int:
        """Follows it, while others work beside it; returns the exit status: 1 if it failed."""
        for beside in besides:
            beside.start()
        self.teller.say(f"rollcall: following {following.source.shown} on {self._home.shown}; Ctrl-C stops it.")
        for line in following.source.not_known:
            self.teller.say(f"rollcall: {line}")
        has_more = False
        while following.failure is None and not self.stop.wait(0 if has_more else POLL_S):
            has_more = following.step()
            self.teller.attempt(self._tell_rebalances)
        following.finish()
        for beside in besides:
            beside.stop()
        return self._report(following)

    def _report(self, following: Following) -> int:
        if following.failure is not None and not self.stop.wait(0):
            self.status.failed(*following.failure)
            print(f"rollcall: the shadow failed: {visible(following.failure.reason)}", file=sys.stderr)
            return 1
        self.status.stopped()
        for line in following.source.closing_lines():
            self.teller.say(line)
        counts = following.source.counts
        self.teller.say(f"rollcall: the shadow has stopped; {counts}. Start it again to continue from there.")
        return 0

    def _tell_rebalances(self) -> None:
        """Prints the rebalances that the home's tables have shown since the last call."""
        for line in self._rebalances.look():
            self.teller.say(line)
