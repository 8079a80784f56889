"""A topic that is followed on a machine whose clock is set; without a broker, whose records are files here."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.jobs.shadow import topic
from rollcall.jobs.shadow.topic import TopicFollowing, topic_config
from rollcall.jobs.stream.query import failure_of, stop_after_batch
from rollcall.jobs.stream.sources.offsets_topic import record_rows
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from tests.offsets_topic.folded import CAPTURES, read_dump
from tests.programs.set_clocks import Machine
from tests.streaming.live import expect_each_fact_once, read_rows
from tests.streaming.topic_records import connector_rows
from tests.waiting import until

HOUR_MS = 3_600_000


class Cluster:
    """A cluster without a broker."""

    def __init__(self, *_: object) -> None:
        pass

    def cluster_id(self) -> str:
        return "cluster-1"

    def metadata_version(self) -> int | None:
        return None

    def check_topic(self, _: str) -> None:
        pass

    def names(self, _: object) -> dict[str, str]:
        return {}


def write(folder: Path, name: str, records: list[LogRecord]) -> None:
    whole = folder / f".{name}"
    pq.write_table(connector_rows(records), whole)
    whole.rename(folder / f"{name}.parquet")


@pytest.mark.nightly
def test_a_clock_set_back_an_hour_stops_nothing_and_repeats_nothing(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = tmp_path / "files"
    files.mkdir()

    schema = spark.createDataFrame(connector_rows([])).schema

    def load(*_: object, has_commits: bool, **__: object) -> DataFrame:
        return record_rows(spark.readStream.schema(schema).parquet(str(files)), has_commits=has_commits)

    monkeypatch.setattr(topic, "KafkaCluster", Cluster)
    monkeypatch.setattr(topic, "load_offsets_topic", load)
    records = read_dump(CAPTURES / "n-classic-mixed" / "offsets-topic.jsonl.gz")
    half = len(records) // 2
    write(files, "first", records[:half])
    machine, home = Machine(), Home(tmp_path / "home")
    home.path.mkdir()
    config = topic_config("kafka://one:9092", None)
    following = TopicFollowing(home, config, spark, StatusWriter(None), has_commits=True, clock=machine.clock)

    def facts() -> int:
        assert failure_of(following.query) is None
        return len(read_rows(home.effects))

    try:
        first = until(facts, "the first facts", 120, 0.2)
        before = following.query.runId
        following.maybe_start_again()
        assert following.query.runId == before
        machine.wall_ms -= HOUR_MS
        following.maybe_start_again()
        assert following.query.runId != before
        write(files, "second", records[half:])
        until(lambda: facts() > first, "facts of the second half", 120, 0.2)
        before = following.query.runId
        following.maybe_start_again()
        assert following.query.runId == before
    finally:
        stop_after_batch(following.query)
    following.count()
    assert following.counts.startswith(f"{len(records)} records read")
    expect_each_fact_once(home)
