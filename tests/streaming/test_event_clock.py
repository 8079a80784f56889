"""The event clock on Spark: the same log in 1, 7 and 50 batches gives the same effects, those of the pure function."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from deltalake import write_deltalake
from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.log_config import replay_config
from rollcall.jobs.stream.query import failure_of, start
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import request_rows
from tests.requests import join
from tests.streaming.live import read_rows
from tests.streaming.logs import EVENT, facts_of, home_with, recorded


@pytest.mark.parametrize("batches", [7, *(pytest.param(count, marks=pytest.mark.nightly) for count in (1, 50))])
def test_the_same_log_in_any_number_of_batches_gives_the_same_effects(
    spark: SparkSession, tmp_path: Path, batches: int
) -> None:
    world = recorded(350)
    home = home_with(tmp_path / "home", world.log, batches)
    done: list[BatchResult] = []
    config = JobConfig.from_pairs({**EVENT, "spark.coordinator.source.max.requests.per.batch": "1"})
    if batches == 1:
        config = JobConfig.from_pairs(EVENT)
    query = start(spark, home, config, until_drained=True, on_batch=done.append).query
    query.awaitTermination()
    assert failure_of(query) is None
    assert len(done) == batches + 1
    assert facts_of(read_rows(home.effects)) == facts_of(world.effects())


def test_a_run_may_end_within_a_millisecond(spark: SparkSession, tmp_path: Path) -> None:
    at_ms = 1_790_000_000_000
    asked = [join("a", at_ms, "orders"), join("b", at_ms, "payments"), join("c", at_ms, "orders")]
    home, config = Home(tmp_path / "home"), replace(replay_config({}), watermark_delay_ms=1)
    open_requests(home)
    for requests in (asked[:2], asked[2:]):
        write_deltalake(home.requests, request_rows(requests), mode="append")
        query = start(spark, home, config, until_drained=True).query
        query.awaitTermination()
        assert failure_of(query) is None
    parked = [row["request_id"] for row in read_rows(home.effects) if row["effect"] == "request_parked"]
    assert sorted(parked) == sorted(request.request_id for request in asked)
