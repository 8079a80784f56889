"""Requests from a real Kafka topic, by the README's own command: rows and bare requests, garbage, ticks, a restart."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from kafka import KafkaProducer
from kafka.admin import KafkaAdminClient, NewTopic

from jobs.home import Home
from jobs.package import pack
from jobs.spark.jars import jar_paths
from schemas.messages import GroupRequest
from tests.cluster.cluster_command import command_here
from tests.peers_kafka.kafka import broker, connector_jars
from tests.requests import heartbeat, join
from tests.source_tree import ROOT
from tests.streaming.live import now_ms, read_rows
from tests.waiting import until

TOPIC = "rollcall-requests"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker(tmp_path_factory.mktemp("kafka")) as address:
        admin = KafkaAdminClient(bootstrap_servers=address)
        admin.create_topics([NewTopic(TOPIC, num_partitions=2, replication_factor=1)])
        admin.close()
        yield address


def readme_settings(bootstrap: str) -> str:
    """The README's conf/cluster.conf with this broker's address, and sessions short enough to wait for."""
    section = (ROOT / "README.md").read_text().partition("with a `conf/cluster.conf` of")[2]
    found = re.search(r"```properties\n(.*?)```", section, re.DOTALL)
    assert found is not None
    settings = re.sub(r"(kafka\.bootstrap\.servers)=.*", rf"\1={bootstrap}", found.group(1))
    return settings + "group.initial.rebalance.delay.ms=0\ngroup.min.session.timeout.ms=100\n"


class Submitted:
    """The README's job on a home, reading the topic of this broker."""

    def __init__(self, tmp_path: Path, bootstrap: str) -> None:
        self.home = Home(tmp_path / "home")
        settings = tmp_path / "cluster.conf"
        settings.write_text(readme_settings(bootstrap))
        command = command_here(self.home.path, settings, pack(tmp_path / "rollcall.zip"))
        command[command.index("--jars") + 1] = ",".join([*jar_paths(), *connector_jars()])
        self.command = command
        # A file, for Spark's log would fill a pipe that nobody reads.
        self.log = tmp_path / "job.log"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environ = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "PYSPARK_DRIVER_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": "127.0.0.1",
        }
        with self.log.open("a") as log:
            self.process = subprocess.Popen(self.command, cwd=ROOT, env=environ, stdout=log, stderr=log)

    def stop(self) -> None:
        assert self.process is not None
        self.process.terminate()
        assert self.process.wait(120) == 0, self.log.read_text()

    def effects(self, kind: str) -> list[dict[str, Any]]:
        return [row for row in read_rows(self.home.effects) if row["effect"] == kind]

    def await_effects(self, kind: str, count: int) -> list[dict[str, Any]]:
        def are_there() -> list[dict[str, Any]] | None:
            assert self.process is not None
            assert self.process.poll() is None, self.log.read_text()
            found = self.effects(kind)
            return found if len(found) >= count else None

        return until(are_there, f"{count} of {kind}", within_s=300)


@pytest.fixture
def submitted(tmp_path: Path, bootstrap: str) -> Iterator[Submitted]:
    job = Submitted(tmp_path, bootstrap)
    yield job
    if job.process is not None and job.process.poll() is None:
        job.process.kill()
        job.process.wait()


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
    assert set(reasons) == {"group_id: is null", "request: is no UTF-8, shown with what is not replaced"}
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
