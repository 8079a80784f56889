"""Where a gateway hands requests over when the job reads a Kafka topic."""

from __future__ import annotations

import msgspec
import pyarrow as pa
import pytest
from confluent_kafka import KafkaError, KafkaException

from rollcall.programs.errors import ConfigError
from rollcall.serve.gateway.tables.request_sink import NotAppended, Topic, topic_of
from rollcall.serve.gateway.tables.request_topic import RequestTopic
from rollcall.tables.request_table import RequestRow, table_of

BROKERS = {"kafka.bootstrap.servers": "b1:9092,b2:9092"}
SETTINGS = {"spark.coordinator.source": "kafka", "spark.coordinator.kafka.topic": "requests", **BROKERS}


def test_the_jobs_own_settings_name_the_topic() -> None:
    assert topic_of({**SETTINGS, "group.max.size": "3"}) == Topic("requests", BROKERS)
    assert topic_of({}) is None
    assert topic_of({**SETTINGS, "spark.coordinator.source": "delta"}) is None


@pytest.mark.parametrize("missing", ["spark.coordinator.kafka.topic", "kafka.bootstrap.servers"])
def test_a_topic_that_is_half_named_is_refused(missing: str) -> None:
    pairs = {key: text for key, text in SETTINGS.items() if key != missing}
    with pytest.raises(ConfigError, match=f"^spark.coordinator.source=kafka: needs {missing}$"):
        topic_of(pairs)


def test_brokers_that_do_not_answer_are_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rollcall.serve.gateway.tables.request_topic.FOUND_WITHIN_S", 0.2)
    topic = RequestTopic(Topic("requests", {"kafka.bootstrap.servers": "127.0.0.1:1"}), most_bytes=1000)
    with pytest.raises(OSError, match=r"^kafka\.bootstrap.servers=127.0.0.1:1: "):
        topic.open()


class Producer:
    """Stands for the library's: with room for two records at a time, and none for long ones."""

    def __init__(self) -> None:
        self.queued: list[str] = []
        self.sent: list[str] = []

    def produce(self, topic: str, record: bytes, key: bytes, on_delivery: object) -> None:
        if len(record) > 1000:
            raise KafkaException(KafkaError(KafkaError.MSG_SIZE_TOO_LARGE))
        if len(self.queued) == 2:
            raise BufferError("Local: Queue full")
        self.queued.append(msgspec.json.decode(record)["request_id"])

    def poll(self, timeout: float) -> int:
        self.sent.append(self.queued.pop(0))
        return 1

    def flush(self) -> int:
        self.sent, self.queued = self.sent + self.queued, []
        return 0


def rows_with(*lengths: int) -> pa.Table:
    return table_of(RequestRow("g", f"r{number}", 1, 1, "x" * length) for number, length in enumerate(lengths))


def test_a_full_queue_is_waited_for_and_one_record_that_is_too_long_is_refused_alone() -> None:
    topic, producer = RequestTopic(Topic("requests", BROKERS), most_bytes=1000), Producer()
    topic._producer = producer  # type: ignore[assignment]
    with pytest.raises(NotAppended) as refused:
        topic.append(rows_with(1, 1, 5000, 1, 1, 1))
    assert refused.value.request_ids == {"r2"}
    assert refused.value.are_too_long
    assert producer.sent == ["r0", "r1", "r3", "r4", "r5"]
