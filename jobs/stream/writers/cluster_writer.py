"""The cluster's writer: Spark's own sink, for object stores, many machines, and batches too large for a driver.

Knows Spark's writer; must not know what an effect means.
"""

from __future__ import annotations

from collections.abc import Mapping
from concurrent.futures import Future
from types import MappingProxyType

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from rollcall.coordinator_udfs.group_udf import typed_effects
from rollcall.inputs.quarantined import EFFECT_COLUMN
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.programs.log_lines import tell
from rollcall.programs.version import VERSION
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effect_rows import QUARANTINED
from rollcall.schemas.tables import EFFECTS, QUARANTINE, Table
from rollcall.tables import in_spark
from rollcall.tables.home import Home, different_partitions
from rollcall.tables.properties import differing, table_properties

VERSION_PROPERTY = "rollcall.version"
PARTITIONS_PROPERTY = "rollcall.shuffle.partitions"
"""The table property with the number of shuffle partitions, for a home in an object store."""


class ClusterWriter:
    """Appends each batch once; each commit carries the query's id and the batch's number."""

    def __init__(self, spark: SparkSession, home: Home, config: JobConfig) -> None:
        self.home = home
        self.config = config
        self.query_id: Future[str] = Future()
        own = str(spark.conf.get("spark.sql.shuffle.partitions"))
        made_with = {VERSION_PROPERTY: VERSION, PARTITIONS_PROPERTY: own}
        found = open_table(spark, home.effects, EFFECTS, table_properties(config.versions_retention_minutes), made_with)
        open_table(spark, home.quarantine, QUARANTINE, table_properties(config.versions_retention_minutes), made_with)
        kept = found.get(PARTITIONS_PROPERTY, own)
        if kept != own:
            tell(different_partitions(home.shown, kept, own), is_error=True)

    def write(self, batch: DataFrame, batch_id: int) -> BatchResult:
        """Writes a batch. Its rows are cached meanwhile, so that the stateful part runs only once."""
        batch = typed_effects(batch).persist()
        try:
            is_quarantined = F.col("effect") == QUARANTINED
            cut = F.when(F.col("effect") == EffectName.REQUESTS_PUT_OFF.value, F.col("group_id"))
            counted = batch.groupBy(is_quarantined.alias("unfit")).agg(F.count("*"), F.collect_list(cut)).collect()
            counts = {unfit: (count, groups) for unfit, count, groups in counted}
            (facts, put_off), (unfit, _) = counts.get(False, (0, [])), counts.get(True, (0, []))
            if unfit:
                # As `quarantined.quarantine_rows` has them.
                columns = {name: F.col(column) for name, column in EFFECT_COLUMN.items()}
                columns["source"] = F.lit(self.config.source)
                set_aside = batch.where(is_quarantined).select([columns[name].alias(name) for name in QUARANTINE.names])
                self._append(self.home.quarantine, set_aside, batch_id)
            if facts:
                self._append(self.home.effects, batch.where(~is_quarantined), batch_id)
        finally:
            batch.unpersist()
        return BatchResult(batch_id, facts, unfit, tuple(put_off))

    def _append(self, path: str, rows: DataFrame, batch_id: int) -> None:
        options = in_spark.append_options(self.query_id.result(), batch_id)
        rows.write.format(in_spark.FORMAT).mode("append").options(**options).save(path)


def open_table(
    spark: SparkSession,
    path: str,
    table: Table,
    properties: dict[str, str],
    made_with: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Creates the table at a path if missing, and sets these properties; returns those that it had before.

    made_with: properties that only a new table gets.
    """
    spark.sql(in_spark.make(path, table, {**properties, **made_with}))
    (detail,) = spark.sql(in_spark.describe(path)).collect()
    changes = differing(detail["properties"], properties)
    if changes:
        spark.sql(in_spark.set_properties(path, changes))
    return dict(detail["properties"])
