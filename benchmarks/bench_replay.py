"""A replay from log file to history: lines a second, of busy groups and of groups at rest, and what memory it takes.

Measured as its user meets it but for Spark's start: reading, inferring, applying and comparing every answer. Knows the
replay's parts; what a log says is `busy_log`'s.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.busy_log import write_busy_log, write_resting_log
from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.processes import memory_bytes
from benchmarks.spark_homes import folder, session
from jobs.home import REPLAY, Home
from jobs.replay.command import WRITER, Replay

COPIES = 15
RESTING_GROUPS = 1_000
MINUTES, FEW_MINUTES = 9, 3
MEBIBYTE = 1 << 20


@bench
def busy() -> Iterator[Figure]:
    """Three minutes of 600 groups that join, die and leave; half of the lines are commits."""
    with folder() as path, session() as spark:
        _warm(spark, path)
        lines, seconds, parity = _replayed(spark, path / "busy", lambda log: write_busy_log(log, COPIES))
    yield Figure("lines_a_second_600_busy_groups", lines / seconds, "lines/s", at_least(25_000))
    yield Figure("answers_equal", parity, "share", at_least(0.995))


@bench
def resting() -> Iterator[Figure]:
    """Minutes of the day of 1,000 groups of six at a heartbeat every three seconds: an hour is 7.2 million lines."""
    with folder() as path, session() as spark:
        _warm(spark, path)
        _replayed(spark, path / "short", lambda log: write_resting_log(log, RESTING_GROUPS, FEW_MINUTES))
        short = memory_bytes()
        lines, seconds, parity = _replayed(
            spark, path / "long", lambda log: write_resting_log(log, RESTING_GROUPS, MINUTES)
        )
        long = memory_bytes()
    yield Figure("lines_a_second_1000_groups_at_rest", lines / seconds, "lines/s", at_least(60_000))
    yield Figure("seconds_for_an_hour_of_it", 60 / MINUTES * seconds, "s")
    yield Figure("memory", long / MEBIBYTE, "MiB")
    yield Figure("memory_to_that_after_a_third_as_long", long / short, "times", at_most(1.5))
    yield Figure("answers_equal_at_rest", parity, "share", at_least(0.995))


def _warm(spark: SparkSession, path: Path) -> None:
    """Replays a short log first, so that warming up the JVM is not measured."""
    _replayed(spark, path / "warm", lambda log: write_busy_log(log, 2))


def _replayed(spark: SparkSession, path: Path, write_log: Callable[[Path], int]) -> tuple[int, float, float]:
    """Lines, seconds, and the share of equal answers."""
    path.mkdir()
    lines = write_log(path / "requests.log")
    home = Home(path / "home")
    with home.locked("a benchmark"):
        home.settle(REPLAY, WRITER)
        started = time.perf_counter()
        work = Replay(home, {}, path / "requests.log", "UTC", Console(file=io.StringIO()))
        work.run(spark)
    return lines, time.perf_counter() - started, work.parity.share
