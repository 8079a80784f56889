"""A source without rows whose offset is the time in whole ticks.

Beside a source that does not tick (Kafka's) it makes Spark run one batch a tick, so deadlines fire in an idle query
too. A query whose deadlines all come within a few ticks need not tick on while its other sources bring nothing. One
that notes its earliest deadline ticks as `pace` says. Knows the system's clock; must not know requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from rollcall.jobs.stream.checkpoint import last_offsets
from rollcall.jobs.stream.sources.pace import Pace
from rollcall.jobs.stream.sources.runner import outlive_signals
from rollcall.schemas.tables import REQUESTS

FORMAT = "rollcall_ticks"
BATCHES_UNTIL_REST = 3
"""A query is at rest after this many batches that read nothing."""
REST_MS = 60_000
"""How often a query at rest runs a batch, which says that it is alive."""


def load_ticks(spark: SparkSession, tick_ms: int, checkpoint: str = "", status: str = "") -> DataFrame:
    """A stream without requests that has a new offset each tick.

    checkpoint: of a query that may rest, on this machine's disk; empty: it may not. status: see Pace.
    """
    spark.dataSource.register(Ticks)
    stream = spark.readStream.format(FORMAT).option("tick_ms", tick_ms).option("checkpoint", checkpoint)
    return stream.option("status", status).load()


class Ticks(DataSource):
    """Declares the source to Spark; options tick_ms, checkpoint and status."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REQUESTS.ddl

    def streamReader(self, schema: Any) -> TicksReader:
        return TicksReader(int(self.options["tick_ms"]), self.options["checkpoint"], self.options["status"])


class TicksReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets {"tick": the time in whole ticks}; a stream that ends when it is drained does not tick."""

    def __init__(self, tick_ms: int, checkpoint: str = "", status: str = "") -> None:
        outlive_signals()
        self._pace = Pace(tick_ms, status)
        self._checkpoint = Path(checkpoint) if checkpoint else None

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._pace.tick_ms = 0

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        last = start["tick"]
        tick = self._pace.tick(last)
        return start if tick == last or self._is_at_rest(last) else {"tick": tick}

    def _is_at_rest(self, last: int) -> bool:
        """Whether the last batches left every other source where it was, and none is needed to say that it is alive."""
        if self._checkpoint is None or time.time() * 1000 - last * self._pace.tick_ms >= REST_MS:
            return False
        batches = [
            [offset for offset in offsets if offset.keys() != {"tick"}]
            for offsets in last_offsets(self._checkpoint, BATCHES_UNTIL_REST + 1)
        ]
        return len(batches) > BATCHES_UNTIL_REST and all(offsets == batches[0] for offsets in batches)

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
