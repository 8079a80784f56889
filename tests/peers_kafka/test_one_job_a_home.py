"""A home that no lock of a disk guards, with a real Kafka: two jobs, a killed one, and places that are not there.

The home is reached by Hadoop's viewfs, for which Rollcall does what it does for any store but this machine's disk.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from kafka import KafkaProducer

from tests.peers_kafka.submitted import TOPIC, Submitted, broker_for_jobs
from tests.requests import heartbeat
from tests.streaming.live import now_ms

PLACE = "viewfs://store/home"


@pytest.fixture(scope="module")
def bootstrap(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with broker_for_jobs(tmp_path_factory.mktemp("kafka")) as address:
        yield address


def job(folder: Path, bootstrap: str, name: str, place: str = PLACE, **settings: str) -> Submitted:
    """The job of docs/cluster.md on a home in that store, which is the folder's `home`, with a log of its own."""
    folder.joinpath("home").mkdir(exist_ok=True)
    store = f"spark.hadoop.fs.viewfs.mounttable.store.link./home={(folder / 'home').as_uri()}"
    given = {f"spark.coordinator.{name}": value for name, value in settings.items()}
    words = [word for pair in (store, *(f"{key}={value}" for key, value in given.items())) for word in ("--conf", pair)]
    # Where the executors are is the same to a home, and without them a job begins sooner.
    submitted = Submitted(folder, bootstrap, "--master", "local[2]", *words, place=place)
    submitted.log = folder / f"{name}.log"
    return submitted


@pytest.mark.nightly
def test_of_two_jobs_one_works_and_a_killed_ones_home_goes_on(tmp_path: Path, bootstrap: str) -> None:
    producer = KafkaProducer(bootstrap_servers=bootstrap)

    def ask(number: int) -> None:
        producer.send(TOPIC, msgspec.json.encode(heartbeat("m", 1, now_ms(), f"group-{number}")))
        producer.flush()

    first = job(tmp_path, bootstrap, "first")
    ask(1)
    first.start()
    try:
        first.await_effects("reply", 1)
        second = job(tmp_path, bootstrap, "second").refusal()
        assert re.fullmatch(
            r"viewfs://store/home is in use by the coordinator \(process \d+ on .+\): stop it, or name another "
            r"home\.",
            second,
        )
        ask(2)
        first.await_effects("reply", 2)
    finally:
        first.kill()
    ask(3)
    third = job(tmp_path, bootstrap, "third")
    third.start()
    try:
        third.await_effects("reply", 3)
        (lease,) = (tmp_path / "home" / "lease").glob("0*")
        assert lease.name.startswith("00000002-")
        # Another machine's job that takes the home over: this one writes no more.
        (lease.parent / "00000003-other").write_text("")
        assert third.process is not None
        assert third.process.wait(60) == 1, third.log.read_text()
        assert "viewfs://store/home was taken over by another job: this job stops." in third.log.read_text()
    finally:
        third.kill()
    producer.close()
    assert len(first.effects("reply")) == 3


def test_a_topic_that_is_not_there_a_cluster_that_is_not_and_a_store_without_connector_are_one_sentence_each(
    tmp_path: Path, bootstrap: str
) -> None:
    def place(name: str) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        return folder

    jobs = [
        job(place("topic"), bootstrap, "topic", **{"kafka.topic": "no-such-topic"}),
        job(place("nobody"), "127.0.0.1:1", "nobody"),
        job(place("bucket"), bootstrap, "bucket", "s3a://bucket/rollcall"),
    ]
    # Side by side: one waits for a broker that is not there.
    with ThreadPoolExecutor() as pool:
        topic, nobody, bucket = pool.map(Submitted.refusal, jobs)
    assert topic == (
        f"kafka.bootstrap.servers={bootstrap}: no-such-topic: there is no such topic, or this user may not know it."
    )
    assert nobody == "kafka.bootstrap.servers=127.0.0.1:1: rollcall-requests: no broker answered within 15 s."
    assert re.fullmatch(
        r"s3a://bucket/rollcall: the connector for s3a is missing \(.+\): add --packages \S+hadoop-aws:3\.5\.0\.",
        bucket,
    )
