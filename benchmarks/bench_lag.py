"""What it costs to know where logs end, and to ask: 10,000 partitions of 1,000 groups, asked every ten seconds.

Three brokers of librdkafka's mock cluster answer, in a process of their own. Their logs are empty, so every answer is
raised by what a producer would have sent. The sampler's clock is the bench's, so that two minutes pass in as much time
as its work takes. Knows the sampler; must not know what is made of ends.
"""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Collection, Iterator
from multiprocessing.connection import Connection
from pathlib import Path
from random import Random

import psutil
from deltalake import DeltaTable

from benchmarks.figures import Figure, at_most, bench
from benchmarks.lag_day import DAY_MS, END_MS, MINUTE_MS, append_effects, committed, write_day
from benchmarks.processes import folder
from duck_sql.engine import ask
from jobs.config import JobConfig
from jobs.home import Home
from jobs.shadow.listed_offsets import ListedOffsets
from jobs.shadow.log_ends_sampler import INTERVAL_MS, Listed, LogEndsSampler, Partition
from jobs.stream.upkeep import kept_of
from tables.upkeep import tend

TOPICS, PARTITIONS_OF_ONE, GROUPS = 2500, 4, 1000
SAMPLES = 12
BEGIN_MS = 1_772_334_720_000


@bench
def sampling_10000_partitions() -> Iterator[Figure]:
    """The sampler's share of a core and its memory, and what a day of its rows takes on the disk."""
    ours, theirs = multiprocessing.Pipe()
    brokers = multiprocessing.get_context("spawn").Process(target=_brokers, args=(theirs,))
    brokers.start()
    try:
        servers = ours.recv()
        with folder() as path:
            yield from _sampled(Home(path), servers)
    finally:
        brokers.terminate()
        brokers.join()


@bench
def asking_a_day() -> Iterator[Figure]:
    """Every partition's lag, and a group's over time, of a day in which groups commit each ten minutes, or minutely.

    Upkeep has been there, as in every home that a job writes. Without it each commit's detail is read, 1.9 GB of JSON
    where each minute has one.
    """
    for name, every_ms in (("10_minutes", 10 * MINUTE_MS), ("1_minute", MINUTE_MS)):
        with folder() as path:
            yield Figure(f"day_committed_each_{name}", write_day(path, every_ms), "rows")
            tend(kept_of("effects", Home(path), JobConfig()), END_MS, thorough=False)
            lag = "select * from lag"
            yield Figure(f"lag_committed_each_{name}", _asked_s(path, lag), "s", at_most(1.0))
            before = _asked_s(path, lag, END_MS - MINUTE_MS)
            yield Figure(f"lag_a_minute_before_each_{name}", before, "s", at_most(1.0))
            of_one = "select * from lag_history where group_id = 'group-0007'"
            yield Figure(f"history_committed_each_{name}", 1000 * _asked_s(path, of_one), "ms", at_most(300))


def _asked_s(home: Path, query: str, until_ms: int | None = None) -> float:
    """The second time: the first loads what is loaded once."""
    for _ in range(2):
        begun_s = time.monotonic()
        assert sum(1 for _ in ask(home, query, until_ms).rows)
    return time.monotonic() - begun_s


def _brokers(answer: Connection) -> None:
    """Serves the topics until it is terminated."""
    from confluent_kafka import Producer

    producer = Producer({"test.mock.num.brokers": 3, "log_level": 0})
    for number in range(TOPICS):
        producer.list_topics(_topic(number), 30)
    found = producer.list_topics(timeout=30).brokers.values()
    answer.send(",".join(f"{broker.host}:{broker.port}" for broker in found))
    time.sleep(3600)


class _Written(ListedOffsets):
    """A cluster to whose partitions up to a thousand records are written between any two samples."""

    def __init__(self, servers: str) -> None:
        super().__init__({"bootstrap.servers": servers})
        self._random, self._ends = Random(7), dict[Partition, int]()

    def ends(self, partitions: Collection[Partition]) -> Listed:
        found = super().ends(partitions)
        for key in found.offsets:
            self._ends[key] = self._ends.get(key, 0) + self._random.randrange(1, 1000)
        return Listed({key: self._ends[key] for key in found.offsets}, found.refused)


def _sampled(home: Home, servers: str) -> Iterator[Figure]:
    _commit(home, BEGIN_MS)
    process = psutil.Process()
    rss_before = process.memory_info().rss
    cluster = _Written(servers)
    sampler = LogEndsSampler(home, cluster)
    sampler.step(BEGIN_MS)
    spent_s = 0.0
    for number in range(1, SAMPLES + 1):
        now_ms = BEGIN_MS + number * INTERVAL_MS
        _commit(home, now_ms)
        begun_s = time.process_time()
        sampler.step(now_ms)
        sampler.step(now_ms + INTERVAL_MS // 2)
        spent_s += time.process_time() - begun_s
    yield Figure("sampler_of_a_core", 100 * spent_s / (SAMPLES * INTERVAL_MS / 1000), "%", at_most(10))
    yield Figure("sampler_memory", (process.memory_info().rss - rss_before) / 2**20, "MB", at_most(150))
    tend(kept_of("log_ends", home, JobConfig()), BEGIN_MS + SAMPLES * INTERVAL_MS, thorough=True)
    table = DeltaTable(home.log_ends)
    rows = table.to_pyarrow_dataset().count_rows()
    size = sum(Path(uri.removeprefix("file://")).stat().st_size for uri in table.file_uris())
    config = JobConfig()
    full = config.lag_full_minutes * MINUTE_MS / INTERVAL_MS
    thinned = (DAY_MS - config.lag_full_minutes * MINUTE_MS) / config.lag_thinned_interval_ms
    of_a_day = (full + thinned) * TOPICS * PARTITIONS_OF_ONE * size / rows
    yield Figure("ends_of_a_day", of_a_day / 2**20, "MB", at_most(300))


def _commit(home: Home, at_ms: int) -> None:
    """Each group commits all of its partitions in one request."""
    own = TOPICS // GROUPS + 1
    effects = []
    for group in range(GROUPS):
        topics = [_topic((group * own + place) % TOPICS) for place in range(own)]
        offsets = {(topic, number): at_ms - BEGIN_MS for topic in topics for number in range(PARTITIONS_OF_ONE)}
        effects.append((f"g{group}", committed(at_ms, offsets)))
    append_effects(home.path, effects)


def _topic(number: int) -> str:
    return f"topic-{number:04}"
