"""Unmodified consumers of four client libraries share, lose, regain and keep their partitions as with a broker.

The tests, for whatever coordinator a folder's `coordinator` is: tests of each folder import them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.peers_clients.conftest import PARTITIONS, SHORT_SESSION_MS, Coordinator
from tests.peers_clients.fleet import KINDS
from tests.waiting import until

COOPERATIVE = ("kafka-python", "confluent", "java")
"""aiokafka has no cooperative assignor."""
Rule = Callable[[str, Coordinator], None]


def of_each(kinds: Sequence[str]) -> Callable[[Rule], Callable[[Coordinator], None]]:
    """A test with each kind of client, in groups of their own and side by side: nearly all of it is waiting."""

    def test_of(rule: Rule) -> Callable[[Coordinator], None]:
        def test(coordinator: Coordinator) -> None:
            with ThreadPoolExecutor() as pool:
                for done in [pool.submit(rule, kind, coordinator) for kind in kinds]:
                    done.result()

        test.__name__ = rule.__name__
        return test

    return test_of


@of_each(KINDS)
def test_one_consumer_has_every_partition(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet() as fleet:
        worker = fleet.start(kind)
        fleet.await_shares([worker], PARTITIONS)
        coordinator.await_stable(fleet.group, 1)
        assert coordinator.members(fleet.group) == {worker.client_id: set(worker.partitions)}


@of_each(KINDS)
def test_three_share_and_one_joins_and_one_closes(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet() as fleet:
        three = [fleet.start(kind) for _ in range(3)]
        fleet.await_shares(three, PARTITIONS)
        coordinator.await_stable(fleet.group, 3)
        four = [*three, fleet.start(kind)]
        fleet.await_shares(four, PARTITIONS)
        four[0].close()
        fleet.await_shares(four[1:], PARTITIONS)
        coordinator.await_stable(fleet.group, 3)
        assert coordinator.members(fleet.group) == {worker.client_id: set(worker.partitions) for worker in four[1:]}


@of_each(KINDS)
def test_the_share_of_one_that_is_killed_goes_to_the_others_after_its_session(
    kind: str, coordinator: Coordinator
) -> None:
    with coordinator.fleet(SHORT_SESSION_MS) as fleet:
        three = [fleet.start(kind) for _ in range(3)]
        fleet.await_shares(three, PARTITIONS)
        three[0].kill()
        fleet.await_shares(three[1:], PARTITIONS)
        coordinator.await_stable(fleet.group, 2)


@of_each(KINDS)
def test_one_that_is_paused_beyond_its_session_loses_its_share_and_gets_one_again(
    kind: str, coordinator: Coordinator
) -> None:
    with coordinator.fleet(SHORT_SESSION_MS) as fleet:
        three = [fleet.start(kind) for _ in range(3)]
        fleet.await_shares(three, PARTITIONS)
        three[0].pause()
        fleet.await_shares(three[1:], PARTITIONS)
        three[0].resume()
        fleet.await_shares(three, PARTITIONS)
        coordinator.await_stable(fleet.group, 3)


@of_each(KINDS)
def test_a_static_member_that_is_restarted_has_its_share_again_and_nobody_notices(
    kind: str, coordinator: Coordinator
) -> None:
    with coordinator.fleet() as fleet:
        first, second = (fleet.start(kind, instance_id=name) for name in ("one", "two"))
        fleet.await_shares([first, second], PARTITIONS)
        coordinator.await_stable(fleet.group, 2)
        reported = len(second.assignments)
        before = {m.group_instance_id: m.member_assignment for m in coordinator.describe(fleet.group).members}
        first.kill()
        again = fleet.start(kind, instance_id="one")
        until(
            lambda: again.partitions == first.partitions,
            lambda: f"{sorted(first.partitions)}: has {sorted(again.partitions)}",
        )
        after = {m.group_instance_id: m.member_assignment for m in coordinator.describe(fleet.group).members}
        assert after == before
        assert len(second.assignments) == reported


@of_each(COOPERATIVE)
def test_a_cooperative_member_never_lets_go_of_what_it_keeps(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet(assignor="cooperative-sticky") as fleet:
        first = fleet.start(kind)
        fleet.await_shares([first], PARTITIONS)
        reported = len(first.assignments)
        second = fleet.start(kind)
        fleet.await_shares([first, second], PARTITIONS)
        for assignment in first.assignments[reported:]:
            assert assignment >= first.partitions
        second.close()
        fleet.await_shares([first], PARTITIONS)


@of_each(KINDS)
def test_a_consumer_goes_on_where_its_group_committed(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet() as fleet:
        first = fleet.start(kind)
        fleet.await_shares([first], PARTITIONS)
        assert first.ask("committed", "work/3") is None
        first.ask("commit", "work/3", 42)
        assert first.ask("committed", "work/3") == 42
        first.close()
        second = fleet.start(kind)
        fleet.await_shares([second], PARTITIONS)
        assert second.ask("position", "work/3") == 42
        assert second.ask("committed", "work/4") is None


@pytest.mark.parametrize("assignor", ["range", "roundrobin"])
def test_all_kinds_of_client_share_in_one_group(assignor: str, coordinator: Coordinator) -> None:
    with coordinator.fleet(assignor=assignor) as fleet:
        workers = [fleet.start(kind) for kind in KINDS]
        fleet.await_shares(workers, PARTITIONS)
        coordinator.await_stable(fleet.group, len(KINDS))
        for gone in list(workers):
            gone.close()
            workers.remove(gone)
            if workers:
                fleet.await_shares(workers, PARTITIONS)


def test_three_kinds_of_client_cooperate_in_one_group(coordinator: Coordinator) -> None:
    with coordinator.fleet(assignor="cooperative-sticky") as fleet:
        workers = [fleet.start(kind) for kind in COOPERATIVE]
        fleet.await_shares(workers, PARTITIONS)
        workers.pop().close()
        fleet.await_shares(workers, PARTITIONS)
