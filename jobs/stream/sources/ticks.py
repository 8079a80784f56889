"""A source without rows whose offset is the time in whole ticks.

Beside a source that does not tick (Kafka's) it makes Spark run one batch a tick, so deadlines fire in an idle query
too. A query that notes its earliest deadline ticks as `pace` says. Must not know requests.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from rollcall.jobs.stream.sources.pace import Pace
from rollcall.jobs.stream.sources.runner import outlive_signals
from rollcall.schemas.tables import REQUESTS

FORMAT = "rollcall_ticks"


def load_ticks(spark: SparkSession, tick_ms: int, status: str = "") -> DataFrame:
    """A stream without requests that has a new offset each tick. status: see Pace."""
    spark.dataSource.register(Ticks)
    return spark.readStream.format(FORMAT).option("tick_ms", tick_ms).option("status", status).load()


class Ticks(DataSource):
    """Declares the source to Spark; options tick_ms and status."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return REQUESTS.ddl

    def streamReader(self, schema: Any) -> TicksReader:
        return TicksReader(int(self.options["tick_ms"]), self.options["status"])


class TicksReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Offsets {"tick": the time in whole ticks}; a stream that ends when it is drained does not tick."""

    def __init__(self, tick_ms: int, status: str = "") -> None:
        outlive_signals()
        self._pace = Pace(tick_ms, status)

    def initialOffset(self) -> dict[str, int]:
        return {"tick": 0}

    def prepareForTriggerAvailableNow(self) -> None:
        self._pace.tick_ms = 0

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:
        return {"tick": self._pace.tick(start["tick"])}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        return []

    def read(self, partition: InputPartition) -> Iterator[tuple[Any, ...]]:
        return iter(())
