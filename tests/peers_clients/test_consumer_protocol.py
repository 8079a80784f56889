"""Unmodified consumers of two libraries with `group.protocol=consumer` (KIP-848) before a gateway over the core."""

from __future__ import annotations

from typing import Any

import pytest

from tests.peers_clients.conftest import PARTITIONS, Coordinator
from tests.peers_clients.fleet import Fleet
from tests.waiting import until

KINDS = ("confluent", "java")

each_kind = pytest.mark.parametrize("kind", KINDS)


def describe(coordinator: Coordinator, fleet: Fleet) -> Any:
    return coordinator.call("ConsumerGroupDescribe", 1, group_ids=[fleet.group]).groups[0]


def await_stable(coordinator: Coordinator, fleet: Fleet, size: int) -> None:
    def is_stable() -> bool:
        group = describe(coordinator, fleet)
        return group.group_state == "Stable" and len(group.members) == size

    until(is_stable, lambda: str(describe(coordinator, fleet)))


@each_kind
def test_three_share_one_joins_one_closes_and_one_is_killed(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet(protocol="consumer") as fleet:
        first = fleet.start(kind)
        fleet.await_shares([first], PARTITIONS)
        three = [first, fleet.start(kind), fleet.start(kind)]
        fleet.await_shares(three, PARTITIONS)
        await_stable(coordinator, fleet, 3)
        listed = coordinator.call("ListGroups", 5, types_filter=["consumer"]).groups
        assert fleet.group in {group.group_id for group in listed}
        three[0].close()
        fleet.await_shares(three[1:], PARTITIONS)
        await_stable(coordinator, fleet, 2)
        three[1].kill()
        fleet.await_shares(three[2:], PARTITIONS)
        await_stable(coordinator, fleet, 1)


def test_one_that_is_paused_beyond_its_session_gets_a_share_again(coordinator: Coordinator) -> None:
    with coordinator.fleet(protocol="consumer") as fleet:
        two = [fleet.start("confluent") for _ in range(2)]
        fleet.await_shares(two, PARTITIONS)
        two[0].pause()
        fleet.await_shares(two[1:], PARTITIONS)
        two[0].resume()
        fleet.await_shares(two, PARTITIONS)


@each_kind
def test_a_running_classic_group_is_converted_and_back(kind: str, coordinator: Coordinator) -> None:
    with coordinator.fleet() as fleet:
        classic = fleet.start(kind)
        fleet.await_shares([classic], PARTITIONS)
        newer = fleet.start(kind, protocol="consumer")
        fleet.await_shares([classic, newer], PARTITIONS)
        assert [member.member_type for member in describe(coordinator, fleet).members] in ([0, 1], [1, 0])
        newer.close()
        fleet.await_shares([classic], PARTITIONS)
        coordinator.await_stable(fleet.group, 1)
