"""Rows of the quarantine, from whatever could not be applied: a batch's quarantined rows, or lines of a log.

Knows which column holds what; must not know why something is unfit.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from request_log.recorded import Quarantined
from schemas.tables import QUARANTINE

_EFFECT_COLUMN = {
    "received_at_ms": "received_at_ms",
    "group_id": "group_id",
    "reason": "cause",
    "raw": "detail",
    "at_ms": "at_ms",
}
"""By the quarantine's column, the column of a quarantined effect row that holds it; `source` is the batch's own."""


def quarantine_rows(effects: pa.Table, source: str) -> pa.Table:
    """A batch's rows that `effect_rows.QUARANTINED` marks, for delta-rs. source: where their requests came from."""
    columns = {name: effects[column] for name, column in _EFFECT_COLUMN.items()}
    columns["source"] = pa.array([source] * effects.num_rows, pa.string())
    return pa.table(columns).select(QUARANTINE.names).cast(QUARANTINE.arrow)


def quarantine_frame(effects: DataFrame, source: str) -> DataFrame:
    """The same for Spark."""
    columns = {name: F.col(column) for name, column in _EFFECT_COLUMN.items()} | {"source": F.lit(source)}
    return effects.select([columns[name].alias(name) for name in QUARANTINE.names])


def quarantine_of_lines(unfit: Sequence[Quarantined]) -> pa.Table:
    """Lines of a log that could not be understood; no moment and no group can be read from them."""
    now_ms = int(time.time() * 1000)
    rows = [
        {"source": f"{line.file} line {line.line}", "reason": line.reason, "raw": line.text, "at_ms": now_ms}
        for line in unfit
    ]
    return pa.Table.from_pylist(rows, schema=QUARANTINE.arrow)
