"""A replay from log file to history: lines a second, and that memory does not grow with the log.

Measured as its user meets it but for Spark's start: reading, inferring, applying and comparing every answer. Knows the
replay's parts; what a log says is `busy_log`'s.
"""

from __future__ import annotations

import io
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.busy_log import write_busy_log
from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.spark_homes import folder, session
from jobs.home import REPLAY, Home
from jobs.replay import WRITER, Replay

SHORT, LONG = 15, 45
MEBIBYTE = 1 << 20


@bench
def replay() -> Iterator[Figure]:
    """A log of 600 groups, then one of 1,800: lines a second, what memory both took, and parity."""
    with folder() as path, session() as spark:
        # The first lines pay for warming up the JVM, which a longer log pays once.
        _replayed(spark, path / "warm", 2)
        lines, seconds, _ = _replayed(spark, path / "short", SHORT)
        short_rss = _memory()
        yield Figure("lines_a_second_600_groups", lines / seconds, "lines/s", at_least(30_000))
        lines, seconds, parity = _replayed(spark, path / "long", LONG)
        yield Figure("lines_a_second_1800_groups", lines / seconds, "lines/s", at_least(30_000))
        yield Figure("memory_1800_groups", _memory() / MEBIBYTE, "MiB")
        yield Figure("memory_1800_to_600_groups", _memory() / short_rss, "times", at_most(2))
        yield Figure("answers_equal", parity, "share", at_least(0.995))


def _replayed(spark: SparkSession, path: Path, copies: int) -> tuple[int, float, float]:
    """Lines, seconds, and the share of equal answers."""
    path.mkdir()
    lines = write_busy_log(path / "requests.log", copies)
    home = Home(path / "home")
    with home.locked("a benchmark"):
        home.settle(REPLAY, WRITER)
        started = time.perf_counter()
        work = Replay(home, {}, path / "requests.log", "UTC", Console(file=io.StringIO()))
        work.run(spark)
    return lines, time.perf_counter() - started, work.parity.share


def _memory() -> int:
    """Bytes that this process and all it started hold now."""
    pages = 0
    for process in _family(os.getpid()):
        try:
            pages += int(Path(f"/proc/{process}/statm").read_text().split()[1])
        except FileNotFoundError:
            continue
    return pages * os.sysconf("SC_PAGE_SIZE")


def _family(process: int) -> Iterator[int]:
    yield process
    found = subprocess.run(["pgrep", "-P", str(process)], capture_output=True, text=True, check=False)
    for child in found.stdout.split():
        yield from _family(int(child))
