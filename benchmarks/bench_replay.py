"""A replay from log file to history: lines a second, of busy groups and of groups at rest, and what memory it takes.

Measured as its user meets it: commands in processes of their own, from their start to the report. Knows the commands;
what a log says is `busy_log`'s, what a dump says `recorded_topic`'s.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import psutil
from rich.console import Console

from benchmarks.bench_offsets_topic import session
from benchmarks.busy_log import write_busy_log, write_resting_log
from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.processes import ROOT, Ended, family_bytes, folder, run
from benchmarks.recorded_topic import write_dump
from jobs.home import Home
from jobs.replay.on_spark import replay_on_spark

UTC = ZoneInfo("UTC")
CAPTURES = ROOT / "tests" / "captures"
COPIES = int(os.environ.get("COPIES") or 15)
RESTING_GROUPS = 1_000
MINUTES, FEW_MINUTES = 8, 2.5
COMMITS = int(os.environ.get("COMMITS") or 1_000_000)
SPARK_LINES = int(os.environ.get("SPARK_LINES") or 5_000_000)
BUSY_LINES = 15_545
MEBIBYTE = 1 << 20


def _replay(log: Path, home: Path, *words: str) -> Ended:
    return run("replay", str(log), "--home", str(home), *words, memory=family_bytes)


@bench
def incidents() -> Iterator[Figure]:
    """An incident's file, from the command to the report."""
    for name, goal_s in (("d-kill", 2.0), ("j-busy-1", 3.0)):
        with folder() as path:
            found = _replay(CAPTURES / name / "requests.log.gz", path / "home")
        yield Figure(f"from_command_to_report_{name}", found.seconds, "s", at_most(goal_s))


@bench
def busy() -> Iterator[Figure]:
    """Three minutes of 600 groups that join, die and leave; half of the lines are commits."""
    yield from _by_one_and_two(lambda log: write_busy_log(log, COPIES), f"{40 * COPIES}_busy_groups", 25_000)


@bench
def resting() -> Iterator[Figure]:
    """Minutes of the day of 1,000 groups of six at a heartbeat every three seconds: an hour is 7.2 million lines."""
    name = f"{RESTING_GROUPS}_groups_at_rest"
    with folder() as path:
        write_resting_log(path / "short.log", RESTING_GROUPS, FEW_MINUTES)
        short = _replay(path / "short.log", path / "short")
    for figure in _by_one_and_two(lambda log: write_resting_log(log, RESTING_GROUPS, MINUTES), name, 45_000):
        if figure.name == f"memory_{name}":
            yield Figure(
                "memory_to_that_of_a_third_of_it", figure.value * MEBIBYTE / short.memory_bytes, "times", at_most(1.3)
            )
        yield figure


def _by_one_and_two(write_log: Callable[[Path], int], name: str, goal: int) -> Iterator[Figure]:
    with folder() as path:
        log = path / "requests.log"
        lines = write_log(log)
        two = _replay(log, path / "two", "--processes", "2")
        one = _replay(log, path / "one", "--processes", "1")
    yield Figure(f"lines_a_second_{name}", lines / two.seconds, "lines/s", at_least(goal))
    yield Figure(f"two_processes_to_one_{name}", one.seconds / two.seconds, "times", at_least(1.7))
    yield Figure(f"memory_{name}", two.memory_bytes / MEBIBYTE, "MiB", at_most(500))
    (percent,) = re.findall(r"parity: ([0-9.]+)%", two.printed)
    yield Figure(f"answers_equal_{name}", float(percent) / 100, "share", at_least(0.995))


@bench
def dump() -> Iterator[Figure]:
    """A dump of __consumer_offsets: commits beside a thousand groups' generations."""
    with folder() as path:
        records = write_dump(path / "dump.jsonl", 1_000, COMMITS)
        found = _replay(path / "dump.jsonl", path / "home")
    yield Figure("records_a_second_of_a_dump", records / found.seconds, "records/s")
    yield Figure("memory_of_a_dump", found.memory_bytes / MEBIBYTE, "MiB", at_most(500))


@bench
def on_spark() -> Iterator[Figure]:
    """A log of five million busy lines by Spark with two workers on two cores, and with one on one.

    With one worker a JVM and a Python process take turns, and would use two cores.
    """
    with folder() as path:
        log = path / "requests.log"
        lines = write_busy_log(log, max(1, SPARK_LINES // BUSY_LINES))
        seconds = {}
        for workers in (2, 1):
            with session(**{"spark.master": f"local[{workers}]"}) as spark:
                quiet = Console(quiet=True)
                # What a JVM has done before it does quicker: neither is the first.
                little = CAPTURES / "d-kill" / "requests.log.gz"
                replay_on_spark(spark, Home(path / f"before-{workers}"), little, {}, UTC, quiet)
                _confine(workers)
                found = replay_on_spark(spark, Home(path / f"by-{workers}"), log, {}, UTC, quiet)
                seconds[workers] = found.seconds
    _confine(os.cpu_count() or 1)
    yield Figure("lines_a_second_by_two_workers", lines / seconds[2], "lines/s")
    yield Figure("two_workers_to_one", seconds[1] / seconds[2], "times", at_least(1.6))


def _confine(cores: int) -> None:
    """This process and those that it started run on that many cores from now on."""
    for each in (psutil.Process(), *psutil.Process().children(recursive=True)):
        for thread in each.threads():
            os.sched_setaffinity(thread.id, range(cores))
