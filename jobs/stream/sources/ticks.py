"""A source without rows whose offset is the time in whole ticks.

Beside a source that does not tick (Kafka's) it makes Spark run one batch a tick, so deadlines fire in an idle query
too. Knows the system's clock; must not know requests.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from jobs.stream.sources.runner import outlive_signals
from schemas.tables import REQUESTS

FORMAT = "rollcall_ticks"


def load_ticks(spark: SparkSession, tick_ms: int) -> DataFrame:
    """A stream without requests that has a new offset each tick."""
    spark.dataSource.register(Ticks)
    return spark.readStream.format(FORMAT).option("tick_ms", tick_ms).load()


class Ticks(DataSource):
    """Declares the source to Spark; option tick_ms."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REQUESTS.ddl

    def streamReader(self, schema: Any) -> TicksReader:
        return TicksReader(int(self.options["tick_ms"]))


class TicksReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets {"tick": the time in whole ticks}; a stream that ends when it is drained does not tick."""

    def __init__(self, tick_ms: int) -> None:
        outlive_signals()
        self.tick_ms = tick_ms

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self.tick_ms = 0

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        tick = int(time.time() * 1000) // self.tick_ms if self.tick_ms else 0
        return {"tick": max(tick, start["tick"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
