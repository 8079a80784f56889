"""The table layer beside Spark: what Spark commits is read by the same rule, and a stream outlives new properties."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rollcall.jobs.stream.writers.cluster_writer import open_table
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.delta_log import DeltaLog, live_files
from rollcall.tables.properties import request_properties, table_properties
from rollcall.tables.table_follower import TableFollower
from tests.requests import heartbeat
from tests.streaming.live import Live, now_ms

FIRST, SECOND = date(2026, 3, 1), date(2026, 3, 2)


@pytest.mark.nightly
def test_what_spark_puts_together_deletes_and_checkpoints_is_read_as_delta_says(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "effects")
    open_table(spark, path, EFFECTS, {**table_properties(), "delta.checkpointInterval": "3"})
    follower, log = TableFollower(Path(path), ["seq"], from_version=0), DeltaLog(Path(path))
    reported: list[int] = []

    def append(*numbers: int, day: date = FIRST) -> None:
        rows = [("g", number, "reply", day) for number in numbers]
        frame = spark.createDataFrame(rows, "group_id string, seq long, effect string, at_date date").coalesce(1)
        frame.write.format("delta").mode("append").save(path)

    def check() -> None:
        """What is new was reported once; what is there are the files that Spark reads."""
        reported.extend(number for table in follower.poll() for number in table["seq"].to_pylist())
        live = live_files(log)
        found = sorted(
            number for file in live.paths for number in pq.ParquetFile(file).read(["seq"])["seq"].to_pylist()
        )
        assert found == sorted(row.seq for row in spark.sql(f"select seq from delta.`{path}`").collect())
        assert live.version == DeltaTable(path).version()

    append(1, 2)
    append(3, 4)
    append(5, 6, day=SECOND)
    check()
    spark.sql(f"OPTIMIZE delta.`{path}`")
    check()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE seq = 2")
    check()
    spark.sql(f"DELETE FROM delta.`{path}` WHERE at_date = '{SECOND}'")
    check()
    spark.conf.set("spark.databricks.delta.retentionDurationCheck.enabled", "false")
    spark.sql(f"VACUUM delta.`{path}` RETAIN 0 HOURS")
    append(7, 8)
    check()
    assert reported == [1, 2, 3, 4, 5, 6, 7, 8]
    assert log.last_checkpoint(log.latest()) is not None


def test_spark_sets_the_retention_on_a_table_that_is_there_and_makes_no_commit_for_nothing(
    spark: SparkSession, tmp_path: Path
) -> None:
    path = str(tmp_path / "effects")
    for minutes, version in ((60, 0), (7, 1), (7, 1)):
        open_table(spark, path, EFFECTS, table_properties(minutes))
        table = DeltaTable(path)
        assert table.version() == version
        assert table_properties(minutes).items() <= table.metadata().configuration.items()


def test_a_stream_goes_on_over_new_properties_and_a_restart_sets_its_own(
    live: Callable[..., Live], tmp_path: Path
) -> None:
    running = live(tmp_path / "home")
    running.ask(heartbeat("nobody", 0, now_ms()))
    DeltaTable(running.home.requests).alter.set_table_properties({"delta.logRetentionDuration": "interval 5 minutes"})
    running.ask(heartbeat("nobody", 0, now_ms()))
    running.stop()
    again = live(tmp_path / "home", **{"spark.coordinator.versions.retention.minutes": "7"})
    again.ask(heartbeat("nobody", 0, now_ms()))
    assert DeltaTable(again.home.requests).metadata().configuration == request_properties(7)
    for path in (again.home.effects, again.home.quarantine):
        assert DeltaTable(path).metadata().configuration == table_properties(7)
