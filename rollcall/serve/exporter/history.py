"""A home's history for the exporter: the page's lists, the lag of all groups, and the costs of rebalances.

No fact is read twice. Lists are updated for groups with new facts, and facts of lag that later ones replaced are
dropped. Knows which facts these are. Must not know a metric.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from rollcall.answers.sql.engine import rows_in
from rollcall.answers.views.catalog import names_in
from rollcall.answers.whatif.outcome import ProcessFacts, measure
from rollcall.history.facts import COLUMNS, effects_in, facts_of
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import EFFECTS
from rollcall.serve.page.effect_files import columns, insert
from rollcall.serve.page.history import RAW, Change, History, make_views, rows_by_column

COSTS = "rebalance_costs"
_FETCHED = 10_000
MEMORY_MB = 120
"""Less than the page's lists may use, since this may run in a job's process. It is enough for 10,000 groups with 50,000
partitions; if not, the database gets MORE_MB more, as often as needed."""
MORE_MB = 40
COSTS_REST_FACTOR = 20
"""The pause between two computations of costs, as a multiple of the time that one took."""
_FOLDED = (
    EffectName.ASSIGNED,
    EffectName.GROUP_TYPE_CHANGED,
    EffectName.JOIN_PHASE_ENDED,
    EffectName.JOIN_RECEIVED,
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_REMOVED,
    EffectName.REBALANCE_ENDED,
    EffectName.REBALANCE_STARTED,
    EffectName.STATE_CHANGED,
)
"""The facts that `rollcall.answers.whatif.outcome` counts, without the answers, which no metric needs."""
_PRUNABLE = (EffectName.ASSIGNED, EffectName.JOIN_RECEIVED, EffectName.OFFSETS_COMMITTED)
"""The facts that later ones mostly replace in the view `lag`."""
_LAG_FACTS = "lag_facts"
_PRUNED = (
    # Commits whose every partition has a later one.
    f"""DELETE FROM {_LAG_FACTS} WHERE effect = 'offsets_committed' AND (group_id, at_ms, seq) NOT IN (
      SELECT (group_id, last.at_ms, last.seq) FROM (
        SELECT group_id, topic, partition, max(struct_pack(at_ms, seq)) AS last FROM (
          SELECT group_id, at_ms, seq, unnest(detail->>'$.offsets[*].topic') AS topic,
            unnest(detail->>'$.offsets[*].partition') AS partition
          FROM {_LAG_FACTS} WHERE effect = 'offsets_committed'
        ) GROUP BY ALL
      )
    )""",
    # Assignments of members that are gone.
    f"""DELETE FROM {_LAG_FACTS} AS old USING (
      SELECT group_id, member_id, max(struct_pack(at_ms, seq)) AS last
      FROM {RAW} WHERE effect = 'member_removed' GROUP BY ALL
    ) AS gone
    WHERE old.group_id = gone.group_id AND old.member_id = gone.member_id
      AND struct_pack(at_ms := old.at_ms, seq := old.seq) <= gone.last
      AND old.effect <> 'offsets_committed'""",
)


class Ownership(NamedTuple):
    """The cost of a group's rebalances so far: see `rollcall.answers.whatif.outcome.Outcome`."""

    stopped_member_ms: int
    unserved_partition_ms: int


class ExportHistory(History):
    """One home's history; only one thread may update it."""

    def __init__(self, home: Path) -> None:
        super().__init__(home)
        # Each further thread takes memory, and a core that a job may need.
        self._database.execute("SET threads = 1")
        self._memory_mb = 0
        self.allow(MEMORY_MB)
        self.costs: dict[str, Ownership] = {}
        self.costs_rest_until = 0.0
        """On the monotonic clock."""
        self._to_fold: set[str] | None = None
        self._to_cost: set[str] | None = None
        """The groups with news of their kind; None: all."""

    def allow(self, more_mb: int) -> None:
        """Raises the database's memory limit."""
        self._memory_mb += more_mb
        self._database.execute(f"SET memory_limit = '{self._memory_mb}MB'")

    def update(self) -> bool:
        """Reads new facts; returns whether the whole history was read again. Raises OSError, duckdb.Error."""
        was_ready = self.is_ready
        change = self.refresh()
        is_anew = not was_ready or (change is not None and not change.groups)
        if not self.is_ready:
            self.make_lists()
        if is_anew:
            self._to_fold = self._to_cost = None
            self.costs.clear()
        self._fold()
        began = time.monotonic()
        if self._to_cost is None or (self._to_cost and began >= self.costs_rest_until):
            with self._writing:
                self._make((COSTS,), self._to_cost)
            open_ends = "SELECT DISTINCT group_id FROM all_rebalance_costs WHERE caught_up_at IS NULL"
            self._to_cost = {row["group_id"] for row in self.all(open_ends)}
            ended = time.monotonic()
            self.costs_rest_until = ended + (ended - began) * COSTS_REST_FACTOR
        with self._cursor() as cursor:
            for statement in _PRUNED:
                cursor.execute(statement)
        return is_anew

    def lag(self, *, has_owners: bool) -> Iterator[tuple[Any, ...]]:
        """The lag of every partition of every group, in order: see the view `lag`. has_owners: else empty."""
        owner = [f"coalesce({name}, '')" if has_owners else "''" for name in ("client_host", "member_id", "client_id")]
        yield from self._asked(
            "SELECT group_id, topic, partition, committed_offset, lag_records, is_upper_bound, lag_ms, "
            f"{', '.join(owner)} FROM lag "
            "WHERE committed_offset IS NOT NULL OR end_offset IS NOT NULL ORDER BY group_id, topic, partition"
        )

    def log_ends(self) -> list[tuple[str, int, int | None, int | None]]:
        """The beginning and the end of every known log, in order of topic and partition."""
        return list(
            self._asked(
                "SELECT topic, partition, arg_max(log_start_offset, at_ms) FILTER (log_start_offset IS NOT NULL), "
                "arg_max(end_offset, at_ms) FILTER (end_offset IS NOT NULL) FROM log_ends WHERE topic IS NOT NULL "
                "GROUP BY ALL ORDER BY 1, 2"
            )
        )

    def log_ends_known_ms(self) -> int | None:
        """Return the latest moment with a known end of a log, or None."""
        ((latest_ms,),) = self._asked("SELECT max(at_ms) FROM log_ends WHERE topic IS NULL OR end_offset IS NOT NULL")
        return latest_ms

    def groups_with(self, effects: Iterable[str], from_ms: int) -> set[str]:
        """Return the groups that have one of these facts since a moment."""
        sql = f"SELECT DISTINCT group_id FROM {RAW} WHERE effect IN ({_listed(effects)}) AND at_ms >= ?"
        return {row["group_id"] for row in self.all(sql, [from_ms])}

    def _load(self, latest: int) -> Change:
        self._database.execute(
            f"CREATE OR REPLACE TABLE {_LAG_FACTS} AS SELECT {columns()} FROM {rows_in(EFFECTS, [])}"
        )
        return super()._load(latest)

    def _insert(self, table: str, files: Sequence[str]) -> list[tuple[str, str]]:
        with self._cursor() as cursor:
            insert(cursor, _LAG_FACTS, files, f"effect IN ({_listed(_PRUNABLE)})")
        found = super()._insert(table, files)
        if self._to_fold is not None:
            self._to_fold |= {group_id for group_id, effect in found if effect in _FOLDED}
        if self._to_cost is not None:
            self._to_cost |= {group_id for group_id, effect in found if effect == EffectName.REBALANCE_ENDED}
        return found

    def _fold(self) -> None:
        """Updates the costs of groups with new facts, and of those in a rebalance, which grow without new facts."""
        span = self.span_ms()
        if span is None:
            return
        moving = "SELECT group_id FROM all_groups WHERE state NOT IN ('Stable', 'Empty', 'Dead')"
        wanted = None if self._to_fold is None else self._to_fold | {row["group_id"] for row in self.all(moving)}
        only = "" if wanted is None else " AND group_id IN (SELECT unnest(?))"
        with self._cursor() as cursor:
            found = cursor.execute(
                f"SELECT group_id, {', '.join(COLUMNS)} FROM {RAW} WHERE effect IN ({_listed(_FOLDED)}){only} "
                "ORDER BY group_id",
                [] if wanted is None else [list(wanted)],
            )
            for group_id, rows in groupby(rows_by_column(found), itemgetter("group_id")):
                counted = measure(effects_in(facts_of(rows)), ProcessFacts({}, {}), 0, span[1])
                self.costs[group_id] = Ownership(counted.stopped_member_ms, counted.unserved_partition_ms)
        self._to_fold = set()

    def _asked(self, sql: str) -> Iterator[tuple[Any, ...]]:
        """Rows of a query over all facts but those that were dropped, and the tables beside them."""
        others = f"SELECT {columns()} FROM {RAW} WHERE effect NOT IN ({_listed(_PRUNABLE)})"
        facts = f"(SELECT {columns()} FROM {_LAG_FACTS} UNION ALL {others})"
        with self._cursor() as cursor:
            make_views(cursor, self.home, names_in(sql), facts=facts, is_empty_without_ends=False)
            cursor.execute(sql)
            while rows := cursor.fetchmany(_FETCHED):
                yield from rows


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)
