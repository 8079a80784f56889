"""The driver's writer: a batch's effects come to the driver as texts, Arrow gives them types, delta-rs appends them.

On one machine this takes a third of the time of Spark's own Delta sink. Knows Arrow, and how many rows a batch may
have; must not know what an effect means.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Future

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pj
from deltalake import DeltaTable
from pyspark.sql import DataFrame

from jobs.config import PREFIX, JobConfig
from jobs.home import Home
from jobs.stream.home_tables import open_effects, open_quarantine
from jobs.stream.quarantine import quarantine_rows
from jobs.stream.writers.batch_result import BatchResult, BatchTooLarge
from schemas.effect_names import EffectName
from schemas.effect_rows import LINE, QUARANTINED
from schemas.tables import EFFECTS
from tables.appending import append_once

_BLOCK_BYTES = 4 << 20
_DAY_MS = 86_400_000


class DriverWriter:
    """Appends each batch once; see `jobs.stream.writers.Writer`."""

    def __init__(
        self, home: Home, config: JobConfig, source: str = "", named: Callable[[list[str]], list[str]] | None = None
    ) -> None:
        """Writes to a home's tables, which it makes. source: what the quarantine names in place of the config's.

        named: what is done to a batch's texts before.
        """
        self._named = named or list
        self.config = config
        self.source = source or config.source
        self.query_id: Future[str] = Future()
        self.effects = open_effects(home, config)
        self.quarantine = open_quarantine(home, config)

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult:
        """Writes a batch. Raises BatchTooLarge, before anything is written."""
        rows = typed_rows(self._named(batch.toArrow()["effects"].to_pylist()))
        if rows.num_rows > self.config.effects_max_rows:
            raise BatchTooLarge(
                f"batch {batch_id} has {rows.num_rows} effects, and {PREFIX}effects.max.rows.per.batch is "
                f"{self.config.effects_max_rows}: lower {PREFIX}source.max.requests.per.batch, or write with "
                f"{PREFIX}effects.writer=cluster"
            )
        if not rows.num_rows:
            return BatchResult(batch_id, 0, 0)
        facts, unfit = rows, 0
        is_quarantined = pc.equal(rows["effect"], QUARANTINED)
        if pc.any(is_quarantined).as_py():
            facts = rows.filter(pc.invert(is_quarantined))
            unfit = rows.num_rows - facts.num_rows
            self._append(self.quarantine, quarantine_rows(rows.filter(is_quarantined), self.source), batch_id)
        self._append(self.effects, facts, batch_id)
        put_off = facts.filter(pc.equal(facts["effect"], EffectName.REQUESTS_PUT_OFF.value))["group_id"]
        return BatchResult(batch_id, facts.num_rows, unfit, tuple(put_off.to_pylist()))

    def _append(self, table: DeltaTable, rows: pa.Table, batch_id: int) -> None:
        """One commit that carries the batch's number; none if there are no rows or the table has this batch already."""
        if rows.num_rows:
            has_upkeep = self.config.upkeep_interval_ms > 0
            append_once(table, rows, self.query_id.result(), batch_id, has_upkeep=has_upkeep)


def typed_rows(texts: Sequence[str]) -> pa.Table:
    """Texts of JSON lines as rows of the effects table."""
    pieces = [text.encode() for text in texts]
    if not pieces:
        return EFFECTS.arrow.empty_table()
    # Arrow's reader takes a line that lies in two of its blocks, not one that lies in three.
    longest = max((len(line) for text in pieces if len(text) > _BLOCK_BYTES for line in text.split(b"\n")), default=0)
    blocks = pj.ReadOptions(block_size=max(_BLOCK_BYTES, longest + 1))
    columns = pj.ParseOptions(explicit_schema=LINE.arrow, unexpected_field_behavior="error")
    rows = pj.read_json(pa.BufferReader(b"".join(pieces)), blocks, columns)
    return with_days(rows)


def with_days(rows: pa.Table) -> pa.Table:
    """Effects with all their columns: the day is that of UTC, and null where the moment is null."""
    days = pc.divide(rows["at_ms"], _DAY_MS).cast(pa.int32()).cast(pa.date32())
    return rows.append_column("at_date", days).select(EFFECTS.names)
