"""A growing topic: the records of all its partitions as they are written, and a position in each from which to
continue.

Aborted transactions never come, and an open one holds its partition up. Knows the consumer of confluent-kafka, which
joins no group here. Must not know what a record says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Message, TopicPartition

from rollcall.inputs.following.source import InputLost
from rollcall.inputs.offsets_topic import TOPIC
from rollcall.inputs.offsets_topic.dumps.log_record import LogRecord
from rollcall.programs.log_lines import tell

Places = dict[int, int]
"""By partition, the offset of the next record."""
GROUP_ID = "rollcall-shadow"
"""The consumer cannot be made without a group, and asks for its coordinator. It neither joins it nor commits."""
LOOK_EVERY_S = 60.0
"""How often the cluster is asked which partitions the topic has; more often while it is away."""
AWAY_EVERY_S = 5.0
_SETTINGS: dict[str, Any] = {
    "client.id": GROUP_ID,
    "group.id": GROUP_ID,
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "isolation.level": "read_committed",
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "queued.max.messages.kbytes": 8_192,
}
_FATAL = {
    KafkaError._AUTO_OFFSET_RESET: "records are gone from the topic that were not read yet",
    KafkaError.OFFSET_OUT_OF_RANGE: "records are gone from the topic that were not read yet",
    KafkaError.TOPIC_AUTHORIZATION_FAILED: "this user has no right READ on it",
    KafkaError._UNKNOWN_TOPIC: "the topic is gone",
    KafkaError._AUTHENTICATION: "",
    KafkaError.SASL_AUTHENTICATION_FAILED: "",
}
"""Errors after which the topic cannot be followed, with a reason; empty: the client's own words."""


class Cluster(Protocol):
    """The cluster of the topic."""

    def partition_ids(self, within_s: float) -> list[int]:
        """The topic's partitions. Raises OSError: the cluster does not answer."""

    def ask_ends(self, partitions: Collection[int]) -> Mapping[int, Future[Any]]:
        """Where each partition ends for who reads committed records: answers that have an `offset`."""


def consumer_of(settings: Mapping[str, Any], on_error: Callable[[KafkaError], None], logger: Any) -> Consumer:
    return Consumer({**settings, **_SETTINGS, "error_cb": on_error}, logger=logger)


class TopicTail:
    """Follows all partitions. make_consumer: called with what to do about an error. clock: seconds."""

    def __init__(
        self,
        make_consumer: Callable[[Callable[[KafkaError], None]], Any],
        cluster: Cluster,
        places: Mapping[int, int],
        clock: Callable[[], float] = time.monotonic,
        now_ms: Callable[[], float] = lambda: time.time() * 1000,
    ) -> None:
        self.position: Places = dict(places)
        self._cluster, self._clock, self._now_ms = cluster, clock, now_ms
        self._consumer = make_consumer(self._take_error)
        self._partitions: set[int] = set()
        self._is_away = False
        self._failure: KafkaError | None = None
        self._asked: tuple[int, Mapping[int, Future[Any]]] | None = None
        """When it was asked for the ends, and the answers."""
        self._until_ms: int | None = None
        self._look_at = clock()

    def poll(self, at_most: int) -> Sequence[LogRecord]:
        """The next records. Raises InputLost, once all that came before are given."""
        if self._clock() >= self._look_at:
            self._look_at_topic()
        messages = self._consumer.consume(at_most, 0)
        records = [record for message in messages if (record := self._record_in(message)) is not None]
        if self._failure is not None and not records:
            why = _FATAL.get(self._failure.code()) or self._failure.str()
            raise InputLost(f"{TOPIC}: {why} ({self._failure.name()}).")
        return records

    def close(self) -> None:
        self._consumer.close()

    def read_until_ms(self) -> int | None:
        """All records before this time were read; None: not known yet."""
        if self._asked is not None and all(answer.done() for answer in self._asked[1].values()):
            asked_ms, answers = self._asked
            try:
                ends = {partition: answer.result().offset for partition, answer in answers.items()}
            except KafkaException:
                self._asked = None
                return self._until_ms
            if all(self.position.get(partition, 0) >= end for partition, end in ends.items()):
                self._until_ms, self._asked = asked_ms, None
        if self._asked is None and self._partitions:
            self._asked = (int(self._now_ms()), self._cluster.ask_ends(self._partitions))
        return self._until_ms

    def _look_at_topic(self) -> None:
        """Reads partitions that have come to the topic as well, from their beginning."""
        try:
            found = set(self._cluster.partition_ids(AWAY_EVERY_S / 2))
        except OSError:
            if not self._is_away:
                tell("the cluster does not answer; the shadow continues when it does", is_error=True)
            self._is_away = True
            self._look_at = self._clock() + AWAY_EVERY_S
            return
        self._is_away = False
        self._look_at = self._clock() + LOOK_EVERY_S
        if found - self._partitions:
            self._partitions |= found
            self._consumer.assign(
                [TopicPartition(TOPIC, one, self.position.get(one, OFFSET_BEGINNING)) for one in self._partitions]
            )

    def _record_in(self, message: Message) -> LogRecord | None:
        error, partition, offset = message.error(), message.partition(), message.offset()
        if error is None:
            assert partition is not None
            assert offset is not None
            self.position[partition] = offset + 1
            return LogRecord(partition, offset, message.timestamp()[1], _bytes(message.key()), _bytes(message.value()))
        if error.code() == KafkaError._PARTITION_EOF:
            assert partition is not None
            assert offset is not None
            # Behind records that never come, as those of aborted transactions.
            self.position[partition] = max(offset, self.position.get(partition, 0))
        else:
            self._take_error(error)
        return None

    def _take_error(self, error: KafkaError) -> None:
        if error.code() in _FATAL:
            self._failure = error
        elif error.code() == KafkaError._ALL_BROKERS_DOWN and not self._is_away:
            self._look_at = self._clock()


def _bytes(content: Any) -> bytes | None:
    return None if content is None else bytes(content)
