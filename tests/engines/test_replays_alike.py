"""A log replayed by processes and by Spark's tasks: the same rows in every table, of captures and of a long log."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from benchmarks.busy_log import write_busy_log
from rollcall.inputs.request_log.lines.files import files_in_order
from rollcall.jobs.replay_on_spark import replay_on_spark
from rollcall.tables.home import Home
from tests.engines.replays import assert_same_tables
from tests.replayed import QUIET, UTC, replay_log
from tests.request_log.recordings import INCIDENTS
from tests.request_log.truth import BOTH_PROTOCOLS, NAMES, OF_LAG
from tests.request_log.truth import FOLDER as CAPTURES

LINES = 200_000


def assert_alike(spark: SparkSession, log: Path, folder: Path) -> int:
    ours, theirs = Home(folder / "processes"), Home(folder / "spark")
    reported = replay_log(ours, log)
    also = replay_on_spark(spark, theirs, files_in_order(log, UTC), {}, UTC, QUIET)
    assert_same_tables(ours, reported, theirs, also)
    assert reported.parity.share > 0.99
    return reported.tally.read


@pytest.mark.nightly
@pytest.mark.parametrize("name", [*NAMES, *BOTH_PROTOCOLS, OF_LAG])
def test_every_capture(spark: SparkSession, name: str, tmp_path: Path) -> None:
    assert_alike(spark, CAPTURES / name / "requests.log.gz", tmp_path)


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(path.name for path in INCIDENTS.glob("*.log.gz")))
def test_every_incident(spark: SparkSession, name: str, tmp_path: Path) -> None:
    assert_alike(spark, INCIDENTS / name, tmp_path)


def test_a_log_of_200000_lines(spark: SparkSession, tmp_path: Path) -> None:
    log = tmp_path / "requests.log"
    write_busy_log(log, 13)
    assert assert_alike(spark, log, tmp_path) > LINES
