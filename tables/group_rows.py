"""One group's rows of the effects table, read from this machine's disk without Spark.

The statistics of Parquet's row groups and the partitions by day keep rows of other groups and other days unread. Knows
the columns that a reader chooses rows by; must not know what a row means, nor load pyarrow or deltalake.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import duckdb

from schemas.tables import EFFECTS
from tables.duck_database import files_of, open_database, rows_of
from tables.readable_files import readable

LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the latest day there is a date for."""


class GroupRows:
    """The rows of one group as of the moment this is made. Raises DeltaLogError: there is no table."""

    def __init__(self, effects: str, group_id: str) -> None:
        self._database = open_database()
        self._group_id = group_id
        self._files = files_of(Path(effects), self._database)

    def is_empty(self) -> bool:
        return not self._ask("SELECT 1 FROM {rows} WHERE group_id = $group_id LIMIT 1")

    def groups(self) -> list[str]:
        """Every group that the table has rows of, this one or not, in no order."""
        asked = "SELECT DISTINCT group_id FROM {rows} WHERE $group_id IS NOT NULL AND group_id IS NOT NULL"
        return [row[0] for row in self._ask(asked)]

    def read(self, columns: Sequence[str], effects: Sequence[str], from_ms: int, to_ms: int) -> list[dict[str, Any]]:
        """The rows of these effects from one moment to another, both included, in no order."""
        asked = (
            f"SELECT {', '.join(columns)} FROM {{rows}} WHERE group_id = $group_id AND list_contains($effects, effect) "
            "AND at_ms BETWEEN $from_ms AND $to_ms AND at_date BETWEEN $from_day AND $to_day"
        )
        days = {"from_day": day_of(from_ms), "to_day": day_of(to_ms)}
        found = self._ask(asked, effects=[str(one) for one in effects], from_ms=from_ms, to_ms=to_ms, **days)
        return [dict(zip(columns, row, strict=True)) for row in found]

    def last_ms(self) -> int:
        """When the latest row happened. The group must have one."""
        ((found,),) = self._ask("SELECT max(at_ms) FROM {rows} WHERE group_id = $group_id")
        return int(found)

    def _ask(self, asked: str, **given: Any) -> list[tuple[Any, ...]]:
        if not self._files:
            return []
        rows = rows_of(self._files, EFFECTS)
        try:
            return self._database.execute(asked.format(rows=rows), {"group_id": self._group_id, **given}).fetchall()
        except duckdb.Error:
            files, self._files = self._files, readable(self._files)
            if self._files == files:
                raise
            return self._ask(asked, **given)


def day_of(at_ms: int) -> date:
    """The day of a moment as the column at_date has it: UTC's; the nearest there is for a moment without one."""
    return datetime.fromtimestamp(min(max(at_ms, 0), LAST_MS) / 1000, UTC).date()
