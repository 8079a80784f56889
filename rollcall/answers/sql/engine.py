"""Asks DuckDB about a home on this machine's disk, in Spark's SQL or in DuckDB's own.

What is asked is one SELECT in a database of its own that reads the home's files and nothing else: DuckDB refuses any
other file, the network, extensions and settings, which are locked. Knows which tables and views a query needs. Must not
know Spark or how an answer is printed, nor load pyarrow but for a table.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import duckdb
from duckdb.sqltypes import DuckDBPyType

from rollcall.answers.sql import known_equal, spark_sql
from rollcall.answers.sql.known_equal import NoSuchName, NotEqual, NotParsed, NotSelect
from rollcall.answers.sql.spark_sql import Translated
from rollcall.answers.sql.statements import syntax_error_at
from rollcall.answers.views.catalog import (
    JOINED_AS_WRITTEN,
    NAMES,
    VIEWS,
    does_with_recent_commits,
    names_in,
    views_of,
    with_foundations,
)
from rollcall.answers.views.view import View
from rollcall.programs.errors import UserError
from rollcall.schemas.tables import EFFECTS, TABLES, Column, Table
from rollcall.tables.duck_database import files_of, open_database, quoted, rows_of, spill_folder
from rollcall.tables.readable_files import readable
from rollcall.tables.recent_commits import RecentEffects, with_recent_commits
from rollcall.tables.versions import TableError, is_table

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["NoSuchName", "NotEqual", "NotParsed", "NotSelect"]

Fetched = TypeVar("Fetched")
Fetch = Callable[[duckdb.DuckDBPyConnection, str], Fetched]
"""What executes a statement, and takes of its answer."""

_FETCHED = 10_000
_ONCE = "TEMP TABLE"
"""The kind of view that is computed once."""
_READ_ONCE_BYTES = 64_000_000
"""A table with files up to this size is read once for several queries: about 1,000,000 facts."""
_OF_QUERIES = (
    *(duckdb.DataError, duckdb.NotSupportedError, duckdb.InterruptException, duckdb.PermissionException),
    *(duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException),
)
"""What no file can be the cause of."""


class AnswerColumn(NamedTuple):
    """A column of an answer: its name, and its type as DuckDB has it."""

    name: str
    type: DuckDBPyType


@dataclass(frozen=True)
class Answer:
    """A query's answer. Timestamps are UTC without a zone, intervals timedeltas, structs dicts, all others Python's."""

    columns: tuple[AnswerColumn, ...]
    rows: Iterator[Sequence[Any]]

    def rows_by_column(self) -> list[dict[str, Any]]:
        """All rows, each by its columns' names."""
        names = [column.name for column in self.columns]
        return [dict(zip(names, row, strict=True)) for row in self.rows]


def ask(
    home: Path, query: str, until_ms: int | None = None, limit: int | None = None, *, is_duckdbs: bool = False
) -> Answer:
    """Answers a query about a home, by what had happened up to and at until_ms, None: by all.

    limit: no more rows than that. is_duckdbs: the query is in DuckDB's own SQL. Raises NotEqual, also where DuckDB
    refuses the query, and NoSuchName; UserError while rows are read.
    """
    found = Translated(query, ()) if is_duckdbs else None
    connection, first = _asked(home, query, until_ms, _first_rows, found)
    made = tuple(AnswerColumn(name, kind) for name, kind, *_ in connection.description)
    return Answer(made, _rows(connection, first, limit))


def ask_table(home: Path, query: str, until_ms: int | None = None) -> pa.Table:
    """As ask, but the whole answer as an Arrow table."""
    return _asked(home, query, until_ms, _table)[1]


def _asked(
    home: Path, query: str, until_ms: int | None, fetch: Fetch[Fetched], in_duckdbs: Translated | None = None
) -> tuple[duckdb.DuckDBPyConnection, Fetched]:
    listing = statement(query)
    found = in_duckdbs or listing or spark_sql.translated(query, columns())
    names, statements = names_in(query), [*found.macros, _one_select(found.sql, query)]
    if listing is not None:
        # What says only which columns there are needs no rows.
        views = made_of(names)
        names = names.difference(view.name for view in views)
        statements = [*(f"CREATE VIEW {view.name} AS FROM {no_rows(view.columns)}" for view in views), *statements]
    try:
        return _begun(home, names, until_ms, statements, fetch)
    except (duckdb.Error, TableError, OSError) as error:
        _check_column(error, query)
        raise NotEqual(_reason(error)) from error


def ask_each(home: Path, queries: Sequence[str], limit: int) -> Iterator[Answer]:
    """Answers several queries about a home, each with no more rows than limit. What they read is computed once.

    Raises NotEqual, also where DuckDB refuses a query; UserError while rows are read.
    """
    names = sorted({name for query in queries for name in names_in(query)})
    views = made_of(names, _ONCE)
    # What is next is translated while DuckDB is at work.
    with ThreadPoolExecutor(1) as aside:
        made = [aside.submit(macros_and_view, view, _ONCE) for view in views]
        found = [aside.submit(_of_query, query) for query in queries]
        try:
            connection = open_database()
            _make_tables(connection, home, names)
            macros = set[str]()
            for one in made:
                _execute_once(connection, one.result(), macros)
            for one in found:
                _execute_once(connection, one.result(), macros)
                named = tuple(AnswerColumn(name, kind) for name, kind, *_ in connection.description)
                yield Answer(named, iter(connection.fetchmany(limit)))
        except (duckdb.Error, TableError, OSError) as error:
            raise NotEqual(_reason(error)) from error
        finally:
            aside.shutdown(cancel_futures=True)


def _of_query(query: str) -> list[str]:
    """A query's macros, then its statement."""
    found = spark_sql.translated(query, columns())
    return [*found.macros, _one_select(found.sql)]


def _make_tables(connection: duckdb.DuckDBPyConnection, home: Path, names: Collection[str]) -> None:
    """The tables' views that these names stand on; from then on only these can be read."""
    files = _files_below(home, names)
    lock(connection, [path for paths in files.values() for path in paths])
    for table, paths in files.items():
        is_small = sum(Path(path).stat().st_size for path in paths) <= _READ_ONCE_BYTES
        connection.execute(of_table(table, paths, None, _ONCE if is_small else "VIEW"))


def _files_below(home: Path, names: Collection[str]) -> dict[Table, list[str]]:
    """The files of the tables that these names stand on; a missing table has none."""
    wanted = [table for table in TABLES if table.name in with_foundations(names)]
    return {table: files_of(home / table.name) if is_table(home / table.name) else [] for table in wanted}


def _execute_once(connection: duckdb.DuckDBPyConnection, statements: Sequence[str], done: set[str]) -> None:
    """Makes macros, the statements before the last, that are not among those done, and executes the last."""
    for statement in statements[:-1]:
        if statement not in done:
            connection.execute(statement)
            done.add(statement)
    connection.execute(statements[-1])


@cache
def columns() -> dict[str, dict[str, str]]:
    """Each table's and view's columns: the name, and Spark's type."""
    named = {table.name: table.shown_columns for table in TABLES} | {view.name: view.columns for view in VIEWS}
    return {name: {column.name: column.type for column in found} for name, found in named.items()}


def made_of(names: Collection[str], kind: str = "VIEW") -> list[View]:
    """The views that are made for these names, in order: what one stands on is within it, unless it is a table."""
    return views_of(names) if "TABLE" in kind else [view for view in VIEWS if view.name in names]


@cache
def macros_and_view(view: View, kind: str = "VIEW") -> list[str]:
    """What makes a view: its macros first.

    A view has what it stands on as tables of a WITH; DuckDB computes once what several of them read. kind: if it makes
    a table, what it stands on exists.
    """
    below = [] if "TABLE" in kind else views_of([view.name])[:-1]
    tables = ", ".join(f"{one.name} AS ({_in_duckdbs(one).sql})" for one in below)
    macros = dict.fromkeys(macro for one in (*below, view) for macro in _in_duckdbs(one).macros)
    return [*macros, f"CREATE {kind} {view.name} AS {f'WITH {tables} ' if below else ''}{_in_duckdbs(view).sql}"]


@cache
def _in_duckdbs(view: View) -> Translated:
    return spark_sql.of_view(view.sql, columns()[view.name])


_NEAR = re.compile(r'syntax error at or near "([^"]+)"')


def _one_select(sql: str, query: str = "") -> str:
    """Raises NotEqual: it is other than one SELECT by DuckDB's own reading; NotParsed, naming the place."""
    try:
        statements = duckdb.extract_statements(sql)
        is_select = [one.type for one in statements] == [duckdb.StatementType.SELECT]
    except duckdb.Error as error:
        near = _NEAR.search(str(error))
        place = query.lower().rfind(near[1].lower()) if near else -1
        if near is not None and place >= 0:
            raise NotParsed(syntax_error_at(query, place, query[place : place + len(near[1])])) from None
        raise NotEqual(_reason(error)) from None
    except ValueError:
        # Of a kind that DuckDB's Python has no name for.
        is_select = False
    if not is_select:
        raise NotSelect("a statement that is not a SELECT")
    return sql


def _begun(
    home: Path, names: Collection[str], until_ms: int | None, statements: Sequence[str], fetch: Fetch[Fetched]
) -> tuple[duckdb.DuckDBPyConnection, Fetched]:
    """What the last statement gives, in a database with these views that reads only their files."""
    connection = open_database()
    files = {table.name: paths for table, paths in _files_below(home, names).items()}
    kind, is_looked_at, has_one_thread = "VIEW", False, False
    effects = None
    if files.get("effects") and does_with_recent_commits(names):
        effects = with_recent_commits(connection, home / EFFECTS.name, files["effects"], until_ms)
    while True:
        try:
            _make_views(connection, names, files, until_ms, kind, effects)
            for statement in statements[:-1]:
                connection.execute(statement)
            # A file that cannot be read may be noticed only now: the query is executed while its rows are fetched.
            return connection, fetch(connection, statements[-1])
        except _OF_QUERIES:
            raise
        except duckdb.Error as error:
            is_too_much = isinstance(error, duckdb.OutOfMemoryException)
            if is_too_much and not has_one_thread:
                # Each thread has its part of a file in memory, of long details 50 MB at a time.
                has_one_thread = True
            elif effects is not None:
                effects = None
            elif is_too_much and kind == "VIEW":
                # A table that is made once goes to the temporary folder; what a view computes twice does not.
                kind = _ONCE
            else:
                can_be_read = {name: readable(paths) for name, paths in files.items()}
                if is_looked_at or can_be_read == files:
                    raise
                files, is_looked_at = can_be_read, True
        connection = open_database()
        if has_one_thread:
            connection.execute("SET threads = 1")


def _first_rows(connection: duckdb.DuckDBPyConnection, statement: str) -> list[Any]:
    return connection.execute(statement).fetchmany(_FETCHED)


def _table(connection: duckdb.DuckDBPyConnection, statement: str) -> pa.Table:
    return connection.sql(statement).to_arrow_table()


def _make_views(
    connection: duckdb.DuckDBPyConnection,
    names: Collection[str],
    files: dict[str, list[str]],
    until_ms: int | None,
    kind: str,
    effects: RecentEffects | None,
) -> None:
    """effects: what is read in place of all effects; None: all of them are."""
    if names and JOINED_AS_WRITTEN.issuperset(names):
        connection.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    lock(connection, [path for paths in (*files.values(), effects.files if effects else ()) for path in paths])
    for table in TABLES:
        if table.name in files:
            rows = effects.rows if effects and table.name == "effects" else None
            connection.execute(of_table(table, files[table.name], until_ms, rows=rows))
    for statement in (statement for view in made_of(names, kind) for statement in macros_and_view(view, kind)):
        connection.execute(statement)


def lock(connection: duckdb.DuckDBPyConnection, files: Iterable[str]) -> None:
    """From now on a connection reads these files and its own temporary ones, and its settings stay as they are."""
    listed = ", ".join(f"'{quoted(path)}'" for path in files)
    connection.execute(f"SET allowed_paths = [{listed}]")
    connection.execute(f"SET allowed_directories = ['{quoted(spill_folder())}/']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def of_table(table: Table, files: list[str], until_ms: int | None, kind: str = "VIEW", rows: str | None = None) -> str:
    """The statement that makes a table's view of its files. until_ms: as it was then. rows: those of them to take."""
    times = (f"make_timestamp({of_ms} * 1000) AS {name}" for name, of_ms in table.times)
    until = ""
    if until_ms is not None:
        until = f" WHERE {table.moment} <= {until_ms}"
        if table.partition_by:
            until += f" AND at_date <= CAST(make_timestamp({until_ms * 1000}) AS DATE)"
    selected = ", ".join((*table.names, *times))
    return f"CREATE {kind} {table.name} AS SELECT {selected} FROM {rows or rows_in(table, files)}{until}"


def rows_in(table: Table, files: Sequence[str]) -> str:
    """What stands in FROM for the rows of a table's files; of no file: for none, in columns of its types."""
    return rows_of(files, table) if files else no_rows(table.shown_columns)


def no_rows(columns: Iterable[Column]) -> str:
    """What stands in FROM for no rows, in columns of these types."""
    nulls = (f'CAST(NULL AS {spark_sql.duck_type(column.type)}) AS "{column.name}"' for column in columns)
    return f"(SELECT {', '.join(nulls)} WHERE false)"


def _rows(connection: duckdb.DuckDBPyConnection, rows: list[Any], limit: int | None) -> Iterator[Sequence[Any]]:
    left = limit
    while rows:
        yield from rows if left is None else rows[:left]
        left = None if left is None else max(left - len(rows), 0)
        if left == 0:
            return
        try:
            rows = connection.fetchmany(_FETCHED)
        except duckdb.Error as error:
            raise UserError(f"query: the answer broke off: {_reason(error)}; --engine spark asks Spark.") from None


# ---------------------------------------------------------------- what there is, and what there is not


_DESCRIBE = re.compile(r"\s*desc(?:ribe)?\s+(?:table\s+)?(\w+)\s*;?\s*", re.IGNORECASE)
_SHOW = re.compile(r"\s*show\s+(views|tables)\s*;?\s*", re.IGNORECASE)
_COLUMNS = re.compile(r"\s*show\s+columns\s+(?:in|from)\s+(\w+)\s*;?\s*", re.IGNORECASE)
_MISSING = re.compile(
    r'column "(?:[^"]*?\.)?(\w+)" (?:not found|referenced that exists in the SELECT)'
    r'|does not have a column named "(\w+)"',
    re.IGNORECASE,
)


def statement(query: str) -> Translated | None:
    """DESCRIBE and SHOW of what there is, as a SELECT of what Spark answers; None: the query is not one of them."""
    if (found := _DESCRIBE.fullmatch(query)) and (name := found[1].lower()) in columns():
        holds = {column.name: column.holds for view in VIEWS if view.name == name for column in view.columns}
        rows = [(column, kind, holds.get(column)) for column, kind in columns()[name].items()]
        return _listed("col_name, data_type, comment", rows)
    if (found := _COLUMNS.fullmatch(query)) and found[1].lower() in columns():
        return _listed("col_name", [(column,) for column in columns()[found[1].lower()]])
    if found := _SHOW.fullmatch(query):
        what = "viewName" if found[1].lower() == "views" else "tableName"
        return _listed(f"namespace, {what}, isTemporary", [("", name, True) for name in sorted(NAMES)])
    return None


def _listed(names: str, rows: Iterable[Sequence[str | bool | None]]) -> Translated:
    def literal(value: str | bool | None) -> str:
        return f"'{quoted(value)}'" if isinstance(value, str) else "NULL" if value is None else str(value)

    values = ", ".join(f"({', '.join(map(literal, row))})" for row in rows)
    return Translated(f"SELECT * FROM (VALUES {values}) AS listed({names})", ())


def _check_column(error: Exception, query: str) -> None:
    """Raises NoSuchName: the query names a column that is not there."""
    if isinstance(error, duckdb.BinderException) and (found := _MISSING.search(str(error))):
        raise known_equal.no_such_column(query, found[1] or found[2], columns()) from None


def _reason(error: Exception) -> str:
    said = " ".join(str(error).split("\n\n")[0].split())[:200]
    # DuckDB puts this before the sentence with which a macro refuses a value.
    return said.removeprefix("Invalid Input Error: ")
