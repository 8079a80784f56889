"""Holds what a cluster writes to the row rules, at a hundredth of what its batches cost.

The rows are not on the driver, and to bring some there costs a job. So it waits until that is saved up, and then looks
at a share of the groups of one batch; the next time at others. Knows what may be spent. Must not know a rule.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from jobs.stream.rule_check import SHARE, RuleCheck
from views.rules_at_work import COLUMNS, WATCHED, Broken

MOST_ROWS = 10_000
"""About how many rows are looked at."""
FIRST_COSTS_S = 1.0
"""What a look is taken to cost before there was one."""
log = logging.getLogger("rollcall.jobs")


class SampledCheck:
    """The check of one table's rows. costs_s: what a look costs, until one has shown it. clock: seconds."""

    def __init__(self, costs_s: float = FIRST_COSTS_S, clock: Callable[[], float] = time.perf_counter) -> None:
        self._costs_s, self._clock = costs_s, clock
        self._saved_s = 0.0
        self._looks = 0

    def look(self, facts: DataFrame, count: int, batch_s: float) -> tuple[Broken, ...]:
        """The rules that facts of a batch break, each reported in a line of the log; raises nothing.

        facts: rows of the effects table, cached. count: how many. batch_s: what the batch has cost.
        """
        self._saved_s += batch_s * SHARE
        if self._saved_s < self._costs_s:
            return ()
        begun_s = self._clock()
        one_in = 1 + count // MOST_ROWS
        is_chosen = F.crc32("group_id") % one_in == self._looks % one_in
        try:
            rows = facts.where(F.col("effect").isin([*WATCHED]) & is_chosen).select("group_id", *COLUMNS).toArrow()
        except (PySparkException, Py4JError):
            log.exception("what was written cannot be looked at; the job goes on, and so does what it writes")
            rows = None
        broken: tuple[Broken, ...] = ()
        if rows is not None:
            in_order = rows.sort_by([(name, "ascending") for name in ("group_id", "at_ms", "seq")])
            broken = RuleCheck().look(in_order, self._saved_s / SHARE)
        self._looks += 1
        self._costs_s, self._saved_s = self._clock() - begun_s, 0.0
        return broken
