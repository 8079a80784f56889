"""The rows of a home's views as DuckDB answers them, for tests. Must not know Spark."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from duck_sql.engine import ask
from jobs.shown.plain_answers import write_answer


def rows_of(home: Path, view: str) -> list[dict[str, Any]]:
    """A view's rows, in no order."""
    out = io.StringIO()
    write_answer(ask(home, f"select * from {view}", None, None), "json", out)
    return [json.loads(line) for line in out.getvalue().splitlines()]


def without_ids(rows: list[dict[str, Any]]) -> list[str]:
    """Rows as texts that compare, whatever ids the requests in them had."""
    return sorted(json.dumps({name: value for name, value in row.items() if name != "request_id"}) for row in rows)
