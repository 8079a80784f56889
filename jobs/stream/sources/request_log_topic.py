"""The lines of a broker's request log from a Kafka topic, into which a log shipper writes them.

A record's value is one line or several. Partitions are merged by the timestamps of their lines. The reader joins no
group and commits no offset: its caller keeps the position. Knows topics and timestamps; must not know what a line says.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol
from zoneinfo import ZoneInfo

from confluent_kafka import OFFSET_BEGINNING, KafkaError, KafkaException, TopicPartition
from confluent_kafka import Consumer as KafkaConsumer

from jobs.stream.sources.cluster_url import SCHEME, ClusterUrl
from request_log.lines.clock import LogClock
from request_log.lines.files import LogFileError, LogLine
from request_log.lines.tail import Position

POLL_S = 0.05
BOOTSTRAP_S = 10.0
_SETTINGS = {
    "client.id": "rollcall-shadow",
    # The library asks for the name of a group; none is joined, for partitions are assigned here.
    "group.id": "rollcall-shadow",
    "enable.auto.commit": "false",
    "auto.offset.reset": "earliest",
    "enable.partition.eof": "true",
}
_REFUSALS = (KafkaError.TOPIC_AUTHORIZATION_FAILED, KafkaError.UNKNOWN_TOPIC_OR_PART)
# The library writes a line a second while a broker is away.
_quiet = logging.getLogger("jobs.kafka")
_quiet.setLevel(logging.CRITICAL)


class Message(Protocol):
    """A record, or what became of a partition, by the methods of confluent-kafka's that are used here."""

    def error(self) -> KafkaError | None: ...
    def partition(self) -> int | None: ...
    def offset(self) -> int | None: ...
    def value(self) -> bytes | None: ...
    def timestamp(self) -> tuple[int, int]: ...


class Consumer(Protocol):
    """The methods of confluent-kafka's consumer that are used here once its topic is known."""

    def assign(self, partitions: list[TopicPartition], /) -> None: ...
    def consume(self, num_messages: int, timeout: float) -> Sequence[Message]: ...
    def close(self) -> None: ...


class _Read(NamedTuple):
    """A record that was read."""

    at_ms: int
    """The timestamp of its first line; the record's own if that line has none."""
    text: bytes
    next_offset: int
    """The offset after the record."""


class TopicTail:
    """Follows a topic: `poll` gives the new lines, and `position` is where the next poll goes on."""

    def __init__(
        self, consumer: Consumer, topic: str, partitions: list[int], zone: ZoneInfo, position: Position
    ) -> None:
        self.topic = topic
        self.position = position
        self._consumer = consumer
        self._clock = LogClock(zone)
        self._ahead: dict[int, deque[_Read]] = {partition: deque() for partition in sorted(partitions)}
        self._at_end: set[int] = set()
        """The partitions that were read to their ends at the last look."""
        consumer.assign([TopicPartition(topic, n, position.offsets.get(n, OFFSET_BEGINNING)) for n in self._ahead])

    def poll(self, lines_at_most: int) -> list[LogLine]:
        """The new lines, at most about this many. Raises LogFileError: the topic is gone, or not for this user."""
        for message in self._consumer.consume(lines_at_most, POLL_S):
            self._take(message)
        lines: list[LogLine] = []
        # A partition that has records which were not read yet may have the earliest of all.
        while len(lines) < lines_at_most and all(ahead or n in self._at_end for n, ahead in self._ahead.items()):
            partition = min((n for n, ahead in self._ahead.items() if ahead), key=self._next_ms, default=None)
            if partition is None:
                break
            record = self._ahead[partition].popleft()
            self.position.offsets[partition] = record.next_offset
            lines += [self._line(text) for text in record.text.removesuffix(b"\n").split(b"\n")]
        return lines

    def close(self) -> None:
        self._consumer.close()

    def _take(self, message: Message) -> None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is None and partition is not None and offset is not None:
            text = message.value() or b""
            self._ahead[partition].append(
                _Read(self._clock.read(text) or max(message.timestamp()[1], 0), text, offset + 1)
            )
            self._at_end.discard(partition)
        elif error is not None and error.code() == KafkaError._PARTITION_EOF and partition is not None:
            self._at_end.add(partition)
        elif error is not None and error.code() in _REFUSALS:
            raise LogFileError(f"LOG={SCHEME}.../{self.topic}: {error.str()}")

    def _next_ms(self, partition: int) -> int:
        return self._ahead[partition][0].at_ms

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
    consumer = KafkaConsumer({**_SETTINGS, "bootstrap.servers": ",".join(servers)}, logger=_quiet)
    try:
        found = consumer.list_topics(topic, BOOTSTRAP_S).topics[topic]
    except KafkaException as error:
        consumer.close()
        raise LogFileError(f"LOG={url}: no broker there gives that topic: {error.args[0].str()}") from None
    if found.error is not None or not found.partitions:
        consumer.close()
        raise LogFileError(f"LOG={SCHEME}.../{topic}: there is no such topic")
    return TopicTail(consumer, topic, list(found.partitions), zone, position)


def servers_and_topic(url: str) -> tuple[list[str], str]:
    """The servers and the topic of such a URL. Raises LogFileError: it names no servers or no topic."""
    try:
        found = ClusterUrl.from_text(url)
    except ValueError:
        found = None
    if found is None or not found.topic:
        raise LogFileError(f"LOG={url}: is not of the form {SCHEME}host:port/topic")
    return found.server_texts, found.topic
