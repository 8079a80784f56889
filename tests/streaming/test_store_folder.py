"""A folder of small files through Hadoop's file systems, the lease in it, and what a user sees of errors."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.connectors import check_connectors
from rollcall.jobs.spark.store_folder import StoreFolder, held
from rollcall.programs.preflight import Missing
from rollcall.tables.home import Home, HomeError
from rollcall.tables.lease import TakenOverError


class Elsewhere(Home):
    """A home on this disk that is reached as one in an object store is."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.is_local = False
        self.location = folder.as_uri()


def test_files_are_written_over_read_listed_and_deleted(spark: SparkSession, tmp_path: Path) -> None:
    folder = StoreFolder(spark, f"{tmp_path.as_uri()}/lease", "here")
    assert folder.changed_at() == {}
    assert folder.read("a") == ""
    folder.delete("a")
    folder.write("a", "first")
    folder.write("a", "größer")
    folder.write("b", "")
    assert folder.read("a") == "größer"
    assert set(folder.changed_at()) == {"a", "b"}
    assert all(
        abs(at_ms - (tmp_path / "lease" / "a").stat().st_mtime_ns // 1_000_000) < 60_000
        for at_ms in folder.changed_at().values()
    )
    folder.delete("a")
    assert set(folder.changed_at()) == {"b"}


def test_a_home_elsewhere_is_held_by_one_job_and_free_when_it_has_ended(spark: SparkSession, tmp_path: Path) -> None:
    home = Elsewhere(tmp_path)
    with held(spark, home, "the coordinator") as lease:
        assert lease is not None
        lease.check()
        StoreFolder(spark, home.lease, "here").write("00000009-other", "")
        with pytest.raises(TakenOverError, match="was taken over by another job: this job stops"):
            lease.check()
    assert set(StoreFolder(spark, home.lease, "here").changed_at()) == {"00000009-other"}
    with held(spark, Home(tmp_path), "the coordinator") as lock:
        assert lock is None


@pytest.mark.parametrize(
    ("place", "missing", "advice"),
    [
        (
            "s3a://bucket/home",
            "the connector for s3a is missing (",
            "add --packages org.apache.hadoop:hadoop-aws:3.5.0.",
        ),
        (
            "nowhere://x/home",
            "the connector for nowhere is missing (",
            "name a place that Spark has a file system for.",
        ),
    ],
)
def test_a_store_whose_connector_is_missing_is_one_sentence(
    spark: SparkSession, place: str, missing: str, advice: str
) -> None:
    with pytest.raises(HomeError) as refused, held(spark, Home(place), "the coordinator"):
        pass
    assert str(refused.value).startswith(f"{place}: {missing}")
    assert str(refused.value).endswith(f"): {advice}")
    assert "\n" not in str(refused.value)


def test_a_place_that_refuses_is_reported_in_its_own_words(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="here: the store refuses: "):
        StoreFolder(spark, f"{tmp_path.as_uri()}/file/lease", "here").write("a", "")


def test_a_missing_kafka_connector_is_named_before_anything_is_written(spark: SparkSession) -> None:
    check_connectors(spark, JobConfig())
    kafka = {"source": "kafka", "kafka.topic": "requests"}
    settings = {f"spark.coordinator.{key}": value for key, value in kafka.items()}
    config = JobConfig.from_pairs({**settings, "kafka.bootstrap.servers": "127.0.0.1:1"})
    with pytest.raises(Missing, match=r"needs Spark's connector: add --packages org\.apache\.spark:spark-sql-kafka"):
        check_connectors(spark, config)
