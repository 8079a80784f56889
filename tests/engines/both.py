"""What is asked of both engines, where Spark's answers to it are kept, and how an answer of either is written.

Knows the files beside it. Must not know any query.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from duck_sql.engine import ask
from jobs.shown.plain_answers import write_answer

ASKED = Path(__file__).parent / "asked"
FILES = ("on_call", "analysts", "queries", "expressions", "aggregates", "windows")
"""What both engines answer alike; `to_spark` is asked of DuckDB alone, which must not answer it."""
MOMENTS = (0.2, 0.55, 0.9)
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
    match name:
        case "expressions":
            parts = (line.partition(" WHERE ") for line in lines(name))
            return [f"select b, {what} as r from d where {where or 'true'} order by b" for what, _, where in parts]
        case "aggregates":
            return [f"select f, {line} as r from d group by f order by f" for line in lines(name)]
        case "windows":
            return [f"select b, {line} as r from d order by b" for line in lines(name)]
    return lines(name)


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
    out = io.StringIO()
    answer = ask(home, query, until_ms)
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
