"""One query in Spark's SQL over a home's views, as the SQL box shows it: answered by DuckDB, bounded in size.

Only what the translation knows is run, in a database that reads only the home's files: see
`rollcall.answers.sql.engine`. The caller limits its time and memory: see `rollcall.serve.page.sql_processes`. Knows how
a query is refused and how much of its answer is written; must not know a template.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
from markupsafe import Markup, escape

from rollcall.answers.sql.engine import Answer, NoSuchName, NotEqual, NotParsed, NotSelect, ask
from rollcall.answers.sql.written import csv_lines, for_people, json_lines
from rollcall.programs.errors import UserError
from rollcall.serve.page import shown

MOST_ROWS = 10_000
MOST_COLUMNS = 500
MOST_CELLS = 500_000
MOST_BYTES = 16_000_000
"""An answer's rows end before it is longer than this, as text."""
LONGEST_QUERY = 20_000


class QueryRefused(UserError):
    """A query that is not answered; the text is one sentence with the reason and what can be done."""


@dataclass(frozen=True)
class Written:
    """An answer as text."""

    body: bytes
    row_count: int
    is_cut: bool
    """Whether there are more rows than were written."""


def answer(home: Path, query: str, until_ms: int | None, form: str) -> Written:
    """Answers a query. form: one of FORMS.

    Raises QueryRefused, in this order: too long, it would write or has no known translation, an unknown name,
    too many columns, a row that is too long, more memory than there is.
    """
    if len(query) > LONGEST_QUERY:
        raise QueryRefused(f"The query has {len(query)} characters, and {LONGEST_QUERY} are the most.")
    try:
        found = ask(home, query, until_ms, MOST_ROWS + 1)
        if len(found.columns) > MOST_COLUMNS:
            raise QueryRefused(f"The answer has {len(found.columns)} columns, and {MOST_COLUMNS} are the most.")
        return _written(FORMS[form], found)
    except NotParsed as error:
        raise QueryRefused(str(error)) from None
    except NotSelect:
        raise QueryRefused("Only SELECT statements are allowed.") from None
    except NotEqual as error:
        if isinstance(error.__context__, duckdb.OutOfMemoryException):
            raise _too_large() from None
        because = str(error).rstrip(".")
        raise QueryRefused(f"This needs Spark, because of {because}: use rollcall sql --engine spark.") from None
    except NoSuchName as error:
        raise QueryRefused(str(error)) from None
    except RecursionError:
        raise QueryRefused("The query is nested too deeply.") from None
    except (MemoryError, duckdb.OutOfMemoryException):
        raise _too_large() from None


def _too_large() -> QueryRefused:
    return QueryRefused("The query needs more memory than the page gives to one. rollcall sql has no such limit.")


Form = Callable[[Answer], Iterator[str]]
"""An answer -> its head, then each row's text."""


def _written(form: Form, found: Answer) -> Written:
    most_rows = min(MOST_ROWS, MOST_CELLS // max(len(found.columns), 1))
    texts = form(found)
    parts = [next(texts).encode()]
    room_bytes = MOST_BYTES
    for text in texts:
        part = text.encode("utf-8", "replace")
        room_bytes -= len(part)
        if len(parts) > most_rows or (room_bytes < 0 and len(parts) > 1):
            return Written(b"".join(parts), len(parts) - 1, True)
        if room_bytes < 0:
            raise QueryRefused(f"A row of the answer is longer than {MOST_BYTES} bytes.")
        parts.append(part)
    return Written(b"".join(parts), len(parts) - 1, False)


def _as_html(found: Answer) -> Iterator[str]:
    """Head and rows of a table; every text is escaped."""
    names = Markup().join(
        Markup('<th scope="col"><button>{}</button></th>').format(shown.shortened(column.name))
        for column in found.columns
    )
    yield f"<thead><tr>{names}</tr></thead>"
    writers = [for_people(column.type) for column in found.columns]
    for row in found.rows:
        cells = (escape(shown.cell(value, write)) for write, value in zip(writers, row, strict=True))
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _as_json(found: Answer) -> Iterator[str]:
    return itertools.chain([""], json_lines(found))


FORMS: dict[str, Form] = {"html": _as_html, "csv": csv_lines, "json": _as_json}
