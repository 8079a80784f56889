"""A request log's lines from a topic: merged over its partitions, each once, from where they were read up to."""

from __future__ import annotations

from collections.abc import Iterator
from zoneinfo import ZoneInfo

import msgspec
import pytest
from confluent_kafka import KafkaError, TopicPartition

from jobs.stream.sources.request_log_topic import Message, TopicTail, servers_and_topic
from request_log.lines.files import LogFileError
from request_log.lines.tail import Position
from tests.shadow.numbered import line, number_of

UTC = ZoneInfo("UTC")
TOPIC = "lines"


class Sent:
    """A record that the consumer gives, or (value ...) that a partition has no more."""

    def __init__(self, partition: int, offset: int, value: bytes | None, *, is_end: bool = False) -> None:
        self._partition, self._offset, self._value, self._is_end = partition, offset, value, is_end

    def error(self) -> KafkaError | None:
        return KafkaError(KafkaError._PARTITION_EOF) if self._is_end else None

    def partition(self) -> int:
        return self._partition

    def offset(self) -> int:
        return self._offset

    def value(self) -> bytes | None:
        return self._value

    def timestamp(self) -> tuple[int, int]:
        return 0, -1


class Topic:
    """A topic and its consumer in one: each poll gives so many records of one partition, partitions in turn."""

    def __init__(self, partitions: int, at_once: int = 3) -> None:
        self.records: dict[int, list[Sent]] = {n: [] for n in range(partitions)}
        self.at_once = at_once
        self._next: dict[int, int] = {}
        self._turns = self._in_turn()

    def append(self, partition: int, value: bytes | None) -> None:
        self.records[partition].append(Sent(partition, len(self.records[partition]), value))

    def assign(self, partitions: list[TopicPartition]) -> None:
        self._next = {one.partition: max(one.offset, 0) for one in partitions}

    def consume(self, num_messages: int, timeout: float) -> list[Message]:
        partition = next(self._turns)
        at = self._next[partition]
        found: list[Message] = [*self.records[partition][at : at + min(self.at_once, num_messages)]]
        self._next[partition] = at = at + len(found)
        if at == len(self.records[partition]):
            found.append(Sent(partition, at, None, is_end=True))
        return found

    def tail(self, position: Position) -> TopicTail:
        return TopicTail(self, TOPIC, list(self.records), UTC, position)

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
        tail = topic.tail(position)
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
    lines = topic.tail(Position()).poll(10)
    assert [each.text for each in lines] == [line(1)[:-1], line(2)[:-1], b"", line(3)[:-1]]
    assert [(each.file, each.number) for each in lines] == [(TOPIC, 1), (TOPIC, 2), (TOPIC, 3), (TOPIC, 4)]


def test_a_topic_that_is_taken_away_is_named() -> None:
    class Gone(Sent):
        def error(self) -> KafkaError:
            return KafkaError(KafkaError.UNKNOWN_TOPIC_OR_PART)

    topic = Topic(1)
    topic.records[0].append(Gone(0, 0, None))
    with pytest.raises(LogFileError, match=r"LOG=kafka://\.\.\./lines: "):
        topic.tail(Position()).poll(10)


def test_a_topics_url_names_servers_and_topic() -> None:
    assert servers_and_topic("kafka://a:9092,b:9092/broker-lines") == (["a:9092", "b:9092"], "broker-lines")
    for url in ("kafka:///lines", "kafka://a:9092", "kafka://a:9092/x/y"):
        with pytest.raises(LogFileError, match="host:port/topic"):
            servers_and_topic(url)


@pytest.mark.parametrize("url", ["kafka://a/lines", "kafka://a:x/lines", "kafka://:9092/lines", "http://a:9092/lines"])
def test_an_address_that_no_server_has_is_refused(url: str) -> None:
    with pytest.raises(LogFileError, match="is not of the form kafka://host:port/topic"):
        servers_and_topic(url)
