"""Moves a home, while no job works in it, to another number of shuffle partitions.

    rollcall repartition --partitions N [--home FOLDER]

A checkpoint is made for one number. Spark itself redistributes the groups' state, in one more batch of the checkpoint,
which reads no request and writes no effect; the job then continues as before. If the move is interrupted, it must be
done again, with the same number, before the job starts.

Knows the conditions, and the sentences for Spark's refusals. Must not know how state is stored.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from py4j.protocol import Py4JJavaError  # type: ignore[import-untyped]
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.spark.store_folder import StoreFolder, held
from rollcall.jobs.stream.checkpoint import frozen_settings
from rollcall.jobs.stream.writers.cluster_writer import PARTITIONS_PROPERTY
from rollcall.tables import in_spark
from rollcall.tables.home import Home, HomeError

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
"""The settings of a session for state in RocksDB."""
_REFUSALS: Mapping[str, str] = {
    "LAST_BATCH_FAILED": "its last batch was cut short: start the job once and stop it, then come again",
    "LAST_BATCH_ABANDONED_REPARTITION": "an earlier move was cut short: come again with the number that it was given",
    "NO_BATCH_FOUND": "its job has not finished a batch yet, so a new home is as good",
    "NO_COMMITTED_BATCH": "its job has not finished a batch yet, so a new home is as good",
    "SHUFFLE_PARTITIONS_ALREADY_MATCH": "it has that number of partitions already",
    "UNSUPPORTED_PROVIDER": "its state is not in RocksDB, which conf/spark-cluster.conf asks for, and no other moves",
}
"""By Spark's error class, what is wrong with the home."""


def repartition(home: Home, partitions: int) -> str:
    """Moves a home to this number of partitions; returns a sentence for the user.

    Raises HomeError: the number is unfit; there is no such home; a job works in it; or Spark refuses, and why.
    """
    if not 1 <= partitions <= MOST:
        raise HomeError(f"--partitions {partitions}: is not between 1 and {MOST}.")
    with _owned(home) as spark:
        _move(spark, home, partitions)
        if not home.is_local:
            for table in (home.effects, home.quarantine):
                spark.sql(in_spark.set_properties(table, {PARTITIONS_PROPERTY: str(partitions)}))
    return f"{home.shown} has {partitions} shuffle partitions now."


@contextmanager
def _owned(home: Home) -> Iterator[SparkSession]:
    """A session on a home that no job may enter meanwhile. Raises HomeError: no such home, or a job works in it."""
    who = "a move to other partitions"
    if not home.is_local:
        spark = spark_session("rollcall repartition", SETTINGS, is_brief=True)
        with held(spark, home, who):
            yield spark
        return
    home.check_there()
    with home.locked(who):
        yield spark_session("rollcall repartition", SETTINGS, is_brief=True)


def _move(spark: SparkSession, home: Home, partitions: int) -> None:
    kept = frozen_settings(_last_batch(spark, home))
    if not kept:
        raise HomeError(_refused(home, "NO_BATCH_FOUND"))
    if kept.get(_PROVIDER, "") != _ROCKSDB:
        # Spark would notice this only after its start, and the query could not be started again.
        raise HomeError(_refused(home, "UNSUPPORTED_PROVIDER"))
    # Reading state needs a part of Spark that the first query of a session starts; this program runs no query.
    _ = spark.streams.active
    try:
        spark._streamingCheckpointManager.repartition(home.checkpoint, partitions)
    except (PySparkException, Py4JJavaError) as error:
        refusal = re.search(r"\[STATE_REPARTITION_\w+\.(\w+)\] ([^\n]+)", str(error))
        if refusal is None:
            raise
        raise HomeError(_refused(home, refusal[1], refusal[2])) from None


def _last_batch(spark: SparkSession, home: Home) -> str:
    """The checkpoint's text about the batch that was started last; empty before the first."""
    folder = StoreFolder(spark, f"{home.checkpoint}/offsets", home.shown)
    numbers = [int(name) for name in folder.changed_at() if name.isdigit()]
    return folder.read(str(max(numbers))) if numbers else ""


def _refused(home: Home, condition: str, words: str = "") -> str:
    return f"{home.shown} stays as it is: {_REFUSALS.get(condition, words)}."
