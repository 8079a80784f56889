"""The lines of a broker's request log from a Kafka topic, as a shipper puts them there, and how far they were read.

A record's value is a line, or several; partitions are merged by the lines' timestamps, so none runs ahead of another
one. No group is joined and nothing is committed: the position is kept by whoever reads. Knows topics and timestamps;
must not know what a line says.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from request_log.lines.clock import LogClock
from request_log.lines.files import LogFileError, LogLine
from request_log.lines.tail import Position

SCHEME = "kafka://"
POLL_MS = 50
BOOTSTRAP_MS = 10_000


class Consumer(Protocol):
    """What is used of a `KafkaConsumer`."""

    def partitions_for_topic(self, topic: str) -> set[int] | None: ...
    def assign(self, partitions: list[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def seek_to_beginning(self, *partitions: TopicPartition) -> None: ...
    def position(self, partition: TopicPartition) -> int | None: ...
    def highwater(self, partition: TopicPartition) -> int | None: ...
    def end_offsets(self, partitions: list[TopicPartition]) -> dict[TopicPartition, int]: ...
    def poll(self, timeout_ms: int, max_records: int) -> dict[TopicPartition, list[Any]]: ...
    def close(self) -> None: ...


class _Read(NamedTuple):
    """A record's text: its first line's timestamp, and the offset behind it."""

    at_ms: int
    text: bytes
    next_offset: int


class TopicTail:
    """Follows a topic. `poll` gives what was written since; `position` is behind it."""

    def __init__(self, consumer: Consumer, topic: str, zone: ZoneInfo, position: Position) -> None:
        """Raises LogFileError: there is no such topic."""
        self.topic = topic
        self.position = position
        self._consumer = consumer
        self._clock = LogClock(zone)
        partitions = sorted(consumer.partitions_for_topic(topic) or ())
        if not partitions:
            raise LogFileError(f"LOG={SCHEME}.../{topic}: there is no such topic")
        self._ahead: dict[TopicPartition, deque[_Read]] = {TopicPartition(topic, n): deque() for n in partitions}
        consumer.assign(list(self._ahead))
        self._ends = consumer.end_offsets(list(self._ahead))
        for partition in self._ahead:
            if partition.partition in position.offsets:
                consumer.seek(partition, position.offsets[partition.partition])
            else:
                consumer.seek_to_beginning(partition)

    def poll(self, lines_at_most: int) -> list[LogLine]:
        """The lines that were written since, about so many at most."""
        for partition, records in self._consumer.poll(timeout_ms=POLL_MS, max_records=lines_at_most).items():
            self._ahead[partition] += [self._read(record) for record in records]
        lines: list[LogLine] = []
        while len(lines) < lines_at_most and not any(self._awaits(partition) for partition in self._ahead):
            partition = min((p for p, ahead in self._ahead.items() if ahead), key=self._next_ms, default=None)
            if partition is None:
                break
            record = self._ahead[partition].popleft()
            self.position.offsets[partition.partition] = record.next_offset
            lines += [self._line(text) for text in record.text.removesuffix(b"\n").split(b"\n")]
        return lines

    def close(self) -> None:
        self._consumer.close()

    def _read(self, record: Any) -> _Read:
        text: bytes = record.value or b""
        return _Read(self._clock.read(text) or record.timestamp or 0, text, record.offset + 1)

    def _next_ms(self, partition: TopicPartition) -> int:
        return self._ahead[partition][0].at_ms

    def _awaits(self, partition: TopicPartition) -> bool:
        """Whether a partition has records that were not read, and may be the next in time."""
        if self._ahead[partition]:
            return False
        # Unknown until the first records of a partition have come.
        end = self._consumer.highwater(partition) or self._ends[partition]
        return (self._consumer.position(partition) or 0) < end

    def _line(self, text: bytes) -> LogLine:
        position = self.position
        position.number += 1
        at_ms = self._clock.read(text)
        if at_ms is not None:
            position.at_ms = at_ms
        return LogLine(self.topic, position.number, position.at_ms, text.rstrip(b"\r"))


def open_topic(url: str, zone: ZoneInfo, position: Position) -> TopicTail:
    """The topic of `kafka://host:port,host:port/topic`. Raises LogFileError, by a sentence."""
    servers, topic = servers_and_topic(url)
    try:
        consumer = KafkaConsumer(
            bootstrap_servers=servers,
            bootstrap_timeout_ms=BOOTSTRAP_MS,
            client_id="rollcall-shadow",
            group_id=None,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
        )
        return TopicTail(consumer, topic, zone, position)
    except KafkaError as error:
        raise LogFileError(f"LOG={url}: no broker there gives that topic: {error}") from None


def servers_and_topic(url: str) -> tuple[list[str], str]:
    """Raises LogFileError: the URL names no servers or no topic."""
    parts = urlsplit(url)
    topic = parts.path.strip("/")
    if not parts.netloc or not topic or "/" in topic:
        raise LogFileError(f"LOG={url}: is not of the form {SCHEME}host:port/topic")
    return parts.netloc.split(","), topic
