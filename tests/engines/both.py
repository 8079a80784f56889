"""What is asked of both engines, where Spark's answers to it are kept, and how an answer of either is written.

Knows the files beside it. Must not know any query.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rollcall.answers.sql.engine import Answer, AnswerColumn, ask
from rollcall.shown.plain_answers import write_answer

ASKED = Path(__file__).parent / "asked"
FILES = ("on_call", "analysts", "queries", "expressions", "aggregates", "windows")
"""What both engines answer alike; `to_spark` is asked of DuckDB alone, which must not answer it."""
MOMENTS = (0.2, 0.55, 0.9)
SHARES = 8
"""The number of parts in which a file of whole queries is asked; tests/sample.txt names one part."""
_MOST_ROWS = 40
_DATA = """
  select 1 as i, 10000000000 as b, 'alpha-1' as s, timestamp'2026-02-28 23:59:59.999' as t, date'2024-02-29' as d,
    true as f, array('x', null, 'y') as a, 1 / 4 as q, 5 / 2 as z
  union all select -7, -3, 'Beta 22', timestamp'2026-11-21 05:38:55.036', date'2026-12-31', false, array(), 7 / 4,
    -2675 / 1000
  union all select 3, 0, '', timestamp'2024-02-29 00:00:00', date'1999-01-01', null, array('z'), 0 / 4, 1 / 10
  union all select null, null, null, null, null, null, null, null, null
  union all select 3, 7, "o'Neil_%", timestamp'1970-01-01 00:00:00.001', date'1970-01-01', true, array('b', 'a', 'b'),
    25 / 2, 1234567891 / 1000
"""


def lines(name: str) -> list[str]:
    """The lines of a file of `asked`, without its comments."""
    return [line for line in (ASKED / f"{name}.sql").read_text().splitlines() if line and not line.startswith("--")]


def queries(name: str) -> list[str]:
    """What a file of `asked` asks, each as one whole query."""
    return [f"select {key}, {what} as r from d {rest}" for key, what, rest in _expressions(name)] or lines(name)


def _expressions(name: str) -> list[tuple[str, str, str]]:
    """Of a file of expressions over the table d: the column beside each, itself, and what follows; else none."""
    match name:
        case "expressions":
            parts = (line.partition(" WHERE ") for line in lines(name))
            return [("b", what, f"where {where or 'true'} order by b") for what, _, where in parts]
        case "aggregates":
            return [("f", line, "group by f order by f") for line in lines(name)]
        case "windows":
            return [("b", line, "order by b") for line in lines(name)]
    return []


def over_data(query: str) -> str:
    """A query with what it reads from, where that is the table d."""
    if not re.search(r"\b(from|join|table) d\b", query):
        return query
    if query.lower().startswith("with "):
        return f"with d as ({_DATA}), {query[5:]}"
    return f"with d as ({_DATA}) {query}"


# ---------------------------------------------------------------- answers

Kept = dict[str, Any]
"""An answer as it is kept: `names` and `rows`, or for many rows `count` and `digest`."""


def kept_of(query: str, names: Sequence[str], rows: Sequence[str]) -> Kept:
    """rows: in JSON."""
    in_order = list(rows) if "order by" in query.lower() else sorted(rows)
    if len(in_order) <= _MOST_ROWS:
        return {"names": list(names), "rows": in_order}
    return {"names": list(names), "count": len(in_order), "digest": digest(in_order)}


def digest(rows: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(rows).encode()).hexdigest()[:16]


def view_kept(rows: Sequence[str]) -> Kept:
    """A view's rows, by the recording that they are about: how many, and their digest."""
    found: dict[str, list[str]] = {}
    for row in sorted(rows):
        group = re.search(r'"group_id":"([^/ "]+ ?[^/ "]*)', row)
        found.setdefault(group[1] if group else "", []).append(row)
    return {name: [len(of_one), digest(of_one)] for name, of_one in found.items()}


def by_duckdb(home: Path, query: str, until_ms: int | None = None) -> tuple[list[str], list[str]]:
    """The columns' names, and the rows in JSON. Raises NotEqual, NoSuchName."""
    return _in_json(ask(home, query, until_ms))


def shares(name: str) -> range:
    """The parts of a file of `asked`: one where its expressions are asked in a few queries."""
    return range(1 if _expressions(name) else SHARES)


def share_of(name: str, share: int) -> list[str]:
    """The queries of one part of a file of `asked`."""
    return queries(name)[share :: len(shares(name))]


def each_by_duckdb(home: Path, name: str, share: int) -> Iterator[tuple[str, Kept]]:
    """Each query of a part of a file of `asked` and its answer, as it is kept.

    Expressions that are over the same rows are asked in one query: to begin one takes longer than to answer it.
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for key, what, rest in _expressions(name):
        alike.setdefault((key, rest), []).append(what)
    for (key, rest), asked in alike.items():
        each = ", ".join(f"{what} as r{number}" for number, what in enumerate(asked))
        answer = ask(home, over_data(f"select {key}, {each} from d {rest}"))
        rows = list(answer.rows)
        for place, what in enumerate(asked, 1):
            made = answer.columns[0], AnswerColumn("r", answer.columns[place].type)
            query = f"select {key}, {what} as r from d {rest}"
            yield query, kept_of(query, *_in_json(Answer(made, ((row[0], row[place]) for row in rows))))
    if not alike:
        for query in share_of(name, share):
            yield query, kept_of(query, *by_duckdb(home, over_data(query)))


def _in_json(answer: Answer) -> tuple[list[str], list[str]]:
    out = io.StringIO()
    write_answer(answer, "json", out)
    return [column.name for column in answer.columns], out.getvalue().splitlines()


def moments(home: Path) -> list[int | None]:
    """The moments as of which views are asked, the present among them, ms."""
    times = [row[0] for row in ask(home, "select distinct at_ms from effects order by at_ms").rows]
    return [None, *(times[int(share * len(times))] for share in MOMENTS)]


def kept(name: str) -> dict[str, Kept]:
    """Spark's answers to a file of `asked`, by query."""
    path = ASKED / f"{name}.answers.jsonl"
    return dict(map(json.loads, path.read_text().splitlines())) if path.is_file() else {}


def view_question(name: str, until_ms: int | None) -> str:
    return name if until_ms is None else f"{name} at {until_ms}"
