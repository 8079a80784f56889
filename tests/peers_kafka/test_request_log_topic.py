"""A request log's lines from a topic of a real Kafka: each once, in order, by a reader that is made anew on the way."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from jobs.stream.sources.request_log_topic import open_topic
from request_log.lines.files import LogFileError, LogLine
from request_log.lines.tail import Position
from tests.peers_kafka.kafka import broker
from tests.shadow.fed import CAPTURES
from tests.waiting import until

UTC = ZoneInfo("UTC")
OUT_OF_ORDER_MS = 3
"""As the log itself is, in which threads write."""


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as address:
        admin = KafkaAdminClient(bootstrap_servers=address)
        admin.create_topics([NewTopic("lines", num_partitions=2, replication_factor=1)])
        admin.close()
        yield address


def test_lines_come_in_order_and_once_from_two_partitions(bootstrap: str) -> None:
    written = gzip.decompress((CAPTURES[0] / "requests.log.gz").read_bytes()).splitlines()
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    for place, text in enumerate(written):
        producer.send("lines", text, partition=place % 7 % 2)
    producer.flush()
    found: list[LogLine] = []
    position = Position()

    def read() -> bool | None:
        tail = open_topic(f"kafka://{bootstrap}/lines", UTC, position)
        for _ in range(20):
            found.extend(tail.poll(60))
        tail.close()
        return True if len(found) >= len(written) else None

    until(read, "all lines", 60)
    assert all((b.at_ms or 0) >= (a.at_ms or 0) - OUT_OF_ORDER_MS for a, b in pairwise(found))
    assert sorted(line.text for line in found) == sorted(written)
    assert position.number == sum(position.offsets.values()) == len(written)


def test_a_topic_that_is_not_there_is_named(bootstrap: str) -> None:
    with pytest.raises(LogFileError, match="no such topic"):
        open_topic(f"kafka://{bootstrap}/nothing", UTC, Position())
