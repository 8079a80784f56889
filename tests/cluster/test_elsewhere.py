"""A cluster, Kafka in and an object store out: real clients of four libraries, and what reads such a home."""

from __future__ import annotations

import json
from urllib.request import urlopen

import msgspec
from kafka import KafkaProducer

from tests.cluster.conftest import HOME, Running
from tests.peers_clients.fleet import AS_SHIPPED, KINDS, Fleet
from tests.peers_kafka.submitted import TOPIC
from tests.waiting import until

PATIENCE_S = 180.0
GROUP = "four"


def answer(running: Running, query: str) -> list[dict[str, object]]:
    """What `rollcall sql` says."""
    done = running.parts.rollcall("sql", "--home", HOME, "--format", "json", "--engine", "duckdb", query)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_clients_of_four_libraries_share_a_topic_and_the_tools_tell_of_it(running: Running) -> None:
    with Fleet(running.coordinator.bootstrap, GROUP, "work", **AS_SHIPPED) as fleet:
        fleet.patience_s = PATIENCE_S
        for kind in KINDS:
            fleet.start(kind)
        fleet.await_shares(fleet.workers, 12)
        members = {worker.client_id for worker in fleet.workers}
        assert set(running.coordinator.member_ids(GROUP)) == members

        reported = answer(running, f"select client_id from members where group_id = '{GROUP}'")
        assert {row["client_id"] for row in reported} == members
        why = running.parts.rollcall("why", GROUP, "--home", HOME)
        assert why.stdout.startswith(f"{GROUP}: generation "), why.stderr
        with running.parts.page(HOME) as address:

            def is_shown() -> bool:
                with urlopen(f"{address}group?group={GROUP}", timeout=30) as reported:
                    text = reported.read().decode()
                return all(member in text for member in members)

            until(is_shown, "the group's page", PATIENCE_S)
    shadow = running.parts.rollcall("shadow", "--home", HOME, f"kafka://{running.parts.broker.address}")
    assert (shadow.returncode, shadow.stderr.strip()) == (2, f"rollcall: {HOME} is not a folder of this machine.")


def test_what_is_no_request_goes_to_the_quarantine_there(running: Running) -> None:
    producer = KafkaProducer(bootstrap_servers=running.parts.broker.address)
    producer.send(TOPIC, msgspec.json.encode({"group_id": "g", "request_id": "strange", "request": {"api": "Dance"}}))
    producer.flush()
    producer.close()
    found = until(lambda: running.parts.rows(HOME, "quarantine"), "a row in quarantine", PATIENCE_S, every_s=1)
    assert [(row["group_id"], row["source"]) for row in found] == [("g", "kafka")]
