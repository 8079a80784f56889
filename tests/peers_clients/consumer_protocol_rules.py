"""Unmodified consumers of two libraries with `group.protocol=consumer` (KIP-848) do as with a broker, in one group.

The tests, for whatever coordinator a folder's `coordinator` is: tests of each folder import them.
Members of both libraries stand side by side in each, so that few groups serve many rules.
"""

from __future__ import annotations

from tests.peers_clients.conftest import PARTITIONS, SESSION_MS, Coordinator
from tests.peers_clients.fleet import Fleet, Worker
from tests.waiting import until

OTHERS = {"t1": 4, "t2": 4}
"""Topics there are beside the fleet's."""


def assert_as_the_coordinator_says(coordinator: Coordinator, fleet: Fleet, workers: list[Worker]) -> None:
    coordinator.await_stable(fleet.group, len(workers))
    assert coordinator.members(fleet.group) == {worker.client_id: set(worker.partitions) for worker in workers}


def test_members_join_subscribe_to_other_topics_close_and_are_killed(coordinator: Coordinator) -> None:
    with coordinator.fleet(protocol="consumer") as fleet:
        first = fleet.start("confluent")
        fleet.await_shares([first], PARTITIONS)
        assert_as_the_coordinator_says(coordinator, fleet, [first])
        second, third, fourth = (fleet.start(kind) for kind in ("java", "confluent", "java"))
        fleet.await_shares([first, second, third, fourth], PARTITIONS)
        assert_as_the_coordinator_says(coordinator, fleet, [first, second, third, fourth])
        first.close()
        second.close()
        fleet.await_shares([third, fourth], PARTITIONS)
        third.tell("subscribe", "^t[12]")
        fourth.tell("subscribe", *OTHERS)
        fleet.await_topics([third, fourth], OTHERS)
        assert_as_the_coordinator_says(coordinator, fleet, [third, fourth])
        fourth.kill()
        fleet.await_topics([third], OTHERS)
        fifth = fleet.start("java", topic="^t[12]")
        fleet.await_topics([third, fifth], OTHERS)
        third.kill()
        fleet.await_topics([fifth], OTHERS)
        assert_as_the_coordinator_says(coordinator, fleet, [fifth])


def test_those_that_are_paused_beyond_their_session_lose_their_share_and_get_one_again(
    coordinator: Coordinator,
) -> None:
    with coordinator.fleet(protocol="consumer") as fleet:
        three = [fleet.start(kind) for kind in ("confluent", "java", "confluent")]
        fleet.await_shares(three, PARTITIONS)
        for worker in three:
            worker.await_work()
        for worker in three[:2]:
            worker.pause()
        fleet.await_shares(three[2:], PARTITIONS)
        for worker in three[:2]:
            worker.resume()
        fleet.await_shares(three, PARTITIONS)
        assert_as_the_coordinator_says(coordinator, fleet, three)


def test_static_members_that_are_restarted_have_their_share_again_and_nobody_notices(coordinator: Coordinator) -> None:
    with coordinator.fleet(protocol="consumer") as fleet:
        coordinator.set_session(fleet.group, SESSION_MS)
        static = {name: fleet.start(kind, instance_id=name) for name, kind in (("one", "confluent"), ("two", "java"))}
        bystander = fleet.start("confluent")
        fleet.await_shares([*static.values(), bystander], PARTITIONS)
        coordinator.await_stable(fleet.group, 3)
        reported = len(bystander.assignments)
        for name, worker in static.items():
            worker.close()
            again = fleet.start(worker.kind, worker.client_id, instance_id=name)
            until(
                lambda again=again, worker=worker: again.partitions == worker.partitions,  # type: ignore[misc]
                lambda again=again, worker=worker: f"{sorted(worker.partitions)}: {sorted(again.partitions)}",  # type: ignore[misc]
            )
        coordinator.await_stable(fleet.group, 3)
        assert len(bystander.assignments) == reported


def test_a_running_classic_group_is_converted_member_by_member_and_back(coordinator: Coordinator) -> None:
    with coordinator.fleet() as fleet:
        classic = [fleet.start(kind) for kind in ("confluent", "java")]
        fleet.await_shares(classic, PARTITIONS)
        classic[0].ask("commit", "work/3", 42)
        newer = replace(coordinator, fleet, classic, "consumer")
        assert kind_of(coordinator, fleet) == "consumer"
        owner = next(worker for worker in newer if "work/3" in worker.partitions)
        assert owner.ask("committed", "work/3") == 42
        last = replace(coordinator, fleet, newer, "classic")
        assert kind_of(coordinator, fleet) == "classic"
        assert_as_the_coordinator_says(coordinator, fleet, last)


def replace(coordinator: Coordinator, fleet: Fleet, workers: list[Worker], protocol: str) -> list[Worker]:
    """One worker after the other makes way for one of its kind with another protocol; those."""
    there = list(workers)
    for worker in workers:
        there.append(fleet.start(worker.kind, protocol=protocol))
        fleet.await_shares(there, PARTITIONS)
        assert kind_of(coordinator, fleet) == "consumer"
        there.remove(worker)
        worker.close()
        fleet.await_shares(there, PARTITIONS)
        assert_as_the_coordinator_says(coordinator, fleet, there)
    return there


def kind_of(coordinator: Coordinator, fleet: Fleet) -> str:
    """The group's type, as it is listed."""
    listed = coordinator.call("ListGroups", 5).groups
    return next(str(group.group_type).lower() for group in listed if group.group_id == fleet.group)
