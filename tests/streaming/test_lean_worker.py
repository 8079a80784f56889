"""The Python workers of a session are the lean ones."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql import SparkSession


def test_the_workers_of_a_session_are_lean(spark: SparkSession) -> None:
    def serializer(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Runs in a worker."""
        import sys

        name = sys.modules["pyspark.worker"].ApplyInPandasWithStateSerializer.__module__
        yield pa.RecordBatch.from_pydict({"name": [name for _ in batches][:1]})

    (row,) = spark.range(1).coalesce(1).mapInArrow(serializer, "name string").collect()
    assert row.name == "rollcall.jobs.spark.lean_worker"
