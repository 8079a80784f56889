"""Rows of the quarantine for delta-rs: of effects that are marked so, and of lines that could not be understood.

Knows which column holds what; must not know why something is unfit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.schemas.tables import QUARANTINE

EFFECT_COLUMN = {
    "received_at_ms": "received_at_ms",
    "group_id": "group_id",
    "reason": "cause",
    "raw": "detail",
    "at_ms": "at_ms",
}
"""By column of the quarantine, the column of a quarantined effect row with its value; `source` is the batch's."""


def quarantine_rows(effects: pa.Table, source: str) -> pa.Table:
    """A batch's rows that `effect_rows.QUARANTINED` marks, for delta-rs. source: where their requests came from."""
    columns = {name: effects[column] for name, column in EFFECT_COLUMN.items()}
    columns["source"] = pa.array([source] * effects.num_rows, pa.string())
    return pa.table(columns).select(QUARANTINE.names).cast(QUARANTINE.arrow)


def quarantine_of_lines(unfit: Sequence[Quarantined]) -> pa.Table:
    """Lines of a log that could not be decoded, without a time and a group."""
    return pa.Table.from_pylist([quarantine_row(line) for line in unfit], schema=QUARANTINE.arrow)


def quarantine_row(line: Quarantined) -> dict[str, Any]:
    source, now_ms = f"{line.file} line {line.line}", int(time.time() * 1000)
    return {"source": source, "reason": line.reason, "raw": line.text, "at_ms": now_ms}
