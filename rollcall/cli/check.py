"""`rollcall check`: looks for impossible rows in a home, and prints each broken rule with its first rows.

Knows how it is asked and printed. Must not know a rule (`rollcall.answers.views.row_rules`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from rollcall.answers.sql.engine import ask_each
from rollcall.answers.views.row_rules import ROW_RULES, RowRule
from rollcall.cli.sql import needing_spark
from rollcall.history.words import count
from rollcall.programs.visible import visible_json
from rollcall.tables.home import Home

SHOWN = 3
"""Maximum number of rows printed for a rule."""
COUNTED = 1000

Broken = tuple[RowRule, list[dict[str, Any]]]


def broken_rules(home: Home, engine: str = "", rules: Sequence[RowRule] = ROW_RULES) -> Iterator[Broken]:
    """Yield each rule that a home breaks, with its rows: at most COUNTED.

    engine: `spark` to ask Spark, otherwise DuckDB. Raises HomeError; QueryError: DuckDB cannot answer.
    """
    queries = [rule.query for rule in rules]
    if engine == "spark":
        from rollcall.jobs.spark.answering import rows_each

        found = rows_each(home, queries, COUNTED)
    else:
        with needing_spark("--engine spark"), home.read_here() as here:
            found = [answer.rows_by_column() for answer in ask_each(here.path, queries, COUNTED)]
    for rule, rows in zip(rules, found, strict=True):
        if rows:
            yield rule, rows


def answer_check(home: Home, form: str, engine: str = "", rules: Sequence[RowRule] = ROW_RULES) -> int:
    """Print each broken rule and return their number. Raises as broken_rules does."""
    broken = list(broken_rules(home, engine, rules))
    if form == "json":
        for rule, rows in broken:
            found = {"rule": rule.name, "says": rule.says, "rows": len(rows), "first": rows[:SHOWN]}
            print(visible_json(json.dumps(found, default=str)))
        return len(broken)
    for rule, rows in broken:
        more = "at least " if len(rows) == COUNTED else ""
        print(f"{rule.name}: {rule.says} {more}{count(len(rows), 'row')} of {home.shown} cannot be, such as")
        for row in rows[:SHOWN]:
            print(f"  {visible_json(json.dumps(row, default=str))}")
    if not broken:
        print(f"{home.shown}: all {count(len(rules), 'consistency check')} passed.")
    return len(broken)
