"""What both engines answer, and where what they are asked lies.

Knows how either is asked; must not know any query.
"""

from __future__ import annotations

import io
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from duck_sql.engine import ask
from jobs.shown import answers
from jobs.shown.plain_answers import write_answer

ASKED = Path(__file__).parent / "asked"
DATA = """
  select 1 as i, 10000000000 as b, 'alpha-1' as s, timestamp'2026-02-28 23:59:59.999' as t, date'2024-02-29' as d,
    true as f, array('x', null, 'y') as a, 0.25 as q, cast(2.5 as double) as z
  union all select -7, -3, 'Beta 22', timestamp'2026-11-21 05:38:55.036', date'2026-12-31', false, array(), 1.75,
    cast(-2.675 as double)
  union all select 3, 0, '', timestamp'2024-02-29 00:00:00', date'1999-01-01', null, array('z'), 0.00,
    cast(0.1 as double)
  union all select null, null, null, null, null, null, null, null, null
  union all select 3, 7, 'o\\'Neil_%', timestamp'1970-01-01 00:00:00.001', date'1970-01-01', true, array('b', 'a', 'b'),
    12.50, cast(1234567.891 as double)
"""


def lines(name: str) -> list[str]:
    return [line for line in (ASKED / f"{name}.sql").read_text().splitlines() if not line.startswith("--")]


def over_data(query: str) -> str:
    """A query over the table d."""
    if query.lower().startswith("with "):
        return f"with d as ({DATA}), {query[5:]}"
    return f"with d as ({DATA}) {query}"


def types_of(found: DataFrame) -> list[tuple[str, str]]:
    return [(field.name, field.dataType.simpleString()) for field in found.schema.fields]


def by_spark(found: DataFrame, form: str = "json") -> list[str]:
    out = io.StringIO()
    answers.write_answer(found, form, out)
    return out.getvalue().splitlines()


def by_duckdb(
    home: Path, query: str, form: str = "json", until_ms: int | None = None
) -> tuple[list[tuple[str, str]], list[str]]:
    out, limit = io.StringIO(), 1001 if form == "table" else None
    answer = ask(home, query, until_ms, limit)
    write_answer(answer, form, out)
    return [(column.name, column.type.shown) for column in answer.columns], out.getvalue().splitlines()


def assert_equal(spark: SparkSession, home: Path, query: str, form: str = "json") -> None:
    found = spark.sql(query)
    types, rows = by_duckdb(home, query, form)
    assert types == types_of(found)
    is_ordered = "order by" in query.lower()
    theirs = by_spark(found, form)
    assert rows == theirs if is_ordered else sorted(rows) == sorted(theirs)
