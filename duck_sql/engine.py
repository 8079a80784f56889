"""Asks DuckDB about a home on this machine's disk, in Spark's SQL.

Knows which tables and views a query needs. Must not know Spark, pyarrow or how an answer is printed. A query that is
not proven raises NotProven.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import duckdb

from duck_sql import catalog, statements
from duck_sql.dialect import parsed
from duck_sql.queries import Queries
from duck_sql.selects import shown
from duck_sql.terms import NotProven
from duck_sql.types import Type
from tables.delta_log import LOG_FOLDER, DeltaLogError
from tables.duck_database import files_of, open_database
from tables.readable_files import readable
from views.catalog import names_in, with_foundations
from views.tables import TABLE_VIEWS

_FETCHED = 10_000
_OF_QUERIES = (
    *(duckdb.DataError, duckdb.NotSupportedError, duckdb.InterruptException),
    *(duckdb.BinderException, duckdb.CatalogException, duckdb.ParserException),
)
"""What no file can be the cause of."""

ROWS_SHOWN = 1000
"""How many rows a table for people has at most."""


class AnswerColumn(NamedTuple):
    """A column of an answer: its name and type, as Spark has them."""

    name: str
    type: Type


@dataclass(frozen=True)
class Answer:
    """A query's answer. Timestamps are UTC without a zone, intervals microseconds, structs dicts, all else Python's."""

    columns: tuple[AnswerColumn, ...]
    rows: Iterator[Sequence[Any]]


def ask(home: Path, query: str, until_ms: int | None = None, limit: int | None = None) -> Answer:
    """Answers a query about a home, by what had happened up to and at until_ms, None: by all.

    limit: no more rows than that. Raises NotProven, NoSuchName; the whole answer is computed when this returns.
    """
    found = statements.answer_to(query)
    if found is not None:
        names, rows = found
        return Answer(tuple(AnswerColumn(*one) for one in names), iter(rows[:limit]))
    relation = shown(Queries().query(parsed(query), catalog.relations()))
    sql = relation.sql if limit is None else f"SELECT * FROM ({relation.sql}) AS answer LIMIT {limit}"
    try:
        connection, first = _begun(home, query, until_ms, sql)
    except (duckdb.Error, DeltaLogError, OSError) as error:
        raise NotProven(_reason(error)) from None
    columns = tuple(AnswerColumn(column.name, column.type) for column in relation.columns)
    return Answer(columns, _rows(connection, first))


def _begun(home: Path, query: str, until_ms: int | None, sql: str) -> tuple[duckdb.DuckDBPyConnection, list[Any]]:
    """The query under way in a database with the tables and views that it names, and its first rows."""
    names = with_foundations(names_in(query))
    there = [table for table in TABLE_VIEWS if table.name in names and (home / table.folder / LOG_FOLDER).is_dir()]
    with open_database() as database:
        files = {table.name: files_of(home / table.folder, database) for table in there}
    try:
        return _executed(sql, catalog.statements(names, files, until_ms))
    except _OF_QUERIES:
        raise
    except duckdb.Error:
        can_be_read = {name: readable(paths) for name, paths in files.items()}
        if can_be_read == files:
            raise
        return _executed(sql, catalog.statements(names, can_be_read, until_ms))


def _executed(sql: str, statements: Iterable[str]) -> tuple[duckdb.DuckDBPyConnection, list[Any]]:
    connection = open_database()
    for statement in (*catalog.MACROS, *statements, sql):
        connection.execute(statement)
    return connection, connection.fetchmany(_FETCHED)


def _rows(connection: duckdb.DuckDBPyConnection, first: list[Any]) -> Iterator[Sequence[Any]]:
    while first:
        yield from first
        first = connection.fetchmany(_FETCHED)


def _reason(error: Exception) -> str:
    return " ".join(str(error).split("\n\n")[0].split())[:200]
