"""A cluster of one, two and three workers of one core each: what a request costs, by workers and by partitions.

All figures are processor time, of the driver and of the executors apart, so that neither the number of this machine's
cores nor what else runs on it changes them much. The home is on this machine's disk, the writer is the cluster's, the
state is in RocksDB. Knows what is measured; how a cluster is run is `spark_cluster`'s.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import mean
from typing import NamedTuple
from zoneinfo import ZoneInfo

from pyspark.sql import SparkSession
from rich.console import Console

from benchmarks.bench_streaming import LONG_SESSIONS, heartbeat, run_of, stabilize
from benchmarks.busy_log import write_busy_log
from benchmarks.figures import Figure, bench
from benchmarks.processes import processor_seconds
from benchmarks.spark_cluster import SparkCluster, spark_cluster
from benchmarks.spark_homes import LiveHome, folder, session
from jobs.home import Home
from jobs.repartition import SETTINGS
from jobs.replay.on_spark import replay_on_spark
from jobs.spark.jars import ROOT, jar_paths
from schemas.tables import CHECKPOINT_FOLDER

GROUPS, MEMBERS, BEATS = 1_000, 10, 5
"""Groups, members in each, and heartbeats of each member in a round."""
ROUNDS, IDLE = 3, 5
PER = 100_000
COPIES = 4
"""Of the busy log: how long it is."""


class Used(NamedTuple):
    """Processor seconds."""

    driver: float
    executors: float


@bench
def workers() -> Iterator[Figure]:
    """Heartbeats, idle batches and a replay with four partitions on 1, 2 and 3 workers."""
    for count in (1, 2, 3):
        yield from _measured(count, 4, f"{count}_workers", has_replay=True)


@bench
def partitions() -> Iterator[Figure]:
    """Heartbeats and idle batches on two workers with 2, 8 and 16 partitions."""
    for count in (2, 8, 16):
        yield from _measured(2, count, f"{count}_partitions", has_replay=False)


def _measured(workers: int, partitions: int, name: str, *, has_replay: bool) -> Iterator[Figure]:
    with folder() as path, spark_cluster(path, workers) as cluster:
        settings = {
            **SETTINGS,
            "spark.master": cluster.master,
            "spark.sql.shuffle.partitions": str(partitions),
            "spark.driver.memory": "1g",
            "spark.executor.memory": "600m",
            "spark.executor.extraClassPath": os.pathsep.join(jar_paths()),
            "spark.executorEnv.PYTHONPATH": str(ROOT),
        }
        with session(**settings) as spark:
            home = LiveHome(spark, path / "home", {**LONG_SESSIONS, "spark.coordinator.effects.writer": "cluster"})
            members = stabilize(home, [MEMBERS] * GROUPS)
            _beats(home, members, "warm")
            before, commits = _files(home.home.path), _commits(home.home)
            beats = _used(cluster, partial(_beats, home, members, "measured"))
            yield from _of(f"100000_heartbeats_{name}", beats, PER / (GROUPS * MEMBERS * BEATS))
            runs = _used(cluster, partial(_runs, home, members))
            yield from _of(f"batch_of_{GROUPS}_runs_{name}", runs, 1 / ROUNDS)
            idle = _used(cluster, lambda: home.idle_batches(IDLE))
            yield from _of(f"idle_batch_{name}", idle, 1 / IDLE)
            yield Figure(f"files_a_batch_{name}", (_files(home.home.path) - before) / (1 + ROUNDS + IDLE), "files")
            new = [size for commit, size in _commits(home.home).items() if commit not in commits]
            yield Figure(f"commit_bytes_{name}", mean(new), "bytes")
            state = home.query.lastProgress
            assert state is not None
            yield Figure(f"state_bytes_a_group_{name}", state.stateOperators[0].memoryUsedBytes / GROUPS, "bytes")
            home.stop()
            if has_replay:
                lines, replay = _replay(cluster, path, spark)
                yield from _of(f"100000_replayed_lines_{name}", replay, PER / lines)


def _of(name: str, used: Used, times: float) -> Iterator[Figure]:
    yield Figure(f"executors_s_{name}", used.executors * times, "s")
    yield Figure(f"driver_s_{name}", used.driver * times, "s")


def _beats(home: LiveHome, members: list[str], name: str) -> None:
    """Heartbeats one by one, in one batch."""
    home.append_and_wait(
        [
            heartbeat(n // MEMBERS, member, f"{name}-{n}-{beat}")
            for n, member in enumerate(members)
            for beat in range(BEATS)
        ]
    )


def _runs(home: LiveHome, members: list[str]) -> None:
    """The same packed as a gateway packs them: a run a group, in one batch each round."""
    for turn in range(ROUNDS):
        home.append_and_wait([run_of(n, members[n * MEMBERS : (n + 1) * MEMBERS], turn) for n in range(GROUPS)])


def _replay(cluster: SparkCluster, path: Path, spark: SparkSession) -> tuple[int, Used]:
    lines = write_busy_log(path / "requests.log", COPIES)
    home, quiet = Home(path / "replayed"), Console(quiet=True)

    def run() -> None:
        replay_on_spark(spark, home, path / "requests.log", {}, ZoneInfo("UTC"), quiet)

    return lines, _used(cluster, run)


def _used(cluster: SparkCluster, work: Callable[[], object]) -> Used:
    """What a piece of work costs the driver, this process and its JVM, and the workers with all that they started."""
    executors = cluster.workers_seconds()
    driver = processor_seconds(os.getpid()) - executors
    work()
    # What a batch leaves to be done after its commit is its cost as well.
    time.sleep(1)
    executors_after = cluster.workers_seconds()
    return Used(processor_seconds(os.getpid()) - executors_after - driver, executors_after - executors)


def _commits(home: Home) -> dict[str, int]:
    """The effects table's commits, and how large each is."""
    return {path.name: path.stat().st_size for path in Path(home.effects).glob("_delta_log/*.json")}


def _files(home: Path) -> int:
    """How many files the checkpoint has."""
    return sum(len(files) for _, _, files in os.walk(home / CHECKPOINT_FOLDER))
