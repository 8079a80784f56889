"""A shadow as users start it: how soon it shows its first group, and what it uses while nothing happens.

Must not know how a cluster or a log is read.
"""

from __future__ import annotations

import gzip
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from kafka import KafkaConsumer
from kafka.admin import KafkaAdminClient, NewTopic

from benchmarks.figures import Figure, at_most, bench
from benchmarks.processes import processor_seconds
from benchmarks.recorded_topic import real_broker
from benchmarks.spark_homes import folder

GROUP, TOPIC, PARTITIONS = "at-rest", "clicks", 4
LOG = Path(__file__).parents[1] / "tests" / "captures" / "d-kill" / "requests.log.gz"
GROUP_OF_LOG = "clicks-agg"
FIRST_GROUP_WITHIN_S, CORES_AT_REST = 15, 0.1
_WARM_UP_S, _FOR_S = 10.0, 60.0
_PATIENCE_S = 120.0


@bench
def of_a_cluster() -> Iterator[Figure]:
    """Of a group of two members that is there already: they only beat at first, then commit every five seconds."""
    with folder() as path, real_broker(path / "kafka", "group.initial.rebalance.delay.ms=0") as address:
        admin = KafkaAdminClient(bootstrap_servers=address)
        admin.create_topics([NewTopic(TOPIC, PARTITIONS, 1)])
        admin.close()
        with ExitStack() as members:
            members.enter_context(_two_members(address, has_commits=False))
            with _Shadow(path, GROUP, f"kafka://{address}") as shadow:
                yield Figure("cluster_first_group", shadow.first_group_s, "s", at_most(FIRST_GROUP_WITHIN_S))
                yield Figure("cluster_at_rest", shadow.cores(), "cores", at_most(CORES_AT_REST))
                members.pop_all().close()
                with _two_members(address, has_commits=True):
                    yield Figure("cluster_of_commits", shadow.cores(), "cores")


@bench
def of_a_log() -> Iterator[Figure]:
    """Of a log of some minutes that grows no more."""
    with folder() as path:
        log = path / "requests.log"
        log.write_bytes(gzip.decompress(LOG.read_bytes()))
        with _Shadow(path, GROUP_OF_LOG, str(log)) as shadow:
            yield Figure("log_first_group", shadow.first_group_s, "s", at_most(FIRST_GROUP_WITHIN_S))
            yield Figure("log_at_rest", shadow.cores(), "cores", at_most(CORES_AT_REST))


class _Shadow:
    """`rollcall shadow` from here to the end of the block, once it has said something of a group."""

    def __init__(self, folder: Path, group: str, source: str) -> None:
        command = [sys.executable, "-m", "jobs.rollcall", "shadow", "--home", str(folder / "home"), source]
        started = time.monotonic()
        self._process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONUNBUFFERED": "1"}
        )
        assert self._process.stdout is not None
        said = []
        for line in self._process.stdout:
            said.append(line)
            if f"{group}: " in line:
                self.first_group_s = time.monotonic() - started
                return
        raise RuntimeError("".join(said[-5:]))

    def cores(self) -> float:
        """What it and all that it started use of a core from now on, once it has come to rest."""
        time.sleep(_WARM_UP_S)
        before_s, started = processor_seconds(self._process.pid), time.monotonic()
        time.sleep(_FOR_S)
        return (processor_seconds(self._process.pid) - before_s) / (time.monotonic() - started)

    def __enter__(self) -> _Shadow:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.communicate(timeout=_PATIENCE_S)


@contextmanager
def _two_members(address: str, *, has_commits: bool) -> Iterator[None]:
    """A group of two consumers that own all partitions, and find nothing in them."""
    ends = threading.Event()
    owned: list[int] = [0, 0]

    def consume(number: int) -> None:
        consumer = KafkaConsumer(
            TOPIC,
            bootstrap_servers=address,
            group_id=GROUP,
            client_id=f"consumer-{number}",
            enable_auto_commit=has_commits,
        )
        while not ends.is_set():
            consumer.poll(timeout_ms=500)
            owned[number] = len(consumer.assignment())
        consumer.close()

    threads = [threading.Thread(target=consume, args=(number,)) for number in range(2)]
    try:
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + _PATIENCE_S
        while owned != [PARTITIONS // 2] * 2:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the consumers own {owned} partitions")
            time.sleep(0.1)
        yield
    finally:
        ends.set()
        for thread in threads:
            thread.join()
