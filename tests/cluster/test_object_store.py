"""A home in an object store, as docs/cluster.md says: S3 and a real Kafka, two jobs, a restart, and refusals."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from deltalake import DeltaTable
from kafka import KafkaProducer

from tests.cluster.object_store import ObjectStore, connector_jars, object_store
from tests.peers_kafka.submitted import TOPIC, Submitted, broker_for_jobs
from tests.requests import heartbeat
from tests.streaming.live import now_ms
from tests.waiting import until

HOME = "s3a://bucket/rollcall"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker_for_jobs(tmp_path_factory.mktemp("kafka")) as address:
        yield address


@pytest.fixture
def store(tmp_path: Path) -> Iterator[ObjectStore]:
    with object_store(tmp_path) as running:
        running.make_bucket("bucket")
        yield running


def job(folder: Path, bootstrap: str, store: ObjectStore, name: str, place: str = HOME) -> Submitted:
    """The job of docs/cluster.md on a home in the store, with a log of its own."""
    words = [word for key, value in store.spark_settings().items() for word in ("--conf", f"{key}={value}")]
    submitted = Submitted(folder, bootstrap, "--master", "local[2]", *words, place=place, jars=connector_jars())
    submitted.log = folder / f"{name}.log"
    return submitted


def replies(store: ObjectStore) -> list[dict[str, Any]]:
    path, options = HOME.replace("s3a://", "s3://") + "/effects", store.delta_options()
    if not DeltaTable.is_deltatable(path, options):
        return []
    rows = DeltaTable(path, storage_options=options).to_pyarrow_table().to_pylist()
    return [row for row in rows if row["effect"] == "reply"]


@pytest.mark.nightly
def test_a_home_in_an_object_store_is_worked_in_by_one_job_and_refused_in_a_sentence(
    tmp_path: Path, bootstrap: str, store: ObjectStore
) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)

    def ask(number: int, running: Submitted) -> None:
        producer.send(TOPIC, msgspec.json.encode(heartbeat("m", 1, now_ms(), f"group-{number}")))
        producer.flush()

        def answered() -> bool:
            assert running.process is not None
            assert running.process.poll() is None, running.log.read_text()
            return len(replies(store)) >= number

        until(answered, f"{number} replies", within_s=240)

    first = job(tmp_path, bootstrap, store, "first")
    first.start()
    try:
        ask(1, first)
        second = job(tmp_path, bootstrap, store, "second")
        assert re.fullmatch(
            r"s3a://bucket/rollcall is in use by the coordinator \(process \d+ on .+\): stop it, or name another "
            r"home\.",
            second.refusal(),
        )
        first.stop()
    finally:
        first.kill()

    again = job(tmp_path, bootstrap, store, "again")
    again.start()
    try:
        ask(2, again)
        again.stop()
    finally:
        again.kill()
    producer.close()
    assert len({row["request_id"] for row in replies(store)}) == len(replies(store)) == 2

    nowhere = job(tmp_path, bootstrap, store, "nowhere", "s3a://no-such-bucket/rollcall")
    assert nowhere.refusal().startswith("s3a://no-such-bucket/rollcall: there is no such bucket: ")
    store.refuse_everybody()
    unknown = job(tmp_path, bootstrap, store, "unknown")
    assert unknown.refusal().startswith(f"{HOME}: no right to read and write there: ")
