"""The lines of a broker's request log from a Kafka topic, into which a log shipper writes them.

A record's value is one line or several. Partitions are merged by the timestamps of their lines. The reader joins no
group and commits no offset: its caller keeps the position. Knows topics and timestamps; must not know what a line says.
"""

from __future__ import annotations

from collections import deque
from typing import Any, NamedTuple, Protocol
from zoneinfo import ZoneInfo

from kafka import KafkaConsumer, TopicPartition
from kafka.errors import KafkaError

from jobs.stream.sources.cluster_url import SCHEME, ClusterUrl
from request_log.lines.clock import LogClock
from request_log.lines.files import LogFileError, LogLine
from request_log.lines.tail import Position

POLL_MS = 50
BOOTSTRAP_MS = 10_000


class Consumer(Protocol):
    """The methods of `KafkaConsumer` that are used here."""

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
    """A record that was read."""

    at_ms: int
    """The timestamp of its first line; the record's own where that line has none."""
    text: bytes
    next_offset: int
    """The offset after the record."""


class TopicTail:
    """Follows a topic: `poll` gives the new lines, and `position` is where the next poll goes on."""

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
        """The new lines, about so many at most."""
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
        """Whether a partition has records that were not read yet, one of which may be the earliest of all."""
        if self._ahead[partition]:
            return False
        # The consumer knows no high watermark before a partition's first records have come.
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
    """Opens the topic of `kafka://host:port,host:port/topic`. Raises LogFileError: no such topic, no broker answers."""
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
    """The servers and the topic of such a URL. Raises LogFileError: it names no servers or no topic."""
    try:
        found = ClusterUrl.from_text(url)
    except ValueError:
        found = None
    if found is None or not found.topic:
        raise LogFileError(f"LOG={url}: is not of the form {SCHEME}host:port/topic")
    return found.server_texts, found.topic
