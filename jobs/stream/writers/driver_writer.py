"""The driver's writer: a batch's effects come to the driver as texts, Arrow gives them types.

On one machine this takes a third of the time of Spark's own sink. Knows Arrow, and how many rows a batch may
have; must not know what an effect means.
"""

from __future__ import annotations

from concurrent.futures import Future

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame

from rollcall.inputs.quarantined import quarantine_rows
from rollcall.jobs.config import PREFIX, JobConfig
from rollcall.jobs.stream.writers.batch_result import BatchResult, BatchTooLarge
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import QUARANTINED, apart
from rollcall.tables.appending import OpenTable, append_once
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_effects, open_quarantine
from rollcall.tables.rows import typed_rows


class DriverWriter:
    """Appends each batch once; see `rollcall.jobs.stream.writers.Writer`."""

    def __init__(self, home: Home, config: JobConfig) -> None:
        """Writes to a home's tables, and creates them."""
        self.config = config
        self.query_id: Future[str] = Future()
        self.effects = open_effects(home, config.versions_retention_minutes)
        self.quarantine = open_quarantine(home, config.versions_retention_minutes)

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult:
        """Writes a batch. Raises BatchTooLarge, before anything is written."""
        texts, waits = apart(batch.toArrow()["effects"].to_pylist())
        rows = typed_rows(texts)
        if rows.num_rows > self.config.effects_max_rows:
            raise BatchTooLarge(
                f"batch {batch_id} has {rows.num_rows} effects, and {PREFIX}effects.max.rows.per.batch is "
                f"{self.config.effects_max_rows}: lower {PREFIX}source.max.requests.per.batch, or write with "
                f"{PREFIX}effects.writer=cluster"
            )
        if not rows.num_rows:
            return BatchResult(batch_id, 0, 0, waits=tuple(waits))
        facts, unfit = rows, 0
        is_quarantined = pc.equal(rows["effect"], QUARANTINED)
        if pc.any(is_quarantined).as_py():
            facts = rows.filter(pc.invert(is_quarantined))
            unfit = rows.num_rows - facts.num_rows
            self._append(self.quarantine, quarantine_rows(rows.filter(is_quarantined), self.config.source), batch_id)
        self._append(self.effects, facts, batch_id)
        put_off = facts.filter(pc.equal(facts["effect"], EffectName.REQUESTS_PUT_OFF.value))["group_id"]
        return BatchResult(batch_id, facts.num_rows, unfit, tuple(put_off.to_pylist()), tuple(waits))

    def _append(self, table: OpenTable, rows: pa.Table, batch_id: int) -> None:
        """One commit that carries the batch's number; none if there are no rows or the table has this batch already."""
        if rows.num_rows:
            has_upkeep = self.config.upkeep_interval_ms > 0
            append_once(table, rows, self.query_id.result(), batch_id, has_upkeep=has_upkeep)
