"""The assignors' literal cases: the examples of Kafka's own documentation, the orders they go by, what they send."""

from __future__ import annotations

import pytest

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.schemas.consumer_protocol import StickyUserData, decode_sticky_user_data
from tests.clients.assignor_groups import Member, assign, parse

ALL = pytest.mark.parametrize("name", sorted(ASSIGNORS))


def test_the_assignors_go_by_kafkas_names() -> None:
    assert [*ASSIGNORS] == ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.mark.parametrize(
    ("name", "instances", "assigned"),
    [
        ("range", {}, {"C0": "t0p0 t0p1 t1p0 t1p1", "C1": "t0p2 t1p2"}),
        ("range", {}, {"C3": "t0p2 t1p2", "C2": "t0p0 t0p1 t1p0 t1p1"}),
        ("range", {"C3": "I0", "C2": "I1"}, {"C3": "t0p0 t0p1 t1p0 t1p1", "C2": "t0p2 t1p2"}),
        ("roundrobin", {}, {"C0": "t0p0 t0p2 t1p1", "C1": "t0p1 t1p0 t1p2"}),
        ("roundrobin", {}, {"C5": "t0p2 t1p2", "C3": "t0p0 t1p0", "C4": "t0p1 t1p1"}),
        (
            "roundrobin",
            {"C5": "I0", "C3": "I1", "C4": "I2"},
            {"C5": "t0p0 t1p0", "C3": "t0p1 t1p1", "C4": "t0p2 t1p2"},
        ),
    ],
)
def test_documentation_two_topics_of_three_go_by_instance_ids_before_member_ids(
    name: str, instances: dict[str, str], assigned: dict[str, str]
) -> None:
    members = [Member(member_id, "t0 t1", instance=instances.get(member_id)) for member_id in assigned]
    assert assign(name, {"t0": 3, "t1": 3}, *members) == assigned


def test_roundrobin_documentation_differing_subscriptions() -> None:
    """Without C0 it is the second example of the sticky assignor's documentation."""
    counts = {"t0": 1, "t1": 2, "t2": 3}
    members = [Member("C0", "t0"), Member("C1", "t0 t1"), Member("C2", "t0 t1 t2")]
    assert assign("roundrobin", counts, *members) == {"C0": "t0p0", "C1": "t1p0", "C2": "t1p1 t2p0 t2p1 t2p2"}
    assert assign("roundrobin", counts, *members[1:]) == {"C1": "t0p0 t1p1", "C2": "t1p0 t2p0 t2p1 t2p2"}


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_sticky_documentation_example_1(name: str) -> None:
    """C0 and C2 keep all they had. The documentation still gives the rest, t2p0 to C0 and t0p1 to C2, as the algorithm
    did before Kafka 2.4; Kafka 4.3.1 deals it as below."""
    counts = dict.fromkeys(("t0", "t1", "t2", "t3"), 2)
    topics = " ".join(counts)
    first = assign(name, counts, *(Member(member_id, topics, generation=-1) for member_id in ("C0", "C1", "C2")))
    assert first == {"C0": "t0p0 t1p1 t3p0", "C1": "t0p1 t2p0 t3p1", "C2": "t1p0 t2p1"}
    left = [Member(member_id, topics, first[member_id]) for member_id in ("C0", "C2")]
    assert assign(name, counts, *left) == {"C0": "t0p0 t3p0 t1p1 t0p1", "C2": "t1p0 t2p1 t2p0 t3p1"}


@pytest.mark.parametrize("name", ["sticky", "cooperative-sticky"])
def test_sticky_documentation_example_2(name: str) -> None:
    counts = {"t0": 1, "t1": 2, "t2": 3}
    topics = {"C0": "t0", "C1": "t0 t1", "C2": "t0 t1 t2"}
    first = assign(name, counts, *(Member(member_id, topics[member_id], generation=-1) for member_id in topics))
    assert first == {"C0": "t0p0", "C1": "t1p0 t1p1", "C2": "t2p0 t2p1 t2p2"}
    left = [Member(member_id, topics[member_id], first[member_id]) for member_id in ("C1", "C2")]
    assert assign(name, counts, *left) == {"C1": "t1p0 t1p1 t0p0", "C2": "t2p0 t2p1 t2p2"}


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_static_members_come_before_dynamic_ones(name: str) -> None:
    members = [Member("a", "t"), Member("b", "t"), Member("z", "t", instance="i2"), Member("y", "t", instance="i3")]
    assert assign(name, {"t": 3}, *members) == {"a": "tp2", "b": "", "z": "tp0", "y": "tp1"}


@ALL
def test_ids_are_ordered_as_java_orders_them_by_utf16_units(name: str) -> None:
    """U+1F600 is after U+FF5E as a code point, but its first UTF-16 unit, D83D, is before it."""
    members = [Member("\uff5e", "t", generation=-1), Member("\U0001f600", "t", generation=-1)]
    assert assign(name, {"t": 1}, *members) == {"\uff5e": "", "\U0001f600": "tp0"}


@pytest.mark.parametrize("name", ["roundrobin", "sticky", "cooperative-sticky"])
def test_topics_are_ordered_as_java_orders_them_by_utf16_units(name: str) -> None:
    topics = "\uff5e \U0001f600"
    members = [Member("a", topics, generation=-1), Member("b", topics, generation=-1)]
    assert assign(name, {"\uff5e": 1, "\U0001f600": 1}, *members) == {"a": "\U0001f600p0", "b": "\uff5ep0"}


@ALL
def test_topics_without_metadata_partitions_or_subscribers_are_skipped(name: str) -> None:
    members = [Member("a", "known unknown empty", generation=-1)]
    assert assign(name, {"known": 2, "empty": 0, "nobodys": 3}, *members) == {"a": "knownp0 knownp1"}


@ALL
def test_a_group_without_members_or_topics_is_assigned_nothing(name: str) -> None:
    assert assign(name, {"t": 2}) == {}
    assert assign(name, {"t": 2}, Member("a", "", generation=-1)) == {"a": ""}


@ALL
def test_a_member_that_subscribes_to_nothing_is_given_nothing(name: str) -> None:
    members = [Member("a", "", generation=-1), Member("b", "t", generation=-1), Member("c", "t", generation=-1)]
    assert assign(name, {"t": 4}, *members)["a"] == ""


@ALL
def test_a_topic_named_twice_by_a_member_counts_once(name: str) -> None:
    members = [Member("a", "t t", generation=-1), Member("b", "t", generation=-1)]
    assert assign(name, {"t": 2}, *members) == {"a": "tp0", "b": "tp1"}
    once, twice = (assign(name, {"s": 2, "u": 1}, Member("a", topics), Member("b", "s")) for topics in ("s u", "s u u"))
    assert once == twice


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_range_and_roundrobin_send_no_user_data(name: str) -> None:
    assert ASSIGNORS[name].subscription_user_data(parse("tp0"), 7) is None


def test_sticky_sends_its_last_assignment_once_it_had_one() -> None:
    assignor = ASSIGNORS["sticky"]
    assert assignor.subscription_user_data(None, -1) is None
    user_data = assignor.subscription_user_data(parse("tp1 sp0 tp0"), 7)
    assert user_data is not None
    assert decode_sticky_user_data(user_data) == StickyUserData(parse("sp0 tp0 tp1"), 7)


def test_cooperative_sticky_sends_its_generation() -> None:
    assert ASSIGNORS["cooperative-sticky"].subscription_user_data(parse("tp1"), 258) == bytes.fromhex("00000102")
    assert ASSIGNORS["cooperative-sticky"].subscription_user_data(None, -1) == bytes.fromhex("ffffffff")
