"""Where a gateway hands requests over, as its backend sees it: the request table of a home on this machine, or a topic.

Knows what may go wrong. Must not know who waits for an answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, Protocol

import pyarrow as pa

from rollcall.programs.errors import ConfigError
from rollcall.programs.kafka_options import KAFKA_PREFIX

SOURCE = "spark.coordinator.source"
TOPIC = "spark.coordinator.kafka.topic"


class Topic(NamedTuple):
    """The Kafka topic that a job reads."""

    name: str
    options: Mapping[str, str]
    """The settings `kafka.*`: where its brokers are, and how they know who comes."""


def topic_of(pairs: Mapping[str, str]) -> Topic | None:
    """The topic that the coordinator's own settings name; None: it reads the home's table. Raises ConfigError."""
    if pairs.get(SOURCE, "").strip() != "kafka":
        return None
    name = pairs.get(TOPIC, "").strip()
    options = {key: text.strip() for key, text in pairs.items() if key.startswith(KAFKA_PREFIX)}
    if not name:
        raise ConfigError(f"needs {TOPIC}", SOURCE, "kafka")
    if not options.get("kafka.bootstrap.servers"):
        raise ConfigError("needs kafka.bootstrap.servers", SOURCE, "kafka")
    return Topic(name, options)


class RequestSink(Protocol):
    """Where requests are appended: `rollcall.tables.request_table`, or a topic. Called from one thread at a time."""

    def open(self) -> None:
        """Ready when it returns. Raises OSError."""

    def append(self, rows: pa.Table) -> None:
        """All the rows, at least one, in their order. Raises OSError: none was taken; NotAppended: these were not."""

    def is_alone(self) -> bool:
        """Whether no other program's request comes before those appended by now. May be called by any thread."""

    def close(self) -> None:
        """Nothing more is appended."""


class NotAppended(OSError):
    """Some of the requests were not handed over. request_ids: which. are_too_long: nothing else was wrong."""

    def __init__(self, why: str, request_ids: frozenset[str], *, are_too_long: bool = False) -> None:
        super().__init__(why)
        self.request_ids, self.are_too_long = request_ids, are_too_long
