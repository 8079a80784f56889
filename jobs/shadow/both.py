"""A broker's log, what it records of requests or what it prints, and its cluster's topic, followed as one history.

Each is followed on its own home inside the home, `log` or `topic`, and the facts of both are merged into the home's
effects. Knows when facts are merged. Must not know how an input is read, nor by which rule facts are merged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from uuid import uuid4

from rollcall.inputs.both_inputs import BothMerged, NamesOf, lines_beside, merging_lines
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.following import Following
from rollcall.jobs.shadow.merging_feed import BESIDE_LINES, BESIDE_REQUESTS, MergingFeed, Rule
from rollcall.jobs.shadow.program import Beside, Failure
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

MERGE_EVERY_S = 1.0


class _Kind(NamedTuple):
    """What is particular to a kind of log beside a topic."""

    rule: Rule
    closing_lines: Callable[[BothMerged], Iterator[str]]
    not_known: tuple[str, ...] = ()


_OF_REQUESTS = _Kind(BESIDE_REQUESTS, merging_lines)
_OF_LINES = _Kind(BESIDE_LINES, lines_beside, ("a group that the topic lacks is not shown.",))


class BothFollowing:
    """A log and a topic on homes inside a home. names: of the cluster's topics, by id. status: gets each commit of
    merged facts. is_printed: the log is what its broker prints.
    """

    def __init__(
        self,
        home: Home,
        config: JobConfig,
        topic: Following[Any, Any],
        log: Following[Any, Any],
        names: NamesOf,
        status: StatusWriter,
        *,
        is_printed: bool,
    ) -> None:
        self._log, self._topic, self._status = log, topic, status
        self._kind, self._hold_ms = _OF_LINES if is_printed else _OF_REQUESTS, config.log_hold_ms
        self._merging = MergingFeed(home, config, names, self._kind.rule)
        self._merged_at = 0.0
        self._upkeep = Upkeep(home, config, lambda: None)
        status.running(str(uuid4()), int(time.time() * 1000))

    @property
    def shown(self) -> str:
        return f"{self._log.shown} and {self._topic.shown}"

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
        has_more = [each.step() for each in (self._log, self._topic)]
        if time.monotonic() >= self._merged_at + MERGE_EVERY_S:
            # The progress is asked before the homes are read, so that all facts up to it are read.
            log, topic = (each.known(self._hold_ms, time.time() * 1000) for each in (self._log, self._topic))
            decided = self._merging.step(log, topic.all_others_ms)
            if decided:
                self._status.batch_done(self._merging.commits, decided, 0)
            self._merged_at = time.monotonic()
        return any(has_more)

    def finish(self, is_urgent: Callable[[], bool]) -> None:
        self._log.finish()
        self._merging.close()
        self._topic.finish()

    def failure(self) -> Failure | None:
        return self._topic.failure()

    def closing_lines(self) -> Iterator[str]:
        yield from self._log.closing_lines()
        yield from self._kind.closing_lines(self._merging.found)
