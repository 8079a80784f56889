"""What every shadow is as a program: Spark, a signal that stops it, a status, answers in SQL, and words for a person.

Knows how a shadow starts, tells of rebalances and ends; must not know what is followed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console

from jobs.home import Home
from jobs.shown.terminal import Teller
from jobs.shown.watch import Watch
from jobs.spark.home_session import home_session
from jobs.spark.shutdown import StopSignal
from jobs.spark.warm_answers import WarmAnswers, pool_settings
from jobs.stream.query import failure_of
from programs.visible import visible
from tables.job_status import StatusWriter


class ShadowProgram:
    """A shadow's surroundings on a home; it is made once in a process. settings: Spark's, beside the usual ones."""

    def __init__(self, home: Home, console: Console, settings: Mapping[str, str] | None = None) -> None:
        self.teller = Teller(console)
        with console.status("starting Spark"):
            self.spark = home_session(home, "rollcall shadow", {**pool_settings(), **(settings or {})})
        self.answers = WarmAnswers(self.spark, home)
        self.stop, self.status = StopSignal(self.spark), StatusWriter(home.path)
        self._home, self._watch = home, Watch(home.path)

    def begin(self, followed: str) -> None:
        """Says what is followed where, and answers in SQL from now on."""
        self.answers.start()
        self.teller.say(f"rollcall: following {followed} on {self._home.shown}; Ctrl-C stops it.")

    def maybe_tell_rebalances(self) -> None:
        """Tells of rebalances that the home's tables show since the last call, as far as they can be read now."""
        self.teller.attempt(self._tell_rebalances)

    def report(self, queries: Sequence[StreamingQuery], counts: str, lines: Iterable[str] = ()) -> int:
        """Notes how the queries ended and says it; returns the exit status. counts, lines: said of a good end."""
        for query in queries:
            reason = failure_of(query)
            if reason is not None and not self.stop.wait(0):
                self.status.failed(reason, str(query.exception()))
                print(f"rollcall: the query failed: {visible(reason)}", file=sys.stderr)
                return 1
        self.status.stopped()
        for line in lines:
            self.teller.say(line)
        self.teller.say(f"rollcall: the shadow has stopped; {counts}. It goes on there when it is started again.")
        return 0

    def close(self) -> None:
        """Stops Spark."""
        self.answers.stop()
        self.spark.stop()

    def _tell_rebalances(self) -> None:
        for line in self._watch.look():
            if line in self._watch.rebalances:
                self.teller.say(line)
        self._watch.rebalances.clear()
