"""What benches share of Spark and of folders. Must not know what a bench measures."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from jobs.spark.session import spark_session


@contextmanager
def session(**settings: str) -> Iterator[SparkSession]:
    """A Spark session of the local profile, stopped in the end; the profile's own where no settings are given."""
    spark = spark_session("rollcall benchmarks", {"spark.sql.streaming.numRecentProgressUpdates": "1000", **settings})
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is removed in the end."""
    path = Path(tempfile.mkdtemp(prefix="rollcall-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
