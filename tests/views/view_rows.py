"""The rows of a home's views, as DuckDB has them: tests/engines holds that Spark has the same.

Must not know what any view says.
"""

from __future__ import annotations

import datetime
from functools import cache
from pathlib import Path
from typing import Any

from rollcall.answers.sql.engine import ask

EPOCH = datetime.datetime(1970, 1, 1)


class Row(dict[str, Any]):
    """A view's row: its columns by name, as keys and as attributes; timestamps are ms since the epoch."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the view has no column {name}") from None


class Views:
    """The views of a home, each asked once."""

    def __init__(self, home: Path) -> None:
        self.rows = cache(lambda view: rows_of(home, view))

    def __call__(self, view: str, group_id: str, *columns: str) -> list[tuple[Any, ...]]:
        """Columns of a view's rows for one group, in their order."""
        chosen = [tuple(row[name] for name in columns) for row in self.about(view, group_id)]
        return sorted(chosen, key=lambda row: [(value is not None, value) for value in row])

    def about(self, view: str, group_id: str) -> list[Row]:
        """A view's rows for one group."""
        return [row for row in self.rows(view) if row.group_id == group_id]

    def groups_in(self, view: str) -> set[str]:
        """Every group that a view has a row of."""
        return {row.group_id for row in self.rows(view)}


def rows_of(home: Path, view: str, at_ms: int | None = None) -> list[Row]:
    """Every row of a view; at_ms: as it was then."""
    answer = ask(home, f"select * from {view}", at_ms)
    names = [column.name for column in answer.columns]
    return [Row(zip(names, map(_plain, row), strict=True)) for row in answer.rows]


def _plain(value: Any) -> Any:
    if not isinstance(value, datetime.datetime):
        return value
    return round((value - EPOCH) / datetime.timedelta(milliseconds=1))
