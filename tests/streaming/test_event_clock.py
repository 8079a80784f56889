"""The event clock on Spark: the same log in 1, 7 and 50 batches gives the same effects, those of the pure function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from jobs.config import JobConfig
from jobs.stream import failure_of, start
from jobs.writers.result import BatchResult
from schemas.tables import EFFECTS
from tests.streaming.live import read_rows
from tests.streaming.logs import EVENT, home_with, recorded

COLUMNS = [name for name in EFFECTS.names if name != "at_date"]


def told(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Effects as tuples in order; a field that is not there is null."""
    return sorted(
        (tuple(row.get(name) for name in COLUMNS) for row in rows),
        key=lambda t: (t[0], t[COLUMNS.index("at_ms")], t[1]),
    )


@pytest.mark.parametrize("batches", [1, 7, 50])
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
    assert told(read_rows(home.effects)) == told(world.effects())
