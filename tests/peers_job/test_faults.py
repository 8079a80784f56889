"""What real consumers notice when the coordinator or a gateway is killed: nothing that they would have to act upon."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from tests.kills.moments import EFFECTS_COMMITTED
from tests.peers_clients.conftest import PARTITIONS, TOPIC
from tests.peers_clients.fleet import AS_SHIPPED, KINDS, Fleet
from tests.peers_job.conftest import WIDE, WIDE_TOPIC, Running
from tests.peers_job.crowds import AT_A_TIME, PATIENCE_S, gather
from tests.peers_job.reported import assert_no_gap, assert_reported_once, await_heartbeats, story
from tests.waiting import until

CROWDS = {
    "classic": {"kafka-python": 12, "confluent": 9, "aiokafka": 6, "java": 3},
    "consumer": {"confluent": 26, "java": 4},
}
"""By group protocol, how many of which kind."""
PATIENT = {"classic": ("confluent", "java"), "consumer": ("java",)}
"""They wait a minute for a commit's answer, the others half of it: a busy machine may take as long to start Spark.
librdkafka ends its connection when a heartbeat of the newer protocol, which waits behind the commit, is not answered
within an interval, and gives up the commit with it.
"""
LOCKS_UP = "kafka-python"
"""When it loses its connection, 3.0.12 may stand still for ever: its loop waits for a lock whose holder waits for the
loop, in lookup_coordinator. It was seen with one in ten; no broker can wake it."""
SURVIVORS = [kind for kind in KINDS if kind != LOCKS_UP]


@pytest.mark.nightly
def test_of_two_gateways_either_may_be_killed(running: Running) -> None:
    job = running.job
    with (
        job.another_gateway() as first,
        job.another_gateway() as second,
        Fleet(f"{first},{second}", "either", TOPIC, **AS_SHIPPED) as fleet,
    ):
        workers = [fleet.start(kind) for kind in SURVIVORS]
        fleet.await_shares(workers, PARTITIONS)
        running.coordinator.await_stable(fleet.group, len(workers))
        before, reported = running.coordinator.member_ids(fleet.group), story(job, fleet.group)
        job.kill_gateway(first)
        await_heartbeats(job, before)
        assert job.start_gateway(first) == first
        job.kill_gateway(second)
        await_heartbeats(job, before)
        assert running.coordinator.member_ids(fleet.group) == before
        assert story(job, fleet.group) == reported
        assert all(worker.process.poll() is None for worker in workers)
    assert_reported_once(job)


def test_who_comes_back_within_a_session_of_a_long_sleep_is_still_there(running: Running) -> None:
    """As on a machine that was suspended: the coordinator and the gateways stand still for longer than a session."""
    job, session_ms = running.job, 10_000
    times = {"session_ms": str(session_ms), "heartbeat_ms": "1000", "max_poll_ms": "300000"}
    with Fleet(running.coordinator.bootstrap, "asleep", TOPIC, **times) as fleet:
        # librdkafka gives itself up when it had no answer for a session; a broker has nothing to say in that.
        workers = [fleet.start(kind) for kind in ("aiokafka", "java")]
        fleet.await_shares(workers, PARTITIONS)
        running.coordinator.await_stable(fleet.group, len(workers))
        before, reported = running.coordinator.member_ids(fleet.group), story(job, fleet.group)
        job.sleep_for(1.5 * session_ms / 1000)
        await_heartbeats(job, before)
        assert running.coordinator.member_ids(fleet.group) == before
        assert story(job, fleet.group) == reported
    assert_reported_once(job)


@pytest.mark.nightly
def test_a_job_whose_disk_is_full_ends_and_goes_on_once_there_is_room(running: Running) -> None:
    job = running.job
    with Fleet(running.coordinator.bootstrap, "full-disk", TOPIC, **AS_SHIPPED) as fleet:
        workers = [fleet.start(kind) for kind in SURVIVORS]
        fleet.await_shares(workers, PARTITIONS)
        running.coordinator.await_stable(fleet.group, len(workers))
        before, reported = running.coordinator.member_ids(fleet.group), story(job, fleet.group)
        job.fill_its_disk()
        assert job.await_its_end() == 1
        job.start_coordinator()
        await_heartbeats(job, before)
        assert running.coordinator.member_ids(fleet.group) == before
        assert story(job, fleet.group) == reported
    assert_reported_once(job)
    assert_no_gap(job)


# ---------------------------------------------------------------- thirty in one group


@pytest.fixture(scope="module", params=CROWDS)
def crowd(running: Running, request: pytest.FixtureRequest) -> Iterator[Fleet]:
    """Thirty consumers of several kinds in one group, at work."""
    bootstrap, protocol = running.coordinator.bootstrap, request.param
    with Fleet(bootstrap, f"crowd-{protocol}", WIDE_TOPIC, protocol=protocol, **AS_SHIPPED) as fleet:
        kinds = [kind for kind, count in CROWDS[protocol].items() for _ in range(count)]
        gather(running.coordinator, fleet, kinds, AT_A_TIME[protocol], WIDE)
        yield fleet


def test_a_killed_coordinator_that_comes_back_costs_nobody_anything(running: Running, crowd: Fleet) -> None:
    job, before = running.job, running.coordinator.member_ids(crowd.group)
    reported = story(job, crowd.group)
    EFFECTS_COMMITTED.wait(job.home.path, random.Random(0))
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
    assert story(job, crowd.group) == reported
    assert_reported_once(job)
    assert_no_gap(job)


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
    before, reported = running.coordinator.member_ids(crowd.group), story(job, crowd.group)
    job.kill_gateway(running.gateway)
    assert job.start_gateway(running.gateway) == running.gateway
    await_heartbeats(job, before)
    assert running.coordinator.member_ids(crowd.group) == before
    assert story(job, crowd.group) == reported
    assert all(worker.process.poll() is None for worker in staying)
    assert_reported_once(job)
