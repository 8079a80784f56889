"""The stream with pyspark's own workers and with the lean ones: the same tables come of the same log."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.streaming.doomed import doomed
from tests.streaming.live import read_rows
from tests.streaming.logs import EVENT, home_with, recorded, told


@pytest.mark.programs
def test_pysparks_own_workers_give_the_same_effects(tmp_path: Path) -> None:
    """The lean workers' effects are compared with the same expectation in `test_event_clock`."""
    world = recorded(120, seed=5)
    home = home_with(tmp_path / "home", world.log, 6)
    settings = {**EVENT, "spark.coordinator.source.max.requests.per.batch": "1"}
    done = doomed(home.location, "never", **settings, **{"spark.python.daemon.module": "pyspark.daemon"})
    assert (done.returncode, done.stdout.strip()) == (0, "drained"), done.stdout + done.stderr
    assert told(read_rows(home.effects)) == told(world.effects())


def test_the_workers_of_a_session_are_lean(spark: SparkSession) -> None:
    def serializer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs in a worker."""
        import sys

        name = sys.modules["pyspark.worker"].ApplyInPandasWithStateSerializer.__module__
        yield pa.RecordBatch.from_pydict({"name": [name for _ in batches][:1]})

    (row,) = spark.range(1).coalesce(1).mapInArrow(serializer, "name string").collect()
    assert row.name == "jobs.spark.lean_worker"
