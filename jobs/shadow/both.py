"""A broker's log, what it records of requests or what it prints, and its cluster's topic, followed as one history.

Each is followed on its own home inside the home, `log` or `topic`, and the facts of both are merged into the home's
effects. Knows when facts are merged. Must not know how an input is read, nor by which rule facts are merged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Protocol

from pyspark.sql.streaming.query import StreamingQuery

from jobs.both_inputs import lines_beside, merging_lines
from jobs.config import JobConfig
from jobs.home import Home
from jobs.shadow.log_following import LogFollowing
from jobs.shadow.log_progress import NOTHING_KNOWN, Known, LogProgress
from jobs.shadow.merging_feed import BESIDE_LINES, BESIDE_REQUESTS, MergingFeed
from jobs.shadow.printed_following import PrintedFollowing
from jobs.shadow.program import Beside
from jobs.shadow.topic import TopicFollowing
from jobs.stream.upkeep import Upkeep
from tables.job_status import StatusWriter

MERGE_EVERY_S = 1.0


class Progress(Protocol):
    """How far a log that is followed is known."""

    def note(self) -> None:
        """Looks how far it was read."""

    def known(self) -> Known:
        """The time that its effects cover now."""


class PrintedProgress:
    """The progress of a log that brokers print. hold_ms, now_s: as of LogProgress."""

    def __init__(self, log: PrintedFollowing, hold_ms: int, now_s: Callable[[], float] = time.time) -> None:
        self._log, self._hold_ms, self._now_s = log, hold_ms, now_s
        self._known = NOTHING_KNOWN

    def note(self) -> None:
        """Looks how far it was read."""
        self._known = self._log.known(self._hold_ms, self._now_s() * 1000) or self._known

    def known(self) -> Known:
        """The time that its effects cover now."""
        return self._known


class BothFollowing:
    """A log and a topic on homes inside a home. status: gets each commit of merged facts. inner: of both queries."""

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        topic: TopicFollowing,
        log: LogFollowing | PrintedFollowing,
        status: StatusWriter,
        inner: StatusWriter,
    ) -> None:
        self._log, self._topic, self._status, self._inner = log, topic, status, inner
        topic.home_of_ends = home
        self._is_printed = isinstance(log, PrintedFollowing)
        self._progress: Progress = (
            PrintedProgress(log, config.log_hold_ms)
            if isinstance(log, PrintedFollowing)
            else LogProgress(log, config.log_hold_ms)
        )
        rule = BESIDE_LINES if self._is_printed else BESIDE_REQUESTS
        self._merging = MergingFeed(home, config, topic.cluster.names, rule)
        self._merged_at = 0.0
        self._upkeep = Upkeep(home, config, lambda: None)
        status.running(topic.query.id, int(time.time() * 1000))

    @property
    def shown(self) -> str:
        return f"{self._log.shown} and {self._topic.shown}"

    @property
    def queries(self) -> list[StreamingQuery]:
        return [*self._log.queries, *self._topic.queries]

    @property
    def counts(self) -> str:
        return f"{self._log.counts}; {self._topic.counts}"

    def goes_on(self) -> bool:
        return self._log.goes_on() and self._topic.goes_on()

    def not_known(self) -> tuple[str, ...]:
        return (
            *(("a group that the topic lacks is not shown.",) if self._is_printed else ()),
            *self._topic.not_known(),
        )

    def upkeeps(self) -> list[Beside]:
        return [self._upkeep, *self._topic.upkeeps(), *self._log.upkeeps()]

    def step(self) -> bool:
        has_more = self._log.step()
        self._topic.step()
        if time.monotonic() >= self._merged_at + MERGE_EVERY_S:
            self._progress.note()
            # The progress is asked before the homes are read, so that all facts up to it are read.
            decided = self._merging.step(self._progress.known(), self._topic.read_until_ms())
            if decided:
                self._status.batch_done(self._merging.commits, decided, 0, self._inner.take_broken())
            self._merged_at = time.monotonic()
        return has_more

    def finish(self) -> None:
        self._log.finish()
        self._merging.close()

    def closing_lines(self) -> Iterator[str]:
        yield from self._log.closing_lines()
        found = self._merging.found
        yield from lines_beside(found) if self._is_printed else merging_lines(found)
