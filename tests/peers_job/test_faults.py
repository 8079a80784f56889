"""What real consumers notice when the coordinator or a gateway is killed: nothing that they would have to act upon."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.peers_clients.conftest import PARTITIONS, TOPIC
from tests.peers_clients.fleet import KINDS, Fleet
from tests.peers_job.conftest import WIDE, WIDE_TOPIC, Running
from tests.peers_job.told import assert_told_once, await_heartbeats, story
from tests.waiting import until

CROWDS = {
    "classic": {"kafka-python": 12, "confluent": 9, "aiokafka": 6, "java": 3},
    "consumer": {"confluent": 26, "java": 4},
}
"""By group protocol, how many of which kind."""
AT_A_TIME = {"classic": 30, "consumer": 10}
"""So many start together: an answer that comes later than an interval after its heartbeat is lost on librdkafka."""
AS_THEY_COME = {"session_ms": "45000", "heartbeat_ms": "3000", "max_poll_ms": "300000"}
"""Kafka's defaults: what a coordinator that is started again has to be in time for."""
PATIENCE_S = 120.0
PATIENT = {"classic": ("confluent", "java"), "consumer": ("java",)}
"""They wait a minute for a commit's answer, the others half of it: a busy machine may take as long to start Spark.
librdkafka ends its connection when a heartbeat of the newer protocol is not answered within an interval, and gives up a
commit with it.
"""
LOCKS_UP = "kafka-python"
"""When it loses its connection, 3.0.12 may stand still for ever: its loop waits for a lock whose holder waits for the
loop, in lookup_coordinator. It was seen with one in ten; no broker can wake it."""
SURVIVORS = [kind for kind in KINDS if kind != LOCKS_UP]


@pytest.fixture(scope="module", params=CROWDS)
def crowd(running: Running, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """Thirty consumers of several kinds in one group, at work."""
    bootstrap, protocol = running.coordinator.bootstrap, request.param
    with Fleet(bootstrap, f"crowd-{protocol}", WIDE_TOPIC, protocol=protocol, **AS_THEY_COME) as fleet:
        fleet.patience_s = PATIENCE_S
        kinds = [kind for kind, count in CROWDS[protocol].items() for _ in range(count)]
        for start in range(0, len(kinds), AT_A_TIME[protocol]):
            for kind in kinds[start : start + AT_A_TIME[protocol]]:
                fleet.start(kind)
            until(
                lambda: len(running.coordinator.member_ids(fleet.group)) == len(fleet.workers),
                lambda: f"{len(fleet.workers)} members",
                PATIENCE_S,
            )
        fleet.await_shares(fleet.workers, WIDE)
        running.coordinator.await_stable(fleet.group, len(fleet.workers))
        yield fleet


def test_a_killed_coordinator_that_comes_back_costs_nobody_anything(running: Running, crowd: Fleet) -> None:
    job, before = running.job, running.coordinator.member_ids(crowd.group)
    told = story(job, crowd.group)
    job.kill_coordinator()
    patient = {worker.kind: worker for worker in crowd.workers if worker.kind in PATIENT[crowd.options["protocol"]]}
    for worker in patient.values():
        worker.tell("commit", min(worker.partitions), 42)
    job.start_coordinator()
    await_heartbeats(job, before)
    for worker in patient.values():
        until(lambda worker=worker: worker.answers, f"an answer of {worker.client_id}", PATIENCE_S)  # type: ignore[misc]
        assert worker.ask("committed", min(worker.partitions)) == 42
    assert running.coordinator.member_ids(crowd.group) == before
    assert story(job, crowd.group) == told
    assert_told_once(job)


def test_a_killed_gateway_that_comes_back_is_met_again_under_the_same_member_ids(
    running: Running, crowd: Fleet
) -> None:
    job = running.job
    staying = [worker for worker in crowd.workers if worker.kind in SURVIVORS]
    for worker in crowd.workers:
        if worker not in staying:
            worker.close()
    crowd.await_shares(staying, WIDE)
    running.coordinator.await_stable(crowd.group, len(staying))
    before, told = running.coordinator.member_ids(crowd.group), story(job, crowd.group)
    job.kill_gateway(running.gateway)
    assert job.start_gateway(running.gateway) == running.gateway
    await_heartbeats(job, before)
    assert running.coordinator.member_ids(crowd.group) == before
    assert story(job, crowd.group) == told
    assert all(worker.process.poll() is None for worker in staying)
    assert_told_once(job)


def test_of_two_gateways_either_may_be_killed(running: Running) -> None:
    job = running.job
    with (
        job.another_gateway() as first,
        job.another_gateway() as second,
        Fleet(f"{first},{second}", "either", TOPIC, **AS_THEY_COME) as fleet,
    ):
        workers = [fleet.start(kind) for kind in SURVIVORS]
        fleet.await_shares(workers, PARTITIONS)
        running.coordinator.await_stable(fleet.group, len(workers))
        before, told = running.coordinator.member_ids(fleet.group), story(job, fleet.group)
        job.kill_gateway(first)
        await_heartbeats(job, before)
        assert job.start_gateway(first) == first
        job.kill_gateway(second)
        await_heartbeats(job, before)
        assert running.coordinator.member_ids(fleet.group) == before
        assert story(job, fleet.group) == told
        assert all(worker.process.poll() is None for worker in workers)
    assert_told_once(job)
