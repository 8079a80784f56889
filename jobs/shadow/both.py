"""A broker's log, what it records of requests or what it prints, and its cluster's topic, followed as one history.

Each is followed on its own home inside the home, `log` or `topic`, and the facts of both are merged into the home's
effects. Knows when facts are merged. Must not know how an input is read, nor by which rule facts are merged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from pyspark.sql.streaming.query import StreamingQuery

from rollcall.inputs.both_inputs import BothMerged, lines_beside, merging_lines
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.log_following import LogFollowing
from rollcall.jobs.shadow.log_progress import NOTHING_KNOWN, Known, LogProgress
from rollcall.jobs.shadow.merging_feed import BESIDE_LINES, BESIDE_REQUESTS, MergingFeed, Rule
from rollcall.jobs.shadow.printed_following import PrintedFollowing
from rollcall.jobs.shadow.program import Beside
from rollcall.jobs.shadow.topic import TopicFollowing
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

MERGE_EVERY_S = 1.0


class PrintedProgress:
    """The progress of a log that brokers print. hold_ms, now_s: as of LogProgress."""

    def __init__(self, log: PrintedFollowing, hold_ms: int, now_s: Callable[[], float] = time.time) -> None:
        self._log, self._hold_ms, self._now_s = log, hold_ms, now_s
        self._known = NOTHING_KNOWN

    def known(self) -> Known:
        """The time that its effects cover now; while some are not yet written, what it was before."""
        self._known = self._log.known(self._hold_ms, self._now_s() * 1000) or self._known
        return self._known


class _Kind(NamedTuple):
    """What is particular to a kind of log beside a topic."""

    known: Callable[[], Known]
    rule: Rule
    closing_lines: Callable[[BothMerged], Iterator[str]]
    not_known: tuple[str, ...] = ()


def _kind_of(log: LogFollowing | PrintedFollowing, hold_ms: int) -> _Kind:
    if isinstance(log, PrintedFollowing):
        not_known = ("a group that the topic lacks is not shown.",)
        return _Kind(PrintedProgress(log, hold_ms).known, BESIDE_LINES, lines_beside, not_known)
    return _Kind(LogProgress(log, hold_ms).known, BESIDE_REQUESTS, merging_lines)


class BothFollowing:
    """A log and a topic on homes inside a home. status: gets each commit of merged facts."""

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        topic: TopicFollowing,
        log: LogFollowing | PrintedFollowing,
        status: StatusWriter,
    ) -> None:
        self._log, self._topic, self._status = log, topic, status
        topic.home_of_ends = home
        self._kind = _kind_of(log, config.log_hold_ms)
        self._merging = MergingFeed(home, config, topic.cluster.names, self._kind.rule)
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
        return (*self._kind.not_known, *self._topic.not_known())

    def upkeeps(self) -> list[Beside]:
        return [self._upkeep, *self._topic.upkeeps(), *self._log.upkeeps()]

    def step(self) -> bool:
        has_more = self._log.step()
        self._topic.step()
        if time.monotonic() >= self._merged_at + MERGE_EVERY_S:
            # The progress is asked before the homes are read, so that all facts up to it are read.
            decided = self._merging.step(self._kind.known(), self._topic.read_until_ms())
            if decided:
                self._status.batch_done(self._merging.commits, decided, 0)
            self._merged_at = time.monotonic()
        return has_more

    def finish(self) -> None:
        self._log.finish()
        self._merging.close()

    def closing_lines(self) -> Iterator[str]:
        yield from self._log.closing_lines()
        yield from self._kind.closing_lines(self._merging.found)
