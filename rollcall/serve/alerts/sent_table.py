"""What was sent of a home's alarms, as a table of the home, on which the view `alerts` stands.

Each that was sent has a number, and a commit carries that of its last row: whenever the program is killed, none is
there twice. Knows the columns; must not know when anything is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from msgspec.structs import asdict

from rollcall.schemas.tables import ALERTS
from rollcall.serve.alerts.alarm import Sent
from rollcall.tables.appending import OpenTable, append_once, last_number, open_table
from rollcall.tables.properties import table_properties
from rollcall.tables.versions import is_table

WRITER = "rollcall-alerts"


class SentTable:
    """Made with the first row. Raises DeltaError: it cannot be read."""

    def __init__(self, home: Path) -> None:
        self._path = home / ALERTS.name
        self._table: OpenTable | None = None
        self.count = (last_number(str(self._path), WRITER) or 0) if is_table(self._path) else 0
        """How many were added ever."""

    def add(self, sent: Sequence[Sent], count: int) -> None:
        """sent: the last of all that were, which are `count`. Raises OSError, DeltaError: not just now."""
        if count <= self.count:
            return
        if self._table is None:
            self._table = open_table(self._path, ALERTS, table_properties())
        append_once(self._table, rows_of(sent[-(count - self.count) :]), WRITER, count, has_upkeep=False)
        self.count = count


def rows_of(sent: Sequence[Sent]) -> pa.Table:
    """Rows of ALERTS: the columns are named like the fields, but for the alarm's id."""
    rows = [
        asdict(one.alarm) | asdict(one) | {"alarm_id": one.alarm.id, "group_id": one.alarm.group_id or None}
        for one in sent
    ]
    return pa.Table.from_pylist(rows, schema=ALERTS.arrow)
