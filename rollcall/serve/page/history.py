"""A home's effects in a database of the process's own, kept current, with lists of all groups ready to be shown.

The database is a temporary file. `refresh` loads new commits and makes anew only the lists that they change.
Knows the effects table's files and the views; must not know a page.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from rollcall.answers.sql.engine import macros_and_view, made_of, no_rows, of_table, rows_in
from rollcall.answers.views.catalog import names_in, with_foundations
from rollcall.answers.views.lag import TREND_MS
from rollcall.answers.why.cost import Asked
from rollcall.answers.why.past import Read
from rollcall.history.facts import COLUMNS
from rollcall.history.known_span import KNOWN_SPAN, KnownSpan
from rollcall.history.words import ms_of
from rollcall.schemas.tables import EFFECTS, LOG_ENDS, TABLES
from rollcall.serve.page.effect_files import appended, columns, insert
from rollcall.serve.page.kept_lists import ALL_LISTS, QUIET, ROWS_KEPT, ReadyLists, kept_lists
from rollcall.tables.duck_database import files_of, open_database, quoted
from rollcall.tables.own_folder import own_folder
from rollcall.tables.versions import Versions, is_table

MEMORY_MB = 256
"""What DuckDB may keep in memory before it writes to its file."""
RAW = "raw_effects"
"""All facts: those that are sorted by group, and later ones."""
_LAID_OUT, _RECENT = "laid_out_effects", "recent_effects"
_RECENT_AT_MOST = 100_000
"""At most this many facts are sorted by group at a time, so that one group's are together."""
_PAST_KEPT = 2
_FETCHED = 10_000


class Change(NamedTuple):
    """The result of a refresh."""

    groups: frozenset[str]
    """The groups with new facts; empty: all."""


_ALL = Change(frozenset())


class History:
    """One home's history. Its methods may be called from any thread."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.version: int | None = None
        """The last loaded version of the effects table; -1: there is no table yet."""
        self.is_ready = False
        """Whether the lists of all groups are there."""
        self._versions, self._ends_versions = Versions(home / EFFECTS.name), Versions(home / LOG_ENDS.name)
        self._ends_version = -1
        self._ends = ExitStack()
        folder = self._ends.enter_context(own_folder("rollcall-page-"))
        self._database = open_database(folder / "history.duckdb", MEMORY_MB)
        self._ends.callback(self._database.close)
        self._writing = threading.Lock()
        self._kept = kept_lists()
        self._times_made = self._recent = 0
        self._pasts: dict[int, str] = {}

    def close(self) -> None:
        self._ends.close()

    @property
    def seen(self) -> str:
        """Identifies the facts that a page made now shows; changes with them."""
        return f"{self.version} {self._times_made}"

    @property
    def is_loaded(self) -> bool:
        """Whether the effects are loaded, so that a single group can be queried."""
        return self.version is not None

    # ------------------------------------------------------------ taking in

    def refresh(self, *, with_beats: bool = True, within_s: float = -1) -> Change | None:
        """Takes in what was committed since the last call and makes the lists that are due; None: nothing changed.

        with_beats: also the lists that heartbeats change, which is slow. within_s: how long to wait for another thread
        that holds the lock before leaving it to that one; negative: as long as it takes.
        """
        if not self._writing.acquire(timeout=within_s):
            return None
        try:
            grown = self._take_in()
            self._look_at_ends()
            made = self._make_due(self._kept if with_beats else self._kept[:1])
            if grown is None or made is None:
                return grown or made
            return _ALL if _ALL in (grown, made) else Change(grown.groups | made.groups)
        finally:
            self._writing.release()

    def make_lists(self) -> None:
        """Makes the lists of all groups, which takes seconds for a long history."""
        with self._writing:
            self._make(ALL_LISTS, None)
            self.is_ready = True

    def _look_at_ends(self) -> None:
        """New ends of logs change the lag of every group, also of silent ones."""
        latest = self._ends_versions.latest()
        if latest != self._ends_version and self.is_ready:
            self._kept[-1].due = None
        self._ends_version = latest

    def _take_in(self) -> Change | None:
        latest, known = self._versions.latest(), self.version
        if latest == known:
            return None
        if known is None or latest < known or not self._versions.has(known + 1):
            return self._load(latest)
        return self._append(known, latest)

    def _load(self, latest: int) -> Change:
        """Loads everything: the first time, for a home that was made anew, or after its log was cleaned unread."""
        files = self._files(latest)
        self._database.execute(f"CREATE OR REPLACE TABLE {_LAID_OUT} AS SELECT {columns()} FROM {rows_in(EFFECTS, [])}")
        self._insert(_LAID_OUT, files)
        self._database.execute(f"CREATE OR REPLACE TABLE {_RECENT} AS SELECT * FROM {_LAID_OUT} LIMIT 0")
        both = f"SELECT * FROM {_LAID_OUT} UNION ALL SELECT * FROM {_RECENT}"
        self._database.execute(f"CREATE OR REPLACE VIEW {RAW} AS {both}")
        self._recent = 0
        was_ready, self.version, self.is_ready = self.is_ready, latest, False
        self._pasts.clear()
        if was_ready:
            self._make(ALL_LISTS, None)
            self.is_ready = True
        return _ALL

    def _append(self, known: int, latest: int) -> Change | None:
        files: list[str] = []
        for version in range(known + 1, latest + 1):
            files += appended(self._versions, version)
        found = self._insert(_RECENT, files)
        # Not before: if this fails, it is read at the next look.
        self.version = latest
        if not found:
            return None
        if self._recent > _RECENT_AT_MOST:
            self._lay_out()
        groups = frozenset(group_id for group_id, _ in found)
        if self.is_ready:
            lists, *others = self._kept
            lists.add({group_id for group_id, effect in found if effect not in QUIET})
            for each in others:
                each.add(groups)
        return Change(groups)

    def _insert(self, table: str, files: Sequence[str]) -> list[tuple[str, str]]:
        with self._cursor() as cursor:
            count, found = insert(cursor, table, files)
        self._recent += count if table == _RECENT else 0
        return found

    def _lay_out(self) -> None:
        """Moves new facts to those that are sorted by group."""
        with self._cursor() as cursor:
            cursor.execute("BEGIN")
            cursor.execute(f"INSERT INTO {_LAID_OUT} SELECT * FROM {_RECENT} ORDER BY group_id, at_ms, seq")
            cursor.execute(f"DELETE FROM {_RECENT}")
            cursor.execute("COMMIT")
        self._recent = 0

    def _make_due(self, kept: Iterable[ReadyLists]) -> Change | None:
        """Of which groups lists were made; None: nothing was due."""
        made: set[str] = set()
        is_all = False
        for lists in kept:
            if lists.is_due:
                began, groups = time.monotonic(), lists.due
                self._make(lists.names, groups)
                lists.rest_after(time.monotonic() - began)
                is_all = is_all or groups is None
                made |= groups or set()
        return _ALL if is_all else Change(frozenset(made)) if made else None

    def _files(self, version: int) -> list[str]:
        return files_of(self.home / EFFECTS.name, version) if self._versions.latest() >= 0 else []

    def _make(self, names: Sequence[str], groups: Collection[str] | None) -> None:
        """Lists, for some groups or for all (None)."""
        cursor = self._database.cursor()
        cursor.execute("CREATE TEMP TABLE chosen AS SELECT unnest(?) AS group_id", [list(groups or ())])
        where = "true" if groups is None else "group_id IN (SELECT group_id FROM chosen)"
        make_views(cursor, self.home, names, where, is_narrow=groups is not None, is_once=groups is None)
        for name in names:
            if groups is None:
                cursor.execute(f"CREATE OR REPLACE TABLE all_{name} AS {_rows_of(name)}")
                continue
            cursor.execute("BEGIN")
            cursor.execute(f"DELETE FROM all_{name} WHERE {where}")
            cursor.execute(f"INSERT INTO all_{name} {_rows_of(name)}")
            cursor.execute("COMMIT")
        cursor.close()
        if "lag" in names:
            self._make_lag_before()
        self._times_made += 1

    def _make_lag_before(self, schema: str = "main") -> None:
        """The lag of TREND_MS before the latest news of any end, beside the list of lag."""
        with self._cursor() as cursor:
            (latest,) = cursor.execute(f"SELECT max(end_known_at) FROM {schema}.all_lag").fetchone() or (None,)
            source = f"{schema}.all_lag LIMIT 0"
            if latest is not None:
                until_ms, source = ms_of(latest) - TREND_MS, "temp.lag"
                make_views(cursor, self.home, ["lag"], f"true{_until(until_ms)}", until_ms)
            cursor.execute(f"CREATE OR REPLACE TABLE {schema}.all_lag_before AS SELECT * FROM {source}")

    # ------------------------------------------------------------ asking

    def all(self, sql: str, values: Sequence[Any] = (), until_ms: int | None = None) -> list[dict[str, Any]]:
        """Rows of a query about the lists of all groups, named as `all_storms`; as they were at until_ms."""
        if until_ms is not None:
            sql = sql.replace("all_", f"{self._past(until_ms)}.all_")
        with self._cursor() as cursor:
            return [*rows_by_column(cursor.execute(sql, list(values)))]

    def of_group(
        self, group_id: str, queries: Mapping[str, str], until_ms: int | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Rows of queries about one group's views, by the name of the first view that each names."""
        where = f"group_id = '{quoted(group_id)}'" + _until(until_ms)
        with self._cursor() as cursor:
            named = set[str]().union(*map(names_in, queries.values()))
            make_views(cursor, self.home, named, where, until_ms, is_narrow=True, is_once=True)
            return {name: [*rows_by_column(cursor.execute(sql))] for name, sql in queries.items()}

    def in_lists(
        self, group_id: str, queries: Mapping[str, str], until_ms: int | None = None
    ) -> dict[str, list[dict[str, Any]]]:
        """Rows of queries about lists, as `all` takes them, that name one group; of its facts where no list is kept."""
        if self.is_ready if until_ms is None else until_ms in self._pasts:
            return {name: self.all(sql, (), until_ms) for name, sql in queries.items()}
        return self.of_group(group_id, {name: sql.replace("all_", "") for name, sql in queries.items()}, until_ms)

    def asked(self, group_id: str, until_ms: int | None = None) -> Asked:
        """Answers queries about a group's lag, in DuckDB's SQL."""

        def rows(query: str) -> list[dict[str, Any]]:
            (name,) = names_in(query)
            return self.of_group(group_id, {name: query}, until_ms)[name]

        return Asked(rows, "")

    def reader(self, group_id: str, until_ms: int | None = None) -> Read:
        """Reads a group's facts, for explanations and pictures."""

        def read(effects: Sequence[str], from_ms: int, to_ms: int) -> Iterable[Mapping[str, Any]]:
            last_ms = to_ms if until_ms is None else min(to_ms, until_ms)
            sql = (
                f"SELECT {', '.join(COLUMNS)} FROM {RAW} WHERE group_id = ? AND effect IN (SELECT unnest(?)) "
                "AND at_ms BETWEEN ? AND ?"
            )
            with self._cursor() as cursor:
                given = [group_id, [str(name) for name in effects], from_ms, last_ms]
                return [*rows_by_column(cursor.execute(sql, given))]

        return read

    def span_ms(self, group_id: str | None = None, until_ms: int | None = None) -> tuple[int, int] | None:
        """When the first and the latest fact happened, of a group or of all; None: there is none."""
        where = "true" if group_id is None else f"group_id = '{quoted(group_id)}'"
        sql = f"SELECT min(at_ms), max(at_ms) FROM {RAW} WHERE {where}{_until(until_ms)}"
        with self._cursor() as cursor:
            first, last = cursor.execute(sql).fetchone() or (None, None)
        return None if first is None else (first, last)

    def known_span(self) -> KnownSpan:
        """When the history begins and ends, by facts and by the ends of logs."""
        with self._cursor() as cursor:
            make_views(cursor, self.home, ["log_ends"])
            return KnownSpan(*cursor.execute(KNOWN_SPAN).fetchone() or (None, None, None))

    def _past(self, until_ms: int) -> str:
        """The schema that holds the lists as they were at a moment, made if it is not kept."""
        with self._writing:
            if until_ms not in self._pasts:
                while len(self._pasts) >= _PAST_KEPT:
                    self._database.execute(f"DROP SCHEMA {self._pasts.pop(next(iter(self._pasts)))} CASCADE")
                schema = f"past_{until_ms}"
                cursor = self._database.cursor()
                cursor.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
                make_views(cursor, self.home, ALL_LISTS, f"true{_until(until_ms)}", until_ms, is_once=True)
                for name in ALL_LISTS:
                    cursor.execute(f"CREATE TABLE {schema}.all_{name} AS {_rows_of(name)}")
                cursor.close()
                self._make_lag_before(schema)
                self._pasts[until_ms] = schema
            return self._pasts[until_ms]

    @contextmanager
    def _cursor(self) -> Iterator[duckdb.DuckDBPyConnection]:
        cursor = self._database.cursor()
        try:
            yield cursor
        finally:
            cursor.close()


def make_views(
    cursor: duckdb.DuckDBPyConnection,
    home: Path,
    names: Collection[str],
    where: str = "true",
    until_ms: int | None = None,
    *,
    facts: str = RAW,
    is_narrow: bool = False,
    is_once: bool = False,
    is_empty_without_ends: bool = True,
) -> None:
    """The views and those they stand on, over the effects for which a condition holds; this cursor's own.

    facts: the table of these effects. is_narrow: they are few, so they are looked for once and not by each view.
    is_once: each view is computed here, once, and not by each view that stands on it. is_empty_without_ends: views that
    read the ends of logs are empty, and cost nothing, where the home has none.
    """
    times = ", ".join(f"make_timestamp({of_ms} * 1000) AS {name}" for name, of_ms in EFFECTS.times)
    effects = "TABLE" if is_narrow else "VIEW"
    cursor.execute(f"CREATE TEMP {effects} effects AS SELECT *, {times} FROM {facts} WHERE {where}")
    has_ends = not is_empty_without_ends
    wanted = with_foundations(names)
    for table in TABLES:
        if table.name in wanted and table is not EFFECTS:
            files = files_of(home / table.name) if is_table(home / table.name) else []
            has_ends = has_ends or (table is LOG_ENDS and bool(files))
            cursor.execute(of_table(table, files, until_ms, "TEMP VIEW"))
    kind = "TEMP TABLE" if is_once else "TEMP VIEW"
    statements: dict[str, None] = {}
    for view in made_of(names, kind):
        if "log_ends" in with_foundations([view.name]) and not (has_ends or view.does_without_ends):
            statements[f"CREATE {kind} {view.name} AS SELECT * FROM {no_rows(view.columns)}"] = None
        else:
            # Several views have a macro in common.
            statements |= dict.fromkeys(macros_and_view(view, kind))
    for statement in statements:
        cursor.execute(statement)


def _rows_of(name: str) -> str:
    """The query of a list's rows, of the view that this cursor made."""
    return f"SELECT * FROM temp.{name} {ROWS_KEPT.get(name, '')}"


def _until(until_ms: int | None) -> str:
    return "" if until_ms is None else f" AND at_ms <= {until_ms:d}"


def rows_by_column(found: duckdb.DuckDBPyConnection) -> Iterator[dict[str, Any]]:
    """The rows of an answer, read some at a time."""
    names = [column[0] for column in found.description or ()]
    while rows := found.fetchmany(_FETCHED):
        yield from (dict(zip(names, row, strict=True)) for row in rows)
