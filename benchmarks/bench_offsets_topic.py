"""A shadow of `__consumer_offsets` at scale: a million commits beside a thousand groups' generations, by a real broker.

Compared with Spark's plain copy of the same topic from Kafka to Delta, on the same two cores in the same run, so that a
busy machine slows both. `COMMITS=200000` measures fewer. Knows what is measured and the goals; the records are
`recorded_topic`'s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from deltalake import DeltaTable
from pyspark.sql import DataFrame, SparkSession

from benchmarks.figures import Anchor, Figure, at_least, at_most, bench
from benchmarks.processes import family_bytes, folder, sampled
from benchmarks.recorded_topic import TOPIC, fill, real_broker
from jobs.config import JobConfig
from jobs.home import Home
from jobs.shadow.topic import HOLD_MS, SOURCE
from jobs.spark.jars import make_kafka_ready
from jobs.spark.session import spark_session
from jobs.stream.sources.offsets_topic import record_rows
from jobs.stream.topic_histories import tell_histories
from jobs.stream.writers.driver_writer import DriverWriter
from schemas.effect_names import EffectName

COMMITS = int(os.environ.get("COMMITS") or 1_000_000)
GROUPS, GENERATIONS_A_GROUP = 1_000, 4
RECORDS = COMMITS + GROUPS * GENERATIONS_A_GROUP
MEBIBYTE = 1 << 20
PLAIN = "Spark's plain copy"


class Run(NamedTuple):
    """One query over the whole topic."""

    seconds: float
    memory: list[float]
    """What all processes held, from time to time."""

    @property
    def records_a_second(self) -> float:
        return RECORDS / self.seconds


@contextmanager
def session(**settings: str) -> Iterator[SparkSession]:
    """A Spark session of the local profile, stopped in the end; the profile's own where no settings are given."""
    spark = spark_session("rollcall benchmarks", settings)
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


@bench
def a_million_commits() -> Iterator[Figure]:
    """The topic with and without commits, beside a plain copy; each query reads it from its beginning to its end."""
    config, jars = JobConfig(), {"spark.jars": ",".join(make_kafka_ready())}
    with folder() as path, real_broker(path / "kafka") as address, session(**jars) as spark:
        fill(address, GROUPS, COMMITS)

        def records() -> DataFrame:
            options = {"kafka.bootstrap.servers": address, "subscribe": TOPIC, "startingOffsets": "earliest"}
            reader = spark.readStream.format("kafka").options(**options)
            return reader.option("maxOffsetsPerTrigger", config.source_max_requests).load()

        # The first query of a JVM is no measure of any.
        _copied(records(), path / "warm")
        plain = _copied(records(), path / "plain")
        without = _folded(records(), path / "without", config, has_commits=False)
        whole = _folded(records(), path / "whole", config, has_commits=True)
        effects = DeltaTable(Home(path / "whole").effects).to_pyarrow_table(columns=["effect"])["effect"].to_pylist()
    facts = effects.count(EffectName.OFFSETS_COMMITTED)
    assert facts >= COMMITS // 10, f"only {facts} facts came of {COMMITS} commits"
    anchor = Anchor(plain.records_a_second, PLAIN)
    yield Figure("copied", plain.records_a_second, "records/s")
    yield Figure("without_commits", without.records_a_second, "records/s", None, anchor)
    yield Figure("without_commits_to_copy", plain.seconds / without.seconds, "times", at_least(0.5))
    yield Figure("with_commits", whole.records_a_second, "records/s", None, anchor)
    yield Figure("with_commits_to_copy", plain.seconds / whole.seconds, "times", at_least(0.25))
    third = len(whole.memory) // 3
    # A JVM takes what heap it is given, and only then does it show whether it would take more.
    middle, last = max(whole.memory[third : 2 * third]), max(whole.memory[2 * third :])
    yield Figure("with_commits_memory", last / MEBIBYTE, "MiB, the broker's included")
    yield Figure("memory_of_last_third_to_middle", last / middle, "times", at_most(1.1))


def _copied(records: DataFrame, place: Path) -> Run:
    """From Kafka to Delta as it is."""
    columns = records.select("partition", "offset", "timestamp", "key", "value")
    stream = columns.writeStream.format("delta").option("checkpointLocation", f"{place}-checkpoint")
    return _run(lambda: stream.trigger(availableNow=True).start(str(place)).awaitTermination())


def _folded(records: DataFrame, place: Path, config: JobConfig, *, has_commits: bool) -> Run:
    """Every group's history, as `jobs.shadow.topic` folds and writes it."""
    home = Home(place)
    writer = DriverWriter(home, config, SOURCE)

    def write(batch: DataFrame, batch_id: int) -> None:
        writer.write(batch, batch_id)

    rows = record_rows(records, has_commits=has_commits)
    texts = tell_histories(rows, config.quarantine_raw_max_bytes, HOLD_MS)
    stream = texts.writeStream.outputMode("append").foreachBatch(write).option("checkpointLocation", home.checkpoint)

    def follow() -> None:
        query = stream.trigger(availableNow=True).start()
        writer.query_id.set_result(query.id)
        query.awaitTermination()

    return _run(follow)


def _run(query: Callable[[], object]) -> Run:
    began = time.monotonic()
    with sampled(lambda: family_bytes(os.getpid())) as memory:
        query()
        seconds = time.monotonic() - began
    return Run(seconds, memory)
