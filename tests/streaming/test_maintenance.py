"""The upkeep of a home whose tables Spark writes, as `make maintain` does it for a home in an object store."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from deltalake import DeltaTable
from pyspark.sql import SparkSession

from rollcall.jobs.maintain import maintain_cluster
from rollcall.programs.version import VERSION
from tests.requests import join
from tests.streaming.live import Live, now_ms, read_rows


@pytest.mark.nightly
def test_a_home_that_spark_wrote_is_maintained_by_spark(spark: SparkSession, live: Callable[..., Live]) -> None:
    running = live(**{"spark.coordinator.effects.writer": "cluster"})
    for client in "ab":
        running.ask(join(client, now_ms(), f"group-of-{client}"))
    running.stop()
    made_with = DeltaTable(running.home.effects).metadata().configuration
    assert made_with["rollcall.version"] == VERSION
    assert made_with["rollcall.shuffle.partitions"] == spark.conf.get("spark.sql.shuffle.partitions")
    before = read_rows(running.home.effects)
    done = maintain_cluster(spark, running.home, running.config, now_ms())
    assert [line.partition(":")[0] for line in done] == ["effects", "quarantine"]
    assert len(before) >= 2
    assert sorted(map(str, read_rows(running.home.effects))) == sorted(map(str, before))
