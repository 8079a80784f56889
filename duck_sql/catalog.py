"""A home's tables and views as DuckDB's, made out of the one definition that `views` has of each.

Knows how a view's Spark SQL is handed to the translation, and that its columns get the types it declares. Must not know
where a home is.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from duck_sql.dialect import parsed
from duck_sql.queries import Queries
from duck_sql.relations import Column, Relation
from duck_sql.terms import NotProven, Term, cast
from duck_sql.types import TIMESTAMP, Type, named, quoted
from schemas.tables import Column as Declared
from tables.duck_database import rows_of
from views.catalog import VIEWS
from views.tables import TABLE_VIEWS, TableView
from views.view import View

# What the texts of terms call beside DuckDB's own functions.
MACROS = (
    # Towards minus infinity, as Spark cuts moments before 1970.
    "CREATE MACRO floored(a, b) AS (a // b) - CASE WHEN a < 0 AND a % b <> 0 THEN 1 ELSE 0 END",
    # What lies at a share of a sorted list's length, between two values in proportion.
    "CREATE MACRO between_two(place, low, high) AS CASE WHEN low = high THEN low ELSE "
    "(ceil(place) - place) * low + (place - floor(place)) * high END",
    "CREATE MACRO interpolated(l, p) AS CASE WHEN len(l) > 0 THEN between_two((len(l) - 1) * p, "
    "l[CAST(floor((len(l) - 1) * p) AS BIGINT) + 1], l[CAST(ceil((len(l) - 1) * p) AS BIGINT) + 1]) END",
    # The nearest whole number of a / b, halves away from zero.
    "CREATE MACRO half_up(a, b) AS (CASE WHEN (a < 0) = (b < 0) THEN 1 ELSE -1 END * ((2 * abs(a) + abs(b)) // (2 * "
    "CASE WHEN b = 0 THEN error('division by zero') ELSE abs(b) END)))",
)


def relations() -> dict[str, Relation]:
    """Every table and view, as a query may name it."""
    return {
        name: Relation(quoted(name), tuple(Column(c.name, c.name, type_of(c)) for c in columns))
        for name, columns in declared().items()
    }


def declared() -> dict[str, tuple[Declared, ...]]:
    """The columns of every table and view."""
    tables = {table.name: table.columns for table in TABLE_VIEWS}
    return tables | {view.name: view.columns for view in VIEWS}


def type_of(column: Declared) -> Type:
    kind = named(column.type)
    if kind is None:
        raise NotProven(f"the type {column.type}")
    return kind


def statements(names: Collection[str], files: dict[str, list[str]], until_ms: int | None) -> Iterable[str]:
    """What makes the named tables and views. files: by table, the live ones. until_ms: as they were then."""
    for table in TABLE_VIEWS:
        if table.name in names:
            yield _of_table(table, files.get(table.name, []), until_ms)
    known = relations()
    for view in VIEWS:
        if view.name in names:
            yield f"CREATE VIEW {quoted(view.name)} AS {of_view(view, known).sql}"


def _of_table(table: TableView, files: list[str], until_ms: int | None) -> str:
    own = [(column.name, type_of(column)) for column in table.columns[: len(table.table.columns)]]
    times = [f"make_timestamp({of_ms} * 1000) AS {quoted(name)}" for name, of_ms in table.times]
    if files:
        source = rows_of(files, table.table)
        columns = [quoted(name) for name, _ in own]
    else:
        source = "(SELECT 1) WHERE false"
        columns = [f"CAST(NULL AS {kind.duck}) AS {quoted(name)}" for name, kind in own]
        times = [f"CAST(NULL AS {TIMESTAMP.duck}) AS {quoted(name)}" for name, _ in table.times]
    until = ""
    if until_ms is not None and files:
        until = f" WHERE {table.moment} <= {until_ms}"
        if "at_date" in table.table.names:
            until += f" AND at_date <= CAST(make_timestamp({until_ms} * 1000) AS DATE)"
    return f"CREATE VIEW {quoted(table.name)} AS SELECT {', '.join([*columns, *times])} FROM {source}{until}"


def of_view(view: View, known: dict[str, Relation]) -> Relation:
    """A view's query, its columns named and typed as it declares. Raises NotProven."""
    found = Queries(is_inner=True).query(parsed(view.sql), known)
    if len(found.columns) != len(view.columns):
        raise NotProven(f"{view.name}, whose columns are others")
    texts = [
        f"{cast(Term(quoted(own.own), own.type), type_of(column)).sql} AS {quoted(column.name)}"
        for own, column in zip(found.columns, view.columns, strict=True)
    ]
    return Relation(f"SELECT {', '.join(texts)} FROM ({found.sql}) AS v", found.columns)
