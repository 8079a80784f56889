"""A topic that a test writes, record by record, with what a consumer and a cluster say of it; without a broker.

Knows what confluent-kafka's consumer gives. Must not know what a record says.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, KafkaError, TopicPartition

from rollcall.inputs.following.following import Following
from rollcall.inputs.following.topic_source import TopicKept, TopicSource, find_topic
from rollcall.inputs.following.topic_tail import TopicTail
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_quarantine
from rollcall.tables.job_status import StatusWriter

RAW_MAX_BYTES = 1_000


class Message:
    """As the consumer gives it."""

    def __init__(self, record: LogRecord, error: KafkaError | None = None) -> None:
        self._record, self._error = record, error

    def error(self) -> KafkaError | None:
        return self._error

    def partition(self) -> int:
        return self._record.partition

    def offset(self) -> int:
        return self._record.offset

    def timestamp(self) -> tuple[int, int]:
        return 1, self._record.timestamp_ms

    def key(self) -> bytes | None:
        return self._record.key

    def value(self) -> bytes | None:
        return self._record.value


class WrittenTopic:
    """The topic, its cluster and its consumer, which is made anew by each start. names: of topics, by id."""

    def __init__(self, names: Mapping[str, str] | None = None) -> None:
        self.names_by_id = dict(names or {})
        self.records: list[LogRecord] = []
        self.ends: dict[int, int] = {}
        self.partitions = {0}
        self.is_away = False
        self.errors: list[tuple[int, int]] = []
        """Errors that the consumer gives next, each with its partition."""
        self.places: dict[int, int] = {}
        self._ended: set[tuple[int, int]] = set()

    # ------------------------------------------------------------ what is written

    def write(self, records: Sequence[LogRecord]) -> None:
        self.records += records
        for record in records:
            self.partitions.add(record.partition)
            self.ends[record.partition] = max(self.ends.get(record.partition, 0), record.offset + 1)

    def abort(self, partition: int, records: int) -> None:
        """Offsets that no reader of committed records gets."""
        self.ends[partition] = self.ends.get(partition, 0) + records

    # ------------------------------------------------------------ the cluster

    def partition_ids(self, within_s: float) -> list[int]:
        if self.is_away:
            raise OSError("nobody answers")
        return sorted(self.partitions)

    def ask_ends(self, partitions: Collection[int]) -> Mapping[int, Future[Any]]:
        found: dict[int, Future[Any]] = {}
        for partition in partitions:
            found[partition] = Future()
            found[partition].set_result(SimpleNamespace(offset=self.ends.get(partition, 0)))
        return found

    def names(self, topic_ids: Iterable[str]) -> dict[str, str]:
        return {one: self.names_by_id[one] for one in topic_ids if one in self.names_by_id}

    # ------------------------------------------------------------ the consumer

    def consumer(self, on_error: Callable[[KafkaError], None]) -> WrittenTopic:
        self.places, self._on_error = {}, on_error
        self._ended.clear()
        return self

    def assign(self, places: Sequence[TopicPartition]) -> None:
        self.places = {one.partition: 0 if one.offset == OFFSET_BEGINNING else one.offset for one in places}

    def consume(self, at_most: int, timeout: float) -> list[Message]:
        if self.is_away:
            self._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN))
            return []
        new = [one for one in self.records if one.offset >= self.places.get(one.partition, 1 << 62)][:at_most]
        for record in new:
            self.places[record.partition] = record.offset + 1
        found = [Message(record) for record in new]
        if len(new) < at_most:
            for partition in self.places:
                end = self.ends.get(partition, 0)
                if (partition, end) not in self._ended:
                    self._ended.add((partition, end))
                    place = LogRecord(partition, end, 0, None, None)
                    found.append(Message(place, KafkaError(KafkaError._PARTITION_EOF)))
        errors, self.errors = self.errors, []
        return found + [Message(LogRecord(where, -1, 0, None, None), KafkaError(what)) for where, what in errors]

    def close(self) -> None:
        self.places = {}


class Clock:
    """Stands still unless a test moves it."""

    def __init__(self) -> None:
        self.at_s = 1_000.0

    def __call__(self) -> float:
        return self.at_s

    def now_ms(self) -> float:
        return self.at_s * 1000


def started(folder: Path, topic: WrittenTopic, clock: Clock, *, has_commits: bool = True) -> Following:
    """A program that starts on a home, at its first start or after a kill."""
    home = Home(folder)
    home.path.mkdir(exist_ok=True)
    source = source_of(home, find_topic(home), topic, clock, has_commits=has_commits)
    return Following(home, source, StatusWriter(home.path), clock)


def source_of(
    home: Home, kept: TopicKept | None, topic: WrittenTopic, clock: Clock, *, has_commits: bool = True
) -> TopicSource:
    """What follows it from where the state says."""
    kept = kept or TopicKept()
    tail = TopicTail(topic.consumer, topic, kept.places, clock, clock.now_ms)
    return TopicSource(
        home,
        open_quarantine(home),
        kept,
        tail,
        names=topic.names,
        raw_max_bytes=RAW_MAX_BYTES,
        has_commits=has_commits,
        clock=clock,
    )
