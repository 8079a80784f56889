"""Rack-aware assignment (KIP-881): when it applies, and what the range and sticky assignors make of it."""

from __future__ import annotations

import pytest

from clients.assignors import ASSIGNORS, ReplicaRacks
from tests.clients.assignor_groups import Member, parse, show


def racks(**by_partition: str) -> ReplicaRacks:
    """tp0="a b" as: partition 0 of topic t has replicas in racks a and b."""
    return {parse(partition)[0]: text.split() for partition, text in by_partition.items()}


def assign(name: str, counts: dict[str, int], replica_racks: ReplicaRacks, *members: Member) -> dict[str, str]:
    subscriptions = {member.member_id: member.subscribe(name) for member in members}
    return show(ASSIGNORS[name].assign(counts, subscriptions, replica_racks))


AWAY = racks(tp0="b", tp1="a", tp2="b", tp3="a")


def test_range_prefers_partitions_in_the_members_rack() -> None:
    members = [Member("A", "t", rack="a"), Member("B", "t", rack="b")]
    assert assign("range", {"t": 4}, AWAY, *members) == {"A": "tp1 tp3", "B": "tp0 tp2"}


def test_range_keeps_the_balance_where_all_replicas_are_in_one_rack() -> None:
    members = [Member("A", "t", rack="a"), Member("B", "t", rack="b")]
    replicas = racks(tp0="a", tp1="a", tp2="a", tp3="b")
    assert assign("range", {"t": 4}, replicas, *members) == {"A": "tp0 tp1", "B": "tp2 tp3"}


def test_range_counts_a_member_without_a_rack_as_near_everything() -> None:
    members = [Member("A", "t"), Member("B", "t", rack="b")]
    assert assign("range", {"t": 4}, AWAY, *members) == {"A": "tp0 tp1", "B": "tp2 tp3"}


def test_range_puts_equal_numbers_of_co_partitioned_topics_on_one_member() -> None:
    members = [Member("A", "s t", rack="a"), Member("B", "s t", rack="b")]
    replicas = racks(sp0="b", tp0="b", sp1="a", tp1="a b")
    assert assign("range", {"s": 2, "t": 2}, replicas, *members) == {"A": "sp1 tp1", "B": "sp0 tp0"}


def test_range_keeps_co_partitioning_where_racks_would_tear_it_apart() -> None:
    members = [Member("A", "s t", rack="a"), Member("B", "s t", rack="b")]
    replicas = racks(sp0="b", tp0="a", sp1="a", tp1="b")
    assert assign("range", {"s": 2, "t": 2}, replicas, *members) == {"A": "sp0 tp0", "B": "sp1 tp1"}


def test_range_gives_no_member_more_co_partitioned_topics_than_its_share() -> None:
    members = [Member("A", "s t", rack="a"), Member("B", "s t", rack="b")]
    replicas = racks(sp0="a", tp0="a", sp1="a", tp1="a b")
    assert assign("range", {"s": 2, "t": 2}, replicas, *members) == {"A": "sp0 tp0", "B": "sp1 tp1"}


def test_range_treats_topics_with_other_counts_or_subscribers_each_by_itself() -> None:
    members = [Member("A", "s t", rack="a"), Member("B", "s t", rack="b")]
    replicas = racks(sp0="b", sp1="a", tp0="b", tp1="a", tp2="a")
    assert assign("range", {"s": 2, "t": 3}, replicas, *members) == {"A": "sp1 tp1 tp2", "B": "sp0 tp0"}


@pytest.mark.parametrize("name", ["range", "sticky", "cooperative-sticky"])
@pytest.mark.parametrize(
    ("member_racks", "replica_racks"),
    [
        (("", ""), AWAY),
        ((None, None), AWAY),
        (("x", "y"), AWAY),
        (("x", None), AWAY),
        (("a", "b"), racks(tp0="a b", tp1="b a", tp2="a b", tp3="a b")),
        (("a", "b"), {}),
    ],
    ids=[
        "empty racks",
        "no member has a rack",
        "no replica in their racks",
        "no replica in its rack",
        "every partition in every rack",
        "unknown",
    ],
)
def test_racks_that_cannot_matter_change_nothing(
    name: str, member_racks: tuple[str | None, str | None], replica_racks: ReplicaRacks
) -> None:
    members = [
        Member(member_id, "t", generation=-1, rack=rack) for member_id, rack in zip("AB", member_racks, strict=True)
    ]
    assert assign(name, {"t": 4}, replica_racks, *members) == assign(name, {"t": 4}, {}, *members)


def test_range_leaves_co_partitioned_topics_alone_where_racks_cannot_matter() -> None:
    members = [Member("A", "s t", rack="x"), Member("B", "s t")]
    replicas = racks(sp0="a", sp1="b", tp0="b", tp1="a")
    assert assign("range", {"s": 2, "t": 2}, replicas, *members) == {"A": "sp0 tp0", "B": "sp1 tp1"}


def test_range_leaves_a_topic_alone_where_racks_matter_to_another_only() -> None:
    members = [Member("A", "s t", rack="a"), Member("B", "s t")]
    replicas = racks(sp0="b", sp1="a", sp2="b", tp0="c", tp1="c")
    assert assign("range", {"s": 3, "t": 2}, replicas, *members) == {"A": "sp1 tp0", "B": "sp0 sp2 tp1"}


def test_roundrobin_takes_no_notice_of_racks() -> None:
    members = [Member("A", "t", rack="a"), Member("B", "t", rack="b")]
    assert assign("roundrobin", {"t": 4}, AWAY, *members) == {"A": "tp0 tp2", "B": "tp1 tp3"}


@pytest.mark.parametrize("topics_of_b", ["t", "t u"], ids=["same subscriptions", "differing subscriptions"])
def test_sticky_gives_up_partitions_that_are_out_of_the_members_rack(topics_of_b: str) -> None:
    members = [Member("A", "t", "tp0 tp2", rack="a"), Member("B", topics_of_b, "tp1 tp3", rack="b")]
    assert assign("sticky", {"t": 4}, AWAY, *members) == {"A": "tp1 tp3", "B": "tp0 tp2"}
    assert assign("cooperative-sticky", {"t": 4}, AWAY, *members) == {"A": "", "B": ""}


def test_sticky_keeps_the_balance_before_the_racks() -> None:
    members = [Member("A", "t", generation=-1, rack="a"), Member("B", "t", generation=-1, rack="b")]
    replicas = racks(tp0="a", tp1="a", tp2="a", tp3="a", tp4="b")
    assert assign("sticky", {"t": 5}, replicas, *members) == {"A": "tp0 tp1 tp2", "B": "tp4 tp3"}


def test_sticky_places_partitions_with_the_fewest_members_near_first() -> None:
    members = [Member(member_id, "t", generation=-1, rack=rack) for member_id, rack in zip("ABC", "aab", strict=True)]
    replicas = racks(tp0="a b", tp1="a", tp2="b")
    assert assign("sticky", {"t": 3}, replicas, *members) == {"A": "tp1", "B": "tp0", "C": "tp2"}


def test_sticky_gives_nobody_a_second_extra_for_the_sake_of_its_rack() -> None:
    members = [Member("B", "t", "tp0", rack="b"), Member("A", "t", "tp1 tp2", rack="a"), Member("C", "t")]
    replicas = racks(tp0="b", tp1="a", tp2="a", tp3="b")
    assert assign("sticky", {"t": 4}, replicas, *members) == {"B": "tp0", "A": "tp1 tp2", "C": "tp3"}
