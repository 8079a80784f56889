"""Moves a home, while no job works in it, to another number of shuffle partitions.

    rollcall repartition --partitions N [--home FOLDER]

The checkpoint is laid out for one number. Spark itself spreads the groups' state anew, as one more batch of the
checkpoint, which reads no request and writes no effect; the job goes on after it as if nothing had been. If that is
interrupted it is done again, with the same number, before the job may start.

Knows what must hold before, and how Spark's refusals are told. Must not know how state is laid out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from jobs.home import Home, HomeError
from jobs.spark.home_lease import held
from jobs.spark.session import spark_session
from jobs.spark.store_folder import StoreFolder
from jobs.stream.checkpoint import frozen_settings
from jobs.stream.writers.cluster_writer import PARTITIONS_PROPERTY

MOST = 10_000
_PROVIDER = "spark.sql.streaming.stateStore.providerClass"
_ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SETTINGS: Mapping[str, str] = {
    _PROVIDER: _ROCKSDB,
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # State is copied from this machine's disk, which the quicker file system of conf/spark-local.conf cannot do.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.LocalFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.file.impl": "org.apache.hadoop.fs.local.LocalFs",
}
"""Of a session for state in RocksDB."""
_REFUSALS: Mapping[str, str] = {
    "LAST_BATCH_FAILED": "its last batch was cut short: start the job once and stop it, then come again",
    "LAST_BATCH_ABANDONED_REPARTITION": "an earlier move was cut short: come again with the number that it was given",
    "NO_BATCH_FOUND": "its job has not finished a batch yet, so a new home is as good",
    "NO_COMMITTED_BATCH": "its job has not finished a batch yet, so a new home is as good",
    "SHUFFLE_PARTITIONS_ALREADY_MATCH": "it has so many partitions already",
    "UNSUPPORTED_PROVIDER": "its state is not in RocksDB, which conf/spark-cluster.conf asks for, and no other moves",
}
"""By Spark's error class, what it means for a home."""


def repartition(home: Home, partitions: int) -> str:
    """Moves a home to so many partitions; returns a sentence for the user.

    Raises HomeError: the number is unfit; there is no such home; a job works in it; or Spark refuses, and why.
    """
    if not 1 <= partitions <= MOST:
        raise HomeError(f"PARTITIONS={partitions}: is not between 1 and {MOST}.")
    with _owned(home) as spark:
        _move(spark, home, partitions)
        if not home.is_local:
            for table in (home.effects, home.quarantine):
                spark.sql(f"ALTER TABLE delta.`{table}` SET TBLPROPERTIES ('{PARTITIONS_PROPERTY}' = '{partitions}')")
    return f"{home.shown} has {partitions} shuffle partitions now."


@contextmanager
def _owned(home: Home) -> Iterator[SparkSession]:
    """A session, while no job works in the home. Raises HomeError: there is no such home, or one does."""
    who = "a move to other partitions"
    if not home.is_local:
        spark = spark_session("rollcall repartition", SETTINGS, is_brief=True)
        with held(spark, home, who):
            yield spark
        return
    if not home.path.is_dir():
        raise HomeError(f"{home.shown} is no home: there is no such folder; ROLLCALL_HOME names another.")
    with home.locked(who):
        yield spark_session("rollcall repartition", SETTINGS, is_brief=True)


def _move(spark: SparkSession, home: Home, partitions: int) -> None:
    kept = frozen_settings(_last_batch(spark, home))
    if not kept:
        raise HomeError(_refused(home, "NO_BATCH_FOUND"))
    if kept.get(_PROVIDER, "") != _ROCKSDB:
        # Spark finds that out only when it has begun, and the query could not be started again.
        raise HomeError(_refused(home, "UNSUPPORTED_PROVIDER"))
    # State is read through what Spark starts with the first query of a session, and here is none.
    _ = spark.streams.active
    try:
        spark._streamingCheckpointManager.repartition(home.checkpoint, partitions)
    except (PySparkException, Py4JJavaError) as error:
        told = re.search(r"\[STATE_REPARTITION_\w+\.(\w+)\] ([^\n]+)", str(error))
        if told is None:
            raise
        raise HomeError(_refused(home, told[1], told[2])) from None


def _last_batch(spark: SparkSession, home: Home) -> str:
    """What the checkpoint says of the batch that was begun last; empty before the first."""
    folder = StoreFolder(spark, f"{home.checkpoint}/offsets", home.shown)
    numbers = [int(name) for name in folder.changed_at() if name.isdigit()]
    return folder.read(str(max(numbers))) if numbers else ""


def _refused(home: Home, condition: str, words: str = "") -> str:
    return f"{home.shown} stays as it is: {_REFUSALS.get(condition, words)}."
