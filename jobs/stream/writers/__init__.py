"""Who writes the effects table: one writer a table, chosen by spark.coordinator.effects.writer.

A writer takes a batch's effects as texts (`coordinator_udfs.effect_rows.texts_of`), puts what is quarantined into the
quarantine first and the rest into the effects table, each in one commit that names the batch, so that a batch that is
run again writes nothing twice. Must not know what an effect means.
"""

from __future__ import annotations

from concurrent.futures import Future
from typing import Protocol

from pyspark.sql import DataFrame, SparkSession

from jobs.config import JobConfig
from jobs.home import Home
from jobs.stream.writers.batch_result import BatchResult
from jobs.stream.writers.cluster_writer import ClusterWriter
from jobs.stream.writers.driver_writer import DriverWriter


class Writer(Protocol):
    """What foreachBatch calls. query_id: to be set to the streaming query's id once that is known."""

    query_id: Future[str]

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult: ...


def make_writer(spark: SparkSession, home: Home, config: JobConfig) -> Writer:
    """The writer that the configuration names; its tables are there afterwards."""
    return DriverWriter(home, config) if config.effects_writer == "driver" else ClusterWriter(spark, home, config)
