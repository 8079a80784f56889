"""What thirty real consumers notice when a part of the cluster dies or its store fails: nothing to act upon."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.cluster.conftest import HOME, Running
from tests.peers_clients.fleet import AS_SHIPPED, Fleet
from tests.peers_job.reported import assert_reported_once, await_heartbeats, story

CROWD = {"kafka-python": 12, "confluent": 9, "aiokafka": 6, "java": 3}
WIDE = 60
PATIENCE_S = 240.0
GROUP = "crowd"


@pytest.fixture(scope="module")
def crowd(running: Running) -> Iterator[Fleet]:
    """Thirty consumers of four libraries in one group, at work."""
    with Fleet(running.coordinator.bootstrap, GROUP, "wide", **AS_SHIPPED) as fleet:
        fleet.patience_s = PATIENCE_S
        for kind, count in CROWD.items():
            for _ in range(count):
                fleet.start(kind)
        fleet.await_shares(fleet.workers, WIDE)
        yield fleet


def kill_a_worker(running: Running) -> None:
    running.parts.cluster.kill_worker(0)
    running.parts.cluster.start_worker()


def kill_the_driver(running: Running) -> None:
    running.driver.kill()
    running.driver = running.parts.submit(HOME)


def restart_the_broker(running: Running) -> None:
    running.parts.broker.stop()
    running.parts.broker.start()


def let_the_store_refuse(running: Running) -> None:
    running.parts.store.fail(refuse_s=10)


def let_the_store_be_slow(running: Running) -> None:
    running.parts.store.fail(slow_s=30)


@pytest.mark.parametrize(
    ("fault", "counted_as"),
    [
        pytest.param(kill_a_worker, None, marks=pytest.mark.nightly),
        (kill_the_driver, None),
        pytest.param(restart_the_broker, None, marks=pytest.mark.nightly),
        (let_the_store_refuse, "refused"),
        pytest.param(let_the_store_be_slow, "slowed", marks=pytest.mark.nightly),
    ],
)
def test_no_member_that_lives_is_removed(
    running: Running, crowd: Fleet, fault: Callable[[Running], None], counted_as: str | None
) -> None:
    reported = running.parts.reported(HOME)
    before, members = story(reported, GROUP), running.coordinator.member_ids(GROUP)
    assert len(members) == len(crowd.workers)
    fault(running)
    await_heartbeats(reported, members, PATIENCE_S)
    assert story(reported, GROUP) == before
    assert all(worker.process.poll() is None for worker in crowd.workers)
    assert counted_as is None or running.parts.store.faults()[counted_as] > 0


def test_every_request_is_answered_once(running: Running, crowd: Fleet) -> None:
    assert_reported_once(running.parts.reported(HOME))
    assert len(crowd.workers) == sum(CROWD.values())
