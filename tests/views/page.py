"""docs/views.md: what each view's row is, each column with its type, and the rule it is made by.

    make derived

Written from the views themselves; a test fails when the page is not what this prints.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rollcall.answers.views.catalog import VIEWS
from rollcall.answers.views.view import Column, View
from rollcall.history.sentences import Terms
from rollcall.history.words import filled
from rollcall.schemas.causes import CAUSES
from rollcall.schemas.tables import TABLES

ANYBODY = Terms("a member")._asdict()
SAME = "the same."
_HEAD = """\
# The views

The views that `make sql` and `rollcall.cli.sql.register_views` give, for any home.
Every view reads the facts in the effects table (see decisions/0004-views-stand-on-facts.md); those of lag also read
`log_ends` and `fetches`. So a view is as new as the job's last commit, also in a session that stays open.

- A time is a TIMESTAMP; `make sql` shows all of them in UTC. A duration is a BIGINT of milliseconds, named `..._ms`.
- Groups of either protocol stand in the same views; each says what its row means for a consumer group (KIP-848).
- An array of members holds client ids; a static member without one is named by its instance id.
- The detectors (`storms` to `unconsumed`) look for trouble. Each section gives the whole rule, with its thresholds.
- [Causes](#causes) says what each cause means.
- `make sql AT="2026-03-01 03:12"`, or `register_views(spark, home, at="2026-03-01 03:12")`, shows every view as it was
  at the end of that millisecond, from the facts up to then: `groups` and `members` of any moment.
- `make sql` asks DuckDB if the query is known to give Spark's result. Other queries need `ENGINE=spark`: see
  [decision 8](decisions/0008-duckdb-answers-spark-sql.md).
- Filter by `group_id`, and by `at_date` if the view has it: files without them are skipped.
"""


def page(views: Sequence[View] = VIEWS) -> str:
    """The whole page, in Markdown."""
    parts = [_HEAD, "\n".join(f"- [{view.name}](#{view.name}): {view.row}" for view in views) + "\n"]
    for view in views:
        meant = f"\n\nOf a consumer group: {view.of_consumers or SAME}"
        worth = f" {view.detector.worth_said}" if view.detector is not None and view.detector.worth_said else ""
        parts.append(f"## {view.name}\n\nOne row is {view.row}. {view.rule}{worth}{meant}\n\n{_columns(view.columns)}")
    parts.append(f"## Causes\n\n{_causes()}")
    parts.append("## A home's own tables\n")
    for table in TABLES:
        parts.append(f"### {table.name}\n\nOne row is {table.row}.\n\n{_columns(table.shown_columns)}")
    return "\n".join(parts)


def _columns(columns: Iterable[Column]) -> str:
    rows = [f"| `{column.name}` | {column.type.upper()} | {column.holds} |" for column in columns]
    return "\n".join(["| column | type | what it holds |", "|---|---|---|", *rows, ""])


def _causes() -> str:
    """The values of `cause` and `end_cause`, a row each."""
    rows = [
        f"| `{key}` | {filled(row.sentence, ANYBODY)} | {'yes' if row.colour else 'no'} | "
        f"{'yes' if row.ends else 'no'} | {row.inferred_from} |"
        for key, row in CAUSES.items()
    ]
    head = "| cause | what happened | sets a rebalance off | ends a membership | may be inferred from |"
    return "\n".join([head, "|---|---|---|---|---|", *rows, ""])
