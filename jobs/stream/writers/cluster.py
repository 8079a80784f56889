"""The cluster's writer: Spark's own Delta sink, for object stores, many machines, and batches too large for a driver.

Knows Spark's Delta writer; must not know what an effect means.
"""

from __future__ import annotations

from concurrent.futures import Future

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from coordinator_udfs.effect_rows import QUARANTINED
from coordinator_udfs.group_udf import typed_effects
from jobs.config import JobConfig
from jobs.home import Home
from jobs.stream.writers.result import BatchResult
from schemas.tables import EFFECTS, QUARANTINE, Table


class ClusterWriter:
    """Appends each batch once; each commit carries the query's id and the batch's number."""

    def __init__(self, spark: SparkSession, home: Home, config: JobConfig) -> None:
        self.home = home
        self.config = config
        self.query_id: Future[str] = Future()
        make_table(spark, home.effects, EFFECTS, config)
        make_table(spark, home.quarantine, QUARANTINE, config)

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult:
        """Writes a batch; the stateful part of it runs once, whatever is asked of its result."""
        batch = typed_effects(batch).persist()
        try:
            is_quarantined = F.col("effect") == QUARANTINED
            counts = {
                row["unfit"]: row["count"] for row in batch.groupBy(is_quarantined.alias("unfit")).count().collect()
            }
            facts, unfit = counts.get(False, 0), counts.get(True, 0)
            if unfit:
                self._append(self.home.quarantine, _quarantine_rows(batch.where(is_quarantined), self.config), batch_id)
            if facts:
                self._append(self.home.effects, batch.where(~is_quarantined), batch_id)
        finally:
            batch.unpersist()
        return BatchResult(batch_id, facts, unfit)

    def _append(self, path: str, rows: DataFrame, batch_id: int) -> None:
        writer = rows.write.format("delta").mode("append").option("txnAppId", self.query_id.result())
        writer.option("txnVersion", batch_id).save(path)


def _quarantine_rows(rows: DataFrame, config: JobConfig) -> DataFrame:
    return rows.select(
        "received_at_ms",
        F.lit(config.source).alias("source"),
        "group_id",
        F.col("cause").alias("reason"),
        F.col("detail").alias("raw"),
        "at_ms",
    )


def make_table(spark: SparkSession, path: str, table: Table, config: JobConfig) -> None:
    """The table at a path, made if it is not there; its log is kept short, since it gets a commit a batch."""
    partitioned = f"PARTITIONED BY ({', '.join(table.partition_by)})" if table.partition_by else ""
    kept = f"interval {config.versions_retention_minutes} minutes"
    spark.sql(
        f"CREATE TABLE IF NOT EXISTS delta.`{path}` ({table.ddl}) USING delta {partitioned} TBLPROPERTIES ("
        f"'delta.checkpointInterval' = '100', 'delta.logRetentionDuration' = '{kept}', "
        f"'delta.deletedFileRetentionDuration' = '{kept}')"
    )
