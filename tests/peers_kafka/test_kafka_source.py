"""Requests from a real Kafka topic, as docs/cluster.md says: rows and bare requests, garbage, ticks, a restart."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from kafka import KafkaProducer

from rollcall.schemas.messages import GroupRequest
from tests.peers_kafka.submitted import TOPIC, Submitted, broker_for_jobs
from tests.requests import heartbeat, join
from tests.streaming.live import now_ms, read_rows


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker_for_jobs(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def submitted(tmp_path: Path, bootstrap: str) -> Iterator[Submitted]:
    job = Submitted(tmp_path, bootstrap)
    yield job
    job.kill()


def as_row(request: GroupRequest) -> bytes:
    """A record's value: a row of the request table, the request an object in it."""
    opened = msgspec.to_builtins(request)
    return json.dumps({"group_id": opened["group_id"], "request_id": request.request_id, "request": opened}).encode()


def test_a_topics_requests_are_answered_once_and_what_is_none_is_put_aside(
    submitted: Submitted, bootstrap: str
) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)
    first, unknown = join("a", now_ms(), session_timeout_ms=3000), heartbeat("m", 1, now_ms(), "payments")
    producer.send(TOPIC, as_row(first))
    producer.send(TOPIC, msgspec.json.encode(unknown), key=b"payments")
    producer.send(TOPIC, b'{"api": "Heartbeat"}')
    producer.send(TOPIC, b"\xff\xfe not text", key=b"orders")
    producer.flush()
    submitted.start()
    replies = submitted.await_effects("reply", 2)
    assert {reply["request_id"]: reply["error_code"] for reply in replies} == {
        first.request_id: "NONE",
        unknown.request_id: "UNKNOWN_MEMBER_ID",
    }
    # Nothing more is sent: a tick finds the member silent.
    (gone,) = submitted.await_effects("member_removed", 1)
    assert gone["cause"] in ("session_expired", "sync_timeout")
    reasons = {row["reason"]: row for row in read_rows(submitted.home.quarantine)}
    assert set(reasons) == {"group_id: is null", "request: is not UTF-8; the invalid bytes are replaced here"}
    assert {row["source"] for row in reasons.values()} == {"kafka"}
    submitted.stop()

    later = heartbeat("m", 1, now_ms(), "payments")
    producer.send(TOPIC, as_row(later))
    producer.flush()
    producer.close()
    submitted.start()
    submitted.await_effects("reply", 3)
    submitted.stop()
    assert len(submitted.effects("reply")) == 3
    assert len(read_rows(submitted.home.quarantine)) == 2
