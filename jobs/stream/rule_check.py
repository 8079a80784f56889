"""Holds what a job writes to the row rules while it writes it, at a hundredth of what a batch costs.

Where the facts of all groups would cost more, those of every second, fourth, ... group are looked at, and other groups
after a while; a group that is cut off is begun anew. Knows what may be spent, and who is warned. Must not know a rule.
"""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from zlib import crc32

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from programs.log_lines import tell
from tables.job_status import BrokenRule
from views.rules_at_work import COLUMNS, WATCHED, Broken, Row, WatchedGroup

SHARE = 0.01
"""What the check may cost, of the time that a batch takes."""
MOST_GROUPS = 2_000
"""At most this many groups are remembered."""
OTHERS_AFTER_BATCHES = 1_000
SHOWN = 3
"""At most this many broken rules of a batch are lines of the log; all are counted."""
SHOWN_OF_A_GROUP_ID = 100
_ROWS_AT_ONCE = 128
_MOST_APART = 1 << 20
_watched = pa.array([str(name) for name in WATCHED], pa.string())
log = logging.getLogger("rollcall.jobs")


class RuleCheck:
    """The check of one table's rows, batch by batch. has_all_states: see `WatchedGroup`. clock: seconds."""

    def __init__(self, *, has_all_states: bool = True, clock: Callable[[], float] = time.perf_counter) -> None:
        self._has_all_states, self._clock = has_all_states, clock
        self._groups: dict[str, WatchedGroup] = {}
        self._one_in = 1
        self._batches = 0
        self._owed_s = 0.0
        self._has_failed = False
        self.spent_s = self.batches_s = 0.0
        """What the check has cost so far, and the batches without it."""

    def look(self, facts: pa.Table, batch_s: float) -> tuple[Broken, ...]:
        """The rules that a batch's facts break, each reported in a line of the log; raises nothing.

        facts: rows of the effects table, those of a group together and in order. batch_s: what the batch has cost.
        """
        begun_s = self._clock()
        broken: list[Broken] = []
        budget_s = batch_s * SHARE - self._owed_s
        try:
            if budget_s <= 0:
                # What is not looked at may have changed any of them.
                self._groups.clear()
            else:
                broken.extend(self._look(facts, begun_s + budget_s))
        except Exception:
            self._groups.clear()
            if not self._has_failed:
                self._has_failed = True
                log.exception("the check of what is written fails; the job goes on, and so does what it writes")
        spent_s = self._clock() - begun_s
        self._owed_s = max(0.0, spent_s - budget_s)
        self.spent_s, self.batches_s = self.spent_s + spent_s, self.batches_s + batch_s
        self._choose(spent_s, budget_s)
        for one in broken[:SHOWN]:
            tell(sentence_of(one), is_error=True)
        return tuple(broken)

    def _choose(self, spent_s: float, budget_s: float) -> None:
        """Fewer groups after a batch that cost too much, more after one that cost little; at times, others."""
        self._batches += 1
        if budget_s <= 0:
            return
        if spent_s > budget_s:
            self._one_in = min(self._one_in * 2, _MOST_APART)
            self._groups = {group_id: group for group_id, group in self._groups.items() if self._is_chosen(group_id)}
        elif spent_s < budget_s / 4:
            self._one_in = max(self._one_in // 2, 1)
        if self._batches % OTHERS_AFTER_BATCHES == 0 and self._one_in > 1:
            self._groups.clear()

    def _is_chosen(self, group_id: str) -> bool:
        """The groups of one share are also in every larger one."""
        return crc32(group_id.encode(), self._batches // OTHERS_AFTER_BATCHES) % self._one_in == 0

    def _chosen(self, rows: pa.Table) -> pa.Table:
        coded = rows["group_id"].combine_chunks().dictionary_encode()
        are_chosen = np.array([self._is_chosen(group_id) for group_id in coded.dictionary.to_pylist()], dtype=bool)
        return rows.filter(pa.array(are_chosen[coded.indices.to_numpy()])) if len(coded) else rows

    def _look(self, facts: pa.Table, until_s: float) -> Iterator[Broken]:
        rows = facts.select(["group_id", *COLUMNS]).filter(pc.is_in(facts["effect"], _watched))
        if self._one_in > 1:
            rows = self._chosen(rows)
        now, its_rows = "", list[Row]()
        for start in range(0, rows.num_rows, _ROWS_AT_ONCE):
            if self._clock() >= until_s:
                for group_id in (now, *pc.unique(rows["group_id"].slice(start)).to_pylist()):
                    self._groups.pop(group_id, None)
                return
            some = rows.slice(start, _ROWS_AT_ONCE)
            for group_id, *row in zip(*(column.to_pylist() for column in some.columns), strict=True):
                if group_id != now:
                    yield from self._take(now, its_rows)
                    now, its_rows = group_id, []
                its_rows.append(tuple(row))
        yield from self._take(now, its_rows)

    def _take(self, group_id: str, rows: list[Row]) -> Iterator[Broken]:
        if not rows:
            return
        group = self._groups.pop(group_id, None) or WatchedGroup(group_id, self._has_all_states)
        yield from group.take(rows)
        self._groups[group_id] = group
        if len(self._groups) > MOST_GROUPS:
            # Of whom nothing was heard for longest.
            del self._groups[next(iter(self._groups))]


def broken_rules(found: Collection[Broken]) -> list[BrokenRule]:
    """What a job's status says of rules that a batch broke: each once."""
    counts = Counter(one.rule for one in found)
    last = {one.rule: one for one in found}
    return [BrokenRule(rule=name, times=times, last=sentence_of(last[name])) for name, times in counts.items()]


def sentence_of(one: Broken) -> str:
    """A rule that a job's own facts break, for people."""
    return f"{one.rule}: {one.says} Group {one.group_id[:SHOWN_OF_A_GROUP_ID]!r} breaks it at {one.at_ms}: {one.value}."
