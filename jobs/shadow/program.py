"""The one loop of every shadow: it looks at its input again and again, until a signal comes or the input fails.

Knows what all shadows share: the signal to stop, a status, output for people. Must not know the input, nor Spark.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from rich.console import Console

from rollcall.programs.stop_signal import StopSignal
from rollcall.programs.terminal import Teller
from rollcall.programs.visible import visible
from rollcall.shown.watch import RebalanceLines
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

POLL_S = 0.1


class Beside(Protocol):
    """Work in a thread of its own while a job runs."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Failure(NamedTuple):
    """Why an input can no longer be followed."""

    reason: str
    whole_story: str
    """The traceback."""


class Followed(Protocol):
    """What a shadow follows: a broker's log, a cluster's topic, or both."""

    @property
    def shown(self) -> str:
        """Its name for the user."""

    @property
    def counts(self) -> str:
        """What was read, in a line."""

    def goes_on(self) -> bool:
        """Whether it can be followed."""

    def not_known(self) -> Iterable[str]:
        """Sentences, printed at the start, about what this input cannot show."""

    def upkeeps(self) -> Sequence[Beside]:
        """The upkeep of its tables."""

    def step(self) -> bool:
        """One look at it; returns whether there may be more to read."""

    def finish(self, is_urgent: Callable[[], bool]) -> None:
        """Stops reading, and writes what was read; stops at once if is_urgent returns true."""

    def failure(self) -> Failure | None:
        """Why it ended by itself; None if it did not."""

    def closing_lines(self) -> Iterable[str]:
        """Sentences for a successful end, after `finish`."""


class ShadowProgram:
    """Runs a shadow on a home; one in a process."""

    def __init__(self, home: Home, console: Console) -> None:
        self.teller = Teller(console)
        self.stop, self.status = StopSignal(), StatusWriter(home.path)
        self._home, self._rebalances = home, RebalanceLines(home.path)

    def follow(self, followed: Followed) -> int:
        """Follows it; returns the exit status: 1 if it failed."""
        upkeeps = followed.upkeeps()
        for upkeep in upkeeps:
            upkeep.start()
        self.teller.say(f"rollcall: following {followed.shown} on {self._home.shown}; Ctrl-C stops it.")
        for line in followed.not_known():
            self.teller.say(f"rollcall: {line}")
        has_more = False
        while followed.goes_on() and not self.stop.wait(0 if has_more else POLL_S):
            has_more = followed.step()
            self.teller.attempt(self._tell_rebalances)
        followed.finish(lambda: self.stop.is_urgent)
        for upkeep in upkeeps:
            upkeep.stop()
        return self._report(followed)

    def _report(self, followed: Followed) -> int:
        lines = list(followed.closing_lines())
        failure = followed.failure()
        if failure is not None and not self.stop.wait(0):
            self.status.failed(*failure)
            print(f"rollcall: the shadow failed: {visible(failure.reason)}", file=sys.stderr)
            return 1
        self.status.stopped()
        for line in lines:
            self.teller.say(line)
        self.teller.say(f"rollcall: the shadow has stopped; {followed.counts}. Start it again to continue from there.")
        return 0

    def _tell_rebalances(self) -> None:
        """Prints the rebalances that the home's tables have shown since the last call."""
        for line in self._rebalances.look():
            self.teller.say(line)
