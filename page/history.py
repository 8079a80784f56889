"""A home's effects in a database of the process's own, kept current, with lists of all groups ready to be shown.

The database lies in a temporary file. `refresh` takes in what new commits brought and makes anew only what they touch.
Knows the effects table's files and the views; must not know a page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from duck_sql import catalog
from page.effect_files import appended, columns, insert, source_of
from schemas.effect_names import EffectName
from schemas.tables import EFFECTS_FOLDER
from tables.delta_log import DeltaLog
from tables.duck_database import files_of, open_database
from tables.own_folder import own_folder
from views.catalog import DETECTORS, VIEWS, facts_read, with_foundations
from views.tables import TABLE_VIEWS
from views.view import View
from why.facts import COLUMNS
from why.past import Read

MEMORY_MB = 256
"""What DuckDB may keep in memory before it writes to its file."""
REST_FACTOR, BEAT_REST_FACTOR = 3, 10
"""Lists rest for so many times the time that making them again took; those that heartbeats alter rest longer."""
_QUIET = frozenset(
    {
        EffectName.REPLY,
        EffectName.HEARTBEATS_TAKEN,
        EffectName.REQUEST_PARKED,
        EffectName.REQUEST_DROPPED,
        EffectName.REQUEST_REPEATED,
        EffectName.OFFSETS_COMMITTED,
        EffectName.OFFSETS_REMOVED,
        EffectName.TIMER_ARMED,
    }
)
"""The facts that alter no list of LISTS."""
_FOLLOWS_BEATS = {name for name, view in DETECTORS.items() if facts_read(view) & _QUIET}
LISTS = ("groups", "rebalances", *(name for name in DETECTORS if name not in _FOLLOWS_BEATS))
"""The views kept ready for all groups, which only a change of membership or state alters."""
BEAT_LISTS = ("heartbeat_slack", *(name for name in DETECTORS if name in _FOLLOWS_BEATS))
"""Those that heartbeats and commits alter too."""
_EFFECTS = next(table for table in TABLE_VIEWS if table.name == "effects")
_RAW = "raw_effects"
"""All facts: those that are laid out, and those that have come since."""
_LAID_OUT, _RECENT = "laid_out_effects", "recent_effects"
_RECENT_AT_MOST = 100_000
"""So many facts are laid out by group at a time: one group's then lie together, and are found without the others'."""
_PAST_KEPT = 2


class Change(NamedTuple):
    """What a refresh brought."""

    groups: frozenset[str]
    """Of which groups there is something new; empty: of all."""


_ALL = Change(frozenset())


@dataclass
class _Kept:
    """Lists that are kept ready, and the groups for which they are to be made again."""

    names: Sequence[str]
    rest_factor: float
    due: set[str] = field(default_factory=set)
    rests_until: float = 0.0
    """On the monotonic clock."""

    def rest_after(self, took_s: float) -> None:
        self.due = set()
        self.rests_until = time.monotonic() + took_s * self.rest_factor

    @property
    def is_due(self) -> bool:
        return bool(self.due) and time.monotonic() >= self.rests_until


class History:
    """One home's history. Its methods may be called from any thread."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.version: int | None = None
        """The version of the effects table that was taken in last; -1: there is no table yet."""
        self.is_ready = False
        """Whether the lists of all groups are there."""
        self._log = DeltaLog(home / EFFECTS_FOLDER)
        self._ends = ExitStack()
        folder = self._ends.enter_context(own_folder("rollcall-page-"))
        self._database = open_database(folder / "history.duckdb", MEMORY_MB)
        self._ends.callback(self._database.close)
        for macro in catalog.MACROS:
            self._database.execute(macro)
        self._writing = threading.Lock()
        self._kept = (_Kept(LISTS, REST_FACTOR), _Kept(BEAT_LISTS, BEAT_REST_FACTOR))
        self._times_made = self._recent = 0
        self._pasts: dict[int, str] = {}

    def close(self) -> None:
        self._ends.close()

    @property
    def seen(self) -> str:
        """What a page shows that is made now: another text once there is more to see."""
        return f"{self.version} {self._times_made}"

    @property
    def is_loaded(self) -> bool:
        """Whether the effects are there, so that a single group can be asked about."""
        return self.version is not None

    # ------------------------------------------------------------ taking in

    def refresh(self, *, with_beats: bool = True, within_s: float = -1) -> Change | None:
        """Takes in what was committed since the last call and makes the lists that are due; None: nothing changed.

        with_beats: the lists that heartbeats alter too, of which many groups may be due. within_s: how long to wait for
        another thread that is at it, and then leave it to that one; negative: as long as it takes.
        """
        if not self._writing.acquire(timeout=within_s):
            return None
        try:
            grown = self._take_in()
            made = self._make_due(self._kept if with_beats else self._kept[:1])
            return grown if made is None or grown == _ALL else Change(made | (grown.groups if grown else frozenset()))
        finally:
            self._writing.release()

    def make_lists(self) -> None:
        """Makes the lists of all groups, which takes seconds for a long history."""
        with self._writing:
            self._make(LISTS + BEAT_LISTS, None)
            self.is_ready = True

    def _take_in(self) -> Change | None:
        latest, known = self._log.latest(), self.version
        if latest == known:
            return None
        if known is None or latest < known or not self._log.has(known + 1):
            return self._load(latest)
        return self._append(known, latest)

    def _load(self, latest: int) -> Change:
        """Everything anew: the first time, for a home that was made anew, or whose log has been cleaned unread."""
        files = self._files(latest)
        self._database.execute(f"CREATE OR REPLACE TABLE {_LAID_OUT} AS SELECT {columns()} FROM {source_of([])}")
        self._insert(_LAID_OUT, files)
        self._database.execute(f"CREATE OR REPLACE TABLE {_RECENT} AS SELECT * FROM {_LAID_OUT} LIMIT 0")
        both = f"SELECT * FROM {_LAID_OUT} UNION ALL SELECT * FROM {_RECENT}"
        self._database.execute(f"CREATE OR REPLACE VIEW {_RAW} AS {both}")
        self._recent = 0
        was_ready, self.version, self.is_ready = self.is_ready, latest, False
        self._pasts.clear()
        if was_ready:
            self._make(LISTS + BEAT_LISTS, None)
            self.is_ready = True
        return _ALL

    def _append(self, known: int, latest: int) -> Change | None:
        files: list[str] = []
        for version in range(known + 1, latest + 1):
            files += appended(self._log, version)
        found = self._insert(_RECENT, files)
        # Not before: what fails for now is read at the next look.
        self.version = latest
        if not found:
            return None
        if self._recent > _RECENT_AT_MOST:
            self._lay_out()
        groups = frozenset(group_id for group_id, _ in found)
        if self.is_ready:
            lists, beat_lists = self._kept
            lists.due |= {group_id for group_id, effect in found if effect not in _QUIET}
            beat_lists.due |= groups
        return Change(groups)

    def _insert(self, table: str, files: Sequence[str]) -> list[tuple[str, str]]:
        with self._cursor() as cursor:
            count, found = insert(cursor, table, files)
        self._recent += count if table == _RECENT else 0
        return found

    def _lay_out(self) -> None:
        """Moves the facts that have come to those that lie by group."""
        cursor = self._database.cursor()
        cursor.execute("BEGIN")
        cursor.execute(f"INSERT INTO {_LAID_OUT} SELECT * FROM {_RECENT} ORDER BY group_id, at_ms, seq")
        cursor.execute(f"DELETE FROM {_RECENT}")
        cursor.execute("COMMIT")
        cursor.close()
        self._recent = 0

    def _make_due(self, kept: Iterable[_Kept]) -> frozenset[str] | None:
        """Of which groups lists were made; None: nothing was due."""
        made: set[str] = set()
        for lists in kept:
            if lists.is_due:
                began, groups = time.monotonic(), lists.due
                self._make(lists.names, groups)
                lists.rest_after(time.monotonic() - began)
                made |= groups
        return frozenset(made) or None

    def _files(self, version: int) -> list[str]:
        return files_of(self.home / EFFECTS_FOLDER, self._database.cursor(), version) if self._log.versions() else []

    def _make(self, names: Sequence[str], groups: Collection[str] | None) -> None:
        """Lists, for some groups or for all (None)."""
        cursor = self._database.cursor()
        cursor.execute("CREATE TEMP TABLE chosen AS SELECT unnest(?) AS group_id", [list(groups or ())])
        where = "" if groups is None else "group_id IN (SELECT group_id FROM chosen)"
        _make_views(cursor, names, where, is_narrow=groups is not None, is_once=groups is None)
        for name in names:
            if groups is None:
                cursor.execute(f"CREATE OR REPLACE TABLE all_{name} AS SELECT * FROM temp.{name}")
                continue
            cursor.execute("BEGIN")
            cursor.execute(f"DELETE FROM all_{name} WHERE {where}")
            cursor.execute(f"INSERT INTO all_{name} SELECT * FROM temp.{name}")
            cursor.execute("COMMIT")
        cursor.close()
        self._times_made += 1

    # ------------------------------------------------------------ asking

    def all(self, sql: str, values: Sequence[Any] = (), until_ms: int | None = None) -> list[dict[str, Any]]:
        """Rows of a query about the lists of all groups, named as `all_storms`; as they were at until_ms."""
        if until_ms is not None:
            sql = sql.replace("all_", f"{self._past(until_ms)}.all_")
        with self._cursor() as cursor:
            return _rows(cursor.execute(sql, list(values)))

    def of_group(
        self, group_id: str, queries: Mapping[str, str], until_ms: int | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Rows of queries about one group's views, by the name of the first view that each names."""
        where = f"group_id = {quoted(group_id)}" + _until(until_ms)
        with self._cursor() as cursor:
            _make_views(cursor, list(queries), where, is_narrow=True)
            return {name: _rows(cursor.execute(sql)) for name, sql in queries.items()}

    def reader(self, group_id: str, until_ms: int | None = None) -> Read:
        """Reads a group's facts, for explanations and pictures."""

        def read(effects: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
            last_ms = to_ms if until_ms is None else min(to_ms, until_ms)
            sql = (
                f"SELECT {', '.join(COLUMNS)} FROM {_RAW} WHERE group_id = ? AND effect IN (SELECT unnest(?)) "
                "AND at_ms BETWEEN ? AND ?"
            )
            with self._cursor() as cursor:
                return _rows(cursor.execute(sql, [group_id, [str(name) for name in effects], from_ms, last_ms]))

        return read

    def span_ms(self, group_id: str | None = None, until_ms: int | None = None) -> tuple[int, int] | None:
        """When the first and the latest fact happened, of a group or of all; None: there is none."""
        where = "true" if group_id is None else f"group_id = {quoted(group_id)}"
        sql = f"SELECT min(at_ms), max(at_ms) FROM {_RAW} WHERE {where}{_until(until_ms)}"
        with self._cursor() as cursor:
            first, last = cursor.execute(sql).fetchone() or (None, None)
        return None if first is None else (first, last)

    def _past(self, until_ms: int) -> str:
        """The schema that holds the lists as they were at a moment, made if it is not kept."""
        with self._writing:
            if until_ms not in self._pasts:
                while len(self._pasts) >= _PAST_KEPT:
                    self._database.execute(f"DROP SCHEMA {self._pasts.pop(next(iter(self._pasts)))} CASCADE")
                schema = f"past_{until_ms}"
                cursor = self._database.cursor()
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                _make_views(cursor, LISTS + BEAT_LISTS, f"true{_until(until_ms)}", is_once=True)
                for name in LISTS + BEAT_LISTS:
                    cursor.execute(f"CREATE TABLE {schema}.all_{name} AS SELECT * FROM temp.{name}")
                cursor.close()
                self._pasts[until_ms] = schema
            return self._pasts[until_ms]

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._database.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def _make_views(
    cursor: duckdb.DuckDBPyConnection,
    names: Collection[str],
    where: str,
    *,
    is_narrow: bool = False,
    is_once: bool = False,
) -> None:
    """The views and those they stand on, over the effects for which a condition holds; this cursor's own.

    is_narrow: these effects are few, so they are looked for once and not by each view. is_once: each view is computed
    here, once, and not by each view that stands on it.
    """
    wanted = with_foundations(names)
    times = ", ".join(f"make_timestamp({of_ms} * 1000) AS {name}" for name, of_ms in _EFFECTS.times)
    only = f" WHERE {where}" if where else ""
    kind = "TABLE" if is_narrow else "VIEW"
    cursor.execute(f"CREATE TEMP {kind} effects AS SELECT *, {times} FROM {_RAW}{only}")
    for view in VIEWS:
        if view.name in wanted:
            cursor.execute(f"CREATE TEMP {'TABLE' if is_once else 'VIEW'} {view.name} AS {_sql_of(view)}")


@cache
def _sql_of(view: View) -> str:
    return catalog.of_view(view, catalog.relations()).sql


def _until(until_ms: int | None) -> str:
    return "" if until_ms is None else f" AND at_ms <= {until_ms:d}"


def quoted(value: str) -> str:
    """A text as it stands in SQL."""
    return "'" + value.replace("'", "''") + "'"


def _rows(found: duckdb.DuckDBPyConnection) -> list[dict[str, Any]]:
    names = [column[0] for column in found.description or ()]
    return [dict(zip(names, row, strict=True)) for row in found.fetchall()]


def timestamp(at_ms: int) -> str:
    """A moment as it stands in SQL."""
    return f"make_timestamp({at_ms:d}::BIGINT * 1000)"


def ms_of(at: datetime) -> int:
    """A timestamp of an answer, UTC without a zone, as ms since the epoch."""
    return round(at.replace(tzinfo=UTC).timestamp() * 1000)
