"""The SQL box: one query in Spark's SQL over the home's views, answered by DuckDB, bounded in rows and in time.

Only what the translation knows is run, so a query reaches the views and no file, setting or network. Knows how a query
is refused; must not know a template.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from duck_sql import catalog
from duck_sql.dialect import parsed
from duck_sql.queries import Queries
from duck_sql.selects import shown
from duck_sql.statements import answer_to
from duck_sql.terms import NoSuchName, NotProven
from page.history import History
from programs.errors import UserError

MOST_ROWS = 10_000
LONGEST_S = 30.0
LONGEST_QUERY = 20_000
# What a spreadsheet would take for a formula when it opens a CSV file.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class QueryRefused(UserError):
    """A query that is not answered; the text is one sentence that says why, and what can be done."""


@dataclass(frozen=True)
class Answer:
    """An answer's columns and rows."""

    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]
    is_cut: bool
    """Whether there are more rows than MOST_ROWS."""


def answer(history: History, query: str, until_ms: int | None, longest_s: float = LONGEST_S) -> Answer:
    """Answers a query. Raises QueryRefused, in this order: too long, it would write or is not proven, too slow."""
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query has {len(query)} characters, and {LONGEST_QUERY} are the most.")
    try:
        told = answer_to(query)
        if told is not None:
            names, listed = told
            return Answer([name for name, *_ in names], list(listed), False)
        relation = shown(Queries().query(parsed(query), catalog.relations()))
    except NotProven as error:
        raise QueryRefused(f"The page does not answer {error}. make sql answers it, by Spark.") from None
    except NoSuchName as error:
        raise QueryRefused(str(error)) from None
    rows = history.rows_of(query, f"SELECT * FROM ({relation.sql}) LIMIT {MOST_ROWS + 1}", until_ms, longest_s)
    if rows is None:
        raise QueryRefused(f"The query was stopped after {longest_s:g} s. make sql has no such limit.")
    return Answer([column.name for column in relation.columns], rows[:MOST_ROWS], len(rows) > MOST_ROWS)


def as_csv(found: Answer) -> str:
    """As a file of comma-separated values; an apostrophe stands before what a spreadsheet takes for a formula."""
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([_cell(name) for name in found.columns])
    writer.writerows([_cell(value) for value in row] for row in found.rows)
    return out.getvalue()


def as_json(found: Answer) -> str:
    """One object a line; timestamps in ISO 8601, UTC."""
    lines = (json.dumps(dict(zip(found.columns, map(_plain, row), strict=True))) for row in found.rows)
    return "".join(f"{line}\n" for line in lines)


def _cell(value: Any) -> Any:
    plain = _plain(value)
    if isinstance(plain, list | dict):
        plain = json.dumps(plain)
    return f"'{plain}" if isinstance(plain, str) and plain.startswith(_FORMULA) else plain


def _plain(value: Any) -> Any:
    match value:
        case datetime():
            return f"{value.isoformat(timespec='milliseconds')}Z"
        case date():
            return value.isoformat()
        case Decimal():
            return float(value)
        case list() | tuple():
            return [_plain(one) for one in value]
        case dict():
            return {name: _plain(one) for name, one in value.items()}
        case bytes():
            return value.hex()
        case _:
            return value
