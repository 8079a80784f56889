"""The one loop of every shadow: it looks at its input again and again, until a signal comes or a query fails.

Knows what all shadows share: Spark where a query runs, the signal to stop, a status, output for people. Must not know
the input.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from rollcall.jobs.spark.home_session import home_session
from rollcall.jobs.spark.shutdown import StopSignal
from rollcall.jobs.stream.query import failure_of, stop_after_batch
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


class Followed(Protocol):
    """What a shadow follows: a broker's log, a cluster's topic, or both."""

    @property
    def shown(self) -> str:
        """Its name for the user."""

    @property
    def queries(self) -> list[StreamingQuery]:
        """The queries that read it now."""

    @property
    def counts(self) -> str:
        """What was read, in a line."""

    def goes_on(self) -> bool:
        """Whether all its queries run. It may start one again that only the cluster's absence has ended."""

    def not_known(self) -> Iterable[str]:
        """Sentences, printed at the start, about what this input cannot show."""

    def upkeeps(self) -> Sequence[Beside]:
        """The upkeep of its tables."""

    def step(self) -> bool:
        """One look at it; returns whether there may be more to read."""

    def finish(self) -> None:
        """Stops reading, and gives to the queries what was read."""

    def closing_lines(self) -> Iterable[str]:
        """Sentences for a successful end, after the queries have stopped and their facts were read."""


class ShadowProgram:
    """Runs a shadow on a home; one in a process. settings: Spark's, beside the usual ones; None: it has no query."""

    def __init__(self, home: Home, console: Console, settings: Mapping[str, str] | None) -> None:
        self.teller = Teller(console)
        self._spark: SparkSession | None = None
        if settings is not None:
            with console.status("starting Spark"):
                self._spark = home_session(home, "rollcall shadow", settings)
        self.stop, self.status = StopSignal(self._spark), StatusWriter(home.path)
        self._home, self._rebalances = home, RebalanceLines(home.path)

    @property
    def spark(self) -> SparkSession:
        """The session of a shadow that has a query."""
        assert self._spark is not None
        return self._spark

    def follow(self, followed: Followed) -> int:
        """Follows it; returns the exit status: 1 if a query failed."""
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
        followed.finish()
        for query in followed.queries:
            if query.isActive:
                stop_after_batch(query, lambda: self.stop.is_urgent)
        for upkeep in upkeeps:
            upkeep.stop()
        return self._report(followed)

    def close(self) -> None:
        """Stops Spark."""
        if self._spark is not None:
            self._spark.stop()

    def _report(self, followed: Followed) -> int:
        lines = list(followed.closing_lines())
        for query in followed.queries:
            reason = failure_of(query)
            if reason is not None and not self.stop.wait(0):
                self.status.failed(reason, str(query.exception()))
                print(f"rollcall: the query failed: {visible(reason)}", file=sys.stderr)
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
