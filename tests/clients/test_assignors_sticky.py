"""The sticky assignors' literal cases: who keeps what, whose claim counts, and what waits for its old owner."""

from __future__ import annotations

from dataclasses import replace

import pytest
from msgspec.structs import replace as replace_fields

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.answers.clients.assignors.sticky_general import PartitionMovements
from rollcall.schemas.consumer_protocol import (
    StickyUserData,
    encode_cooperative_sticky_user_data,
    encode_sticky_user_data,
)
from tests.clients.assignor_groups import Member, assign, parse, show

BOTH = pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])


@BOTH
def test_the_first_members_visited_keep_the_extra_partition(name: str) -> None:
    members = [Member("b", "t", "tp0 tp1 tp2"), Member("a", "t", "tp3 tp4"), Member("c", "t")]
    assert assign(name, {"t": 5}, *members)["b"] == "tp0 tp1"
    assert assign(name, {"t": 5}, *reversed(members))["a"] == "tp3 tp4"


def test_members_keep_the_lowest_partition_numbers_over_all_topics() -> None:
    members = [Member("a", "s t", "sp0 sp1 sp2 tp0 tp1 tp2"), Member("b", "s t")]
    assert assign("sticky", {"s": 3, "t": 3}, *members) == {"a": "sp0 tp0 sp1", "b": "sp2 tp1 tp2"}


def test_members_below_the_least_are_filled_in_turn_before_anyone_gets_an_extra() -> None:
    members = [Member("c", "t", "tp0 tp1"), Member("b", "t"), Member("a", "t", "tp2")]
    assert assign("sticky", {"t": 8}, *members) == {"c": "tp0 tp1 tp6", "b": "tp4 tp5", "a": "tp2 tp3 tp7"}


def test_cooperative_sticky_withholds_a_partition_until_its_owner_gave_it_up() -> None:
    members = [Member("a", "t", "tp0 tp1 tp2 tp3"), Member("b", "t")]
    assert assign("sticky", {"t": 4}, *members) == {"a": "tp0 tp1", "b": "tp2 tp3"}
    assert assign("cooperative-sticky", {"t": 4}, *members) == {"a": "tp0 tp1", "b": ""}
    follow_up = [Member("a", "t", "tp0 tp1", 6), Member("b", "t", "", 6)]
    assert assign("cooperative-sticky", {"t": 4}, *follow_up) == {"a": "tp0 tp1", "b": "tp2 tp3"}


def test_cooperative_sticky_withholds_with_differing_subscriptions_too() -> None:
    members = [Member("a", "s t", "tp0 tp1 tp2 tp3"), Member("b", "t")]
    assert assign("sticky", {"t": 4, "s": 1}, *members) == {"a": "tp2 tp3 sp0", "b": "tp0 tp1"}
    assert assign("cooperative-sticky", {"t": 4, "s": 1}, *members) == {"a": "tp2 tp3 sp0", "b": ""}


@BOTH
def test_the_claim_of_the_higher_generation_wins(name: str) -> None:
    members = [Member("a", "t", "tp0 tp1", 4), Member("b", "t", "tp0 tp1", 5)]
    assert assign(name, {"t": 2}, *members)["b"] == "tp0"
    assert assign(name, {"t": 2}, *reversed(members))["b"] == "tp0"


def test_two_claims_in_one_generation_both_lose() -> None:
    members = [Member("b", "t", "tp0 tp1"), Member("a", "t", "tp0 tp2")]
    assert assign("sticky", {"t": 4}, *members) == {"b": "tp1 tp3", "a": "tp2 tp0"}
    assert assign("cooperative-sticky", {"t": 4}, *members) == {"b": "tp1 tp3", "a": "tp2"}


def test_a_third_claim_in_a_higher_generation_wins_over_two_that_clash() -> None:
    members = [Member("a", "t", "tp0", 4), Member("b", "t", "tp0", 5), Member("c", "t", "tp0", 4)]
    for order in (members, members[::-1], [members[0], members[2], members[1]]):
        assert assign("sticky", {"t": 3}, *order)["b"] == "tp0"


def test_cooperative_sticky_withholds_from_a_stale_claimant_what_the_owner_still_has() -> None:
    members = [Member("new", "s t", "tp0 tp1 tp2 tp3", 5), Member("stale", "t", "tp0", 4)]
    assert assign("sticky", {"t": 4, "s": 1}, *members)["stale"] == "tp0 tp1"
    assert assign("cooperative-sticky", {"t": 4, "s": 1}, *members)["stale"] == ""


def test_a_partition_moves_back_to_its_earlier_owner_rather_than_to_the_lightest() -> None:
    crowd = Member("z", "t s", "tp0 tp1 tp2 tp3 tp4", 5)
    members = [crowd, Member("a", "t", "", 5), Member("earlier", "t", "tp0", 4)]
    assert "tp0" in assign("sticky", {"t": 5, "s": 1}, *members)["earlier"].split()
    without_history = [crowd, Member("a", "t", "", 5), Member("earlier", "t", "", 4)]
    assert "tp0" in assign("sticky", {"t": 5, "s": 1}, *without_history)["a"].split()


def test_an_earlier_owner_that_left_the_topic_is_not_given_it_back() -> None:
    members = [Member("a", "t", "tp0 tp1 tp2 tp3"), Member("b", "t"), Member("earlier", "s", "tp0", 4)]
    assert assign("sticky", {"t": 4, "s": 1}, *members)["earlier"] == "sp0"


@BOTH
def test_claims_of_partitions_and_topics_that_are_gone_are_dropped(name: str) -> None:
    members = [Member("a", "t", "tp0 tp7 gonep0"), Member("b", "t", "tp1")]
    assert assign(name, {"t": 2}, *members) == {"a": "tp0", "b": "tp1"}


def test_a_member_that_left_a_topic_loses_its_partitions_first() -> None:
    members = [Member("a", "s", "tp0 tp1"), Member("b", "s t", "sp0 sp1")]
    assert assign("sticky", {"s": 2, "t": 2}, *members) == {"a": "sp0 sp1", "b": "tp0 tp1"}
    assert assign("cooperative-sticky", {"s": 2, "t": 2}, *members) == {"a": "", "b": ""}


def test_a_move_that_would_swap_two_partitions_of_a_topic_is_undone_instead() -> None:
    """p's earlier move s -> a is what a partition of the same topic going a -> s would undo; net moves count."""
    movements = PartitionMovements()
    first, second, other = parse("tp0 tp1 up0")
    movements.record(first, "s", "a")
    assert movements.substitute(second, "a", "s") == first
    assert movements.substitute(second, "s", "a") == second
    assert movements.substitute(other, "a", "s") == other
    movements.record(first, "a", "b")
    assert movements.substitute(second, "a", "s") == second
    assert movements.substitute(second, "b", "s") == first
    movements.record(first, "b", "s")
    assert movements.substitute(second, "b", "s") == second


def test_undoing_a_swap_takes_the_partition_from_the_overloaded_member() -> None:
    """Here both partitions of the swap moved before. Kafka moves the substitute alone, between two members of which
    neither is the overloaded one; here the overloaded one gives its partition back as well."""
    members = [
        Member("b", "s t", "tp0 tp1 tp2 tp9 tp10 sp2"),
        Member("f", "s"),
        Member("c", "t s", "tp6"),
        Member("d", "s t"),
        Member("a", "s t", "sp0 sp1 sp3 sp4 tp4 tp5 tp7"),
        Member("e", "s", "sp5"),
    ]
    assigned = assign("sticky", {"s": 6, "t": 11}, *members)
    assert {member_id: " ".join(sorted(partitions.split())) for member_id, partitions in assigned.items()} == {
        "a": "sp3 sp4 tp4",
        "b": "tp0 tp10 tp9",
        "c": "tp1 tp5 tp6 tp8",
        "d": "tp2 tp3 tp7",
        "e": "sp1 sp5",
        "f": "sp0 sp2",
    }


def test_of_two_earlier_owners_the_later_one_gets_the_partition_back() -> None:
    members = [
        Member("z", "t s", "tp0 tp1 tp2 tp3 tp4", 5),
        Member("a", "t", "tp0", 3),
        Member("b", "t", "tp0", 4),
        Member("c", "t", "tp0", 3),
    ]
    assert "tp0" in assign("sticky", {"t": 5, "s": 1}, *members)["b"].split()


OF_VERSION_0 = encode_sticky_user_data(StickyUserData(parse("tp0")))


@pytest.mark.parametrize(
    ("user_data", "other_generation"),
    [(OF_VERSION_0, 0), (None, 3), (b"", 3), (b"\xff", 3), (b"\x00\x00\x00\x09", 3)],
)
def test_sticky_takes_user_data_of_version_0_for_the_oldest_claim_and_what_it_cannot_read_for_none(
    user_data: bytes | None, other_generation: int
) -> None:
    both = (Member("a", "t"), Member("b", "t", "tp0", other_generation))
    members = {member.member_id: member.subscribe("sticky") for member in both}
    members["a"] = replace(members["a"], subscription=replace_fields(members["a"].subscription, user_data=user_data))
    assert show(ASSIGNORS["sticky"].assign({"t": 2}, members)) == {"a": "tp1", "b": "tp0"}


@pytest.mark.parametrize(
    ("user_data", "winner"), [(encode_cooperative_sticky_user_data(9), "a"), (b"\x00", "b"), (None, "b")]
)
def test_cooperative_sticky_takes_the_generation_from_user_data_of_old_subscriptions(
    user_data: bytes | None, winner: str
) -> None:
    members = {
        each.member_id: each.subscribe("cooperative-sticky")
        for each in (Member("a", "t", "tp0"), Member("b", "t", "tp0"))
    }
    old = replace_fields(members["a"].subscription, user_data=user_data, generation_id=-1)
    members["a"] = replace(members["a"], subscription=old)
    assert show(ASSIGNORS["cooperative-sticky"].assign({"t": 2}, members))[winner] == "tp0"
