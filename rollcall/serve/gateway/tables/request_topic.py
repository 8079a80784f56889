"""The Kafka topic that the job reads, as a gateway hands requests over: a record a row, with the group id as its key.

So a group's requests keep their order. Each record is written once, even if a broker restarts meanwhile
(`enable.idempotence`). Records are as `rollcall.jobs.stream.sources.kafka` reads them.

Knows a producer. Must not know who waits for an answer, nor how the job's `kafka.*` settings are spelt for it.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import msgspec
import pyarrow as pa
from confluent_kafka import KafkaError, KafkaException, Message, Producer

from rollcall.programs.kafka_options import client_settings
from rollcall.serve.gateway.tables.request_sink import NotAppended, Topic

FOUND_WITHIN_S = 15.0
TAKEN_WITHIN_S = 60.0
"""A restarted broker is back within this time; its clients wait until then."""
_ROOM_AGAIN_S = 0.1
_TOO_LONG = (KafkaError.MSG_SIZE_TOO_LARGE, KafkaError.INVALID_MSG_SIZE)
# The library writes a line a second while a broker is away; what fails is reported with the request.
_quiet = logging.getLogger("gateway.kafka")
_quiet.setLevel(logging.CRITICAL)


class RequestTopic:
    def __init__(self, topic: Topic, most_bytes: int) -> None:
        """most_bytes: the longest request. Raises ConfigError: see client_settings."""
        self._topic = topic.name
        self._settings = {
            **client_settings(topic.options),
            "enable.idempotence": "true",
            "linger.ms": "0",
            # As Kafka's own producers spread keys.
            "partitioner": "murmur2_random",
            # A row is a JSON text within another.
            "message.max.bytes": str(max(1_000_000, 2 * most_bytes)),
            "message.timeout.ms": str(int(TAKEN_WITHIN_S * 1000)),
            "reconnect.backoff.max.ms": "1000",
            "log_level": "3",
        }

    def open(self) -> None:
        """Finds the topic. Raises OSError: no broker answers, or there is no such topic for this user."""
        servers = self._settings["bootstrap.servers"]
        try:
            self._producer = Producer(self._settings, logger=_quiet)
            found = self._producer.list_topics(self._topic, timeout=FOUND_WITHIN_S).topics[self._topic]
        except KafkaException as error:
            raise OSError(f"kafka.bootstrap.servers={servers}: {error.args[0].str()}") from None
        if found.error is not None:
            raise OSError(f"spark.coordinator.kafka.topic={self._topic}: {found.error.str()}")

    def append(self, rows: pa.Table) -> None:
        """All the rows, in their order; the brokers have them when it returns. Raises NotAppended."""
        refused: dict[str, KafkaError] = {}
        for row in rows.to_pylist():
            try:
                self._produce(row, refused)
            except KafkaException as error:
                refused[row["request_id"]] = error.args[0]
        self._producer.flush()
        if refused:
            first = next(iter(refused.values()))
            are_too_long = all(each.code() in _TOO_LONG for each in refused.values())
            raise NotAppended(str(first.str()), frozenset(refused), are_too_long=are_too_long)

    def is_alone(self) -> bool:
        """Others may write to the topic too."""
        return False

    def close(self) -> None:
        """Every append has been flushed."""

    def _produce(self, row: dict[str, Any], refused: dict[str, KafkaError]) -> None:
        """Raises KafkaException: it will not be sent."""
        record, on_delivery = msgspec.json.encode(row), partial(_note, refused, row["request_id"])
        while True:
            try:
                return self._producer.produce(self._topic, record, row["group_id"].encode(), on_delivery=on_delivery)
            except BufferError:
                # The producer's queue is full. Each record in it is sent or refused within TAKEN_WITHIN_S.
                self._producer.poll(_ROOM_AGAIN_S)


def _note(refused: dict[str, KafkaError], request_id: str, error: KafkaError | None, _: Message) -> None:
    """What became of one record."""
    if error is not None:
        refused[request_id] = error
