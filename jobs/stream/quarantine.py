"""Rows of the quarantine, of what a batch could not apply.

Knows which column holds what; must not know why something is unfit.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from rollcall.inputs.quarantined import EFFECT_COLUMN
from rollcall.schemas.tables import QUARANTINE


def quarantine_frame(effects: DataFrame, source: str) -> DataFrame:
    """A batch's rows that `effect_rows.QUARANTINED` marks, as `quarantined.quarantine_rows` has them."""
    columns = {name: F.col(column) for name, column in EFFECT_COLUMN.items()} | {"source": F.lit(source)}
    return effects.select([columns[name].alias(name) for name in QUARANTINE.names])
