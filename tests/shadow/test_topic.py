"""A request log's lines from a topic: merged over its partitions, each once, from where they were read up to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import msgspec
import pytest
from kafka import TopicPartition

from jobs.stream.sources.request_log_topic import TopicTail, servers_and_topic
from request_log.lines.files import LogFileError
from request_log.lines.tail import Position
from tests.shadow.numbered import line, number_of

UTC = ZoneInfo("UTC")
TOPIC = "lines"


class Record(NamedTuple):
    offset: int
    value: bytes | None
    timestamp: int = 0


class Topic:
    """A topic and its consumer in one: each poll gives so many records of one partition, partitions in turn."""

    def __init__(self, partitions: int, at_once: int = 3) -> None:
        self.records: dict[int, list[Record]] = {n: [] for n in range(partitions)}
        self.at_once = at_once
        self._next: dict[int, int] = {}
        self._fetched: set[int] = set()
        self._turns = self._in_turn()

    def append(self, partition: int, value: bytes | None) -> None:
        self.records[partition].append(Record(len(self.records[partition]), value))

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        return set(self.records) if topic == TOPIC else None

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._next = {partition.partition: 0 for partition in partitions}
        self._fetched.clear()

    def seek(self, partition: TopicPartition, offset: int) -> None:
        self._next[partition.partition] = offset

    def seek_to_beginning(self, *partitions: TopicPartition) -> None:
        for partition in partitions:
            self._next[partition.partition] = 0

    def position(self, partition: TopicPartition) -> int | None:
        return self._next[partition.partition]

    def highwater(self, partition: TopicPartition) -> int | None:
        """As a real consumer's, it is known once records of the partition have come."""
        n = partition.partition
        return len(self.records[n]) if n in self._fetched else None

    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]:
        return {partition: len(self.records[partition.partition]) for partition in partitions}

    def poll(self, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Any]]:
        partition = next(self._turns)
        at = self._next[partition]
        found = self.records[partition][at : at + min(self.at_once, max_records)]
        self._next[partition] = at + len(found)
        self._fetched |= {partition} if found else set()
        return {TopicPartition(TOPIC, partition): found} if found else {}

    def close(self) -> None:
        self._next.clear()

    def _in_turn(self) -> Iterator[int]:
        while True:
            yield from self.records


def test_partitions_are_merged_by_time_and_read_on_from_a_position() -> None:
    topic = Topic(3)
    for n in range(1, 91):
        topic.append(n * n % 3 if n < 60 else 0, line(n))
    found: list[int] = []
    position = Position()
    while len(found) < 90:
        tail = TopicTail(topic, TOPIC, UTC, position)
        for _ in range(7):
            found += [number_of(each.text) for each in tail.poll(10)]
        position = msgspec.msgpack.decode(msgspec.msgpack.encode(tail.position), type=Position)
    assert found == list(range(1, 91))
    assert position.number == 90


def test_a_record_may_hold_several_lines_or_none() -> None:
    topic = Topic(1)
    topic.append(0, line(1) + line(2))
    topic.append(0, None)
    topic.append(0, line(3).rstrip() + b"\r\n")
    lines = TopicTail(topic, TOPIC, UTC, Position()).poll(10)
    assert [each.text for each in lines] == [line(1)[:-1], line(2)[:-1], b"", line(3)[:-1]]
    assert [(each.file, each.number) for each in lines] == [(TOPIC, 1), (TOPIC, 2), (TOPIC, 3), (TOPIC, 4)]


def test_a_topic_that_is_not_there_is_named() -> None:
    with pytest.raises(LogFileError, match="no such topic"):
        TopicTail(Topic(1), "other", UTC, Position())


def test_a_topics_url_names_servers_and_topic() -> None:
    assert servers_and_topic("kafka://a:9092,b:9092/broker-lines") == (["a:9092", "b:9092"], "broker-lines")
    for url in ("kafka:///lines", "kafka://a:9092", "kafka://a:9092/x/y"):
        with pytest.raises(LogFileError, match="host:port/topic"):
            servers_and_topic(url)


@pytest.mark.parametrize("url", ["kafka://a/lines", "kafka://a:x/lines", "kafka://:9092/lines", "http://a:9092/lines"])
def test_an_address_that_no_server_has_is_refused(url: str) -> None:
    with pytest.raises(LogFileError, match="is not of the form kafka://host:port/topic"):
        servers_and_topic(url)
