"""The writers of the effects table: each table has one, chosen by spark.coordinator.effects.writer.

A writer takes a batch's effects as texts (`rollcall.schemas.effect_rows.texts_of`). It appends the quarantined rows to
the quarantine, then the others to the effects table, each in one commit that carries the batch's number; so a batch
that is run again writes nothing twice. Must not know what an effect means.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.jobs.stream.writers.cluster_writer import ClusterWriter
from rollcall.jobs.stream.writers.driver_writer import DriverWriter
from rollcall.tables.home import Home


class Writer(Protocol):
    """Writes batches, for foreachBatch."""

    query_id: Future[str]
    """The caller sets it to the streaming query's id, which is known once the query is started."""

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult: ...


def make_writer(spark: SparkSession, home: Home, config: JobConfig) -> Writer:
    """The writer in the configuration. It creates its tables."""
    return DriverWriter(home, config) if config.effects_writer == "driver" else ClusterWriter(spark, home, config)
