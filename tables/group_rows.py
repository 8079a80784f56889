"""One group's rows of the effects table, read from this machine's disk without Spark.

Delta's statistics and the partitions by day keep files of other groups and other days unread. Knows the columns that a
reader chooses rows by; must not know what a row means.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime
from typing import Any

import pyarrow.compute as pc
import pyarrow.dataset as ds
from deltalake import DeltaTable

LAST_MS = 253_402_300_799_999
"""The end of the year 9999, the latest day there is a date for."""


class GroupRows:
    """The rows of one group as of the moment this is made. Raises deltalake's TableNotFoundError."""

    def __init__(self, effects: str, group_id: str) -> None:
        self._effects = DeltaTable(effects).to_pyarrow_dataset()
        self._is_the_group = ds.field("group_id") == group_id

    def is_empty(self) -> bool:
        return not self._effects.head(1, columns=["group_id"], filter=self._is_the_group).num_rows

    def groups(self) -> list[str]:
        """Every group that the table has rows of, this one or not, in no order."""
        found = pc.unique(self._effects.to_table(columns=["group_id"])["group_id"]).to_pylist()
        return [str(group_id) for group_id in found]

    def read(self, columns: Sequence[str], effects: Sequence[str], from_ms: int, to_ms: int) -> list[dict[str, Any]]:
        """The rows of these effects from one moment to another, both included, in no order."""
        at, day = ds.field("at_ms"), ds.field("at_date")
        wanted = self._is_the_group & ds.field("effect").isin(list(effects)) & (at >= from_ms) & (at <= to_ms)
        wanted &= (day >= day_of(from_ms)) & (day <= day_of(to_ms))
        rows: list[dict[str, Any]] = self._effects.to_table(columns=list(columns), filter=wanted).to_pylist()
        return rows

    def last_ms(self) -> int:
        """When the latest row happened. The group must have one."""
        return int(pc.max(self._effects.to_table(columns=["at_ms"], filter=self._is_the_group)["at_ms"]).as_py())


def day_of(at_ms: int) -> date:
    """The day of a moment as the column at_date has it: UTC's; the nearest there is for a moment without one."""
    return datetime.fromtimestamp(min(max(at_ms, 0), LAST_MS) / 1000, UTC).date()
