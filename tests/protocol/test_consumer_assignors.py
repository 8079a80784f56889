"""The assignors of consumer groups: who gets what, what stays where it is, and which one the members want."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from rollcall.coordinator_udfs.protocol.consumer.assignors import (
    MemberSpec,
    Plan,
    assign_by_range,
    assign_mixed,
    assign_uniformly,
)
from rollcall.coordinator_udfs.protocol.java_maps import MemberTable, set_order
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule


def members(topics: Mapping[str, str], targets: Plan | None = None) -> list[MemberSpec]:
    """Members by their subscriptions, names apart by blanks; an id that begins with i is an instance id too."""
    return [
        MemberSpec(name, name if name.startswith("i") else None, frozenset(said.split()), (targets or {}).get(name, {}))
        for name, said in topics.items()
    ]


def sizes(plan: Plan) -> list[int]:
    return sorted(sum(map(len, topics.values())) for topics in plan.values())


# ---------------------------------------------------------------- range


@rule(
    "Range: the first ones get one more, topic by topic",
    origin="testFirstAssignmentTwoMembersTwoTopicsSameSubscriptions "
    "testFirstAssignmentThreeMembersThreeTopicsDifferentSubscriptions "
    "testFirstAssignmentNumMembersGreaterThanNumPartitions",
)
def test_range() -> None:
    plan = assign_by_range(members({"b": "t1 t2", "a": "t1", "c": "t1 t2"}), {"t1": 5, "t2": 1})
    assert plan == {"a": {"t1": [0, 1]}, "b": {"t1": [2, 3], "t2": [0]}, "c": {"t1": [4]}}


@rule("Range: static members first, by instance id", origin="testStaticMembership testMixedStaticMembership")
def test_range_puts_static_members_first() -> None:
    plan = assign_by_range(members({"a": "t1", "i2": "t1", "i1": "t1"}), {"t1": 4})
    assert plan == {"i1": {"t1": [0, 1]}, "i2": {"t1": [2]}, "a": {"t1": [3]}}


@rule("Range: what was before does not matter", origin="testReassignment…")
def test_range_is_made_anew() -> None:
    before = {"a": {"t1": [3]}, "b": {"t1": [0, 1, 2]}}
    assert assign_by_range(members({"a": "t1", "b": "t1"}, before), {"t1": 4})["a"] == {"t1": [0, 1]}


@rule(
    "Assignors: a topic that is missing, or no topic at all, gives nothing",
    origin="…SubscribedToNonexistentTopic… …NoTopic… testEmpty",
)
@pytest.mark.parametrize("assign", [assign_by_range, assign_uniformly, assign_mixed])
def test_without_topics_there_are_empty_assignments(assign: type) -> None:
    assert assign(members({"a": "", "b": ""}), {}) == {"a": {}, "b": {}}
    assert assign([], {}) == {}


# ---------------------------------------------------------------- uniform


@rule(
    "Uniform: sizes differ by one at most, over all topics",
    origin="testFirstAssignmentTwoMembersTwoTopicsNoMemberRacks "
    "testFirstAssignmentNumMembersGreaterThanTotalNumPartitions testValidityAndBalanceForLargeSampleSet",
)
@pytest.mark.parametrize(
    ("count", "topics"), [(2, {"t1": 3, "t2": 2}), (4, {"t1": 2, "t2": 1}), (7, {f"t{i}": 1 + i for i in range(12)})]
)
def test_uniform_is_balanced(count: int, topics: dict[str, int]) -> None:
    plan = assign_uniformly(members({f"m{n}": " ".join(topics) for n in range(count)}), topics)
    owned = [(topic, p) for assigned in plan.values() for topic, ps in assigned.items() for p in ps]
    assert sorted(owned) == sorted((topic, p) for topic, n in topics.items() for p in range(n))
    assert sizes(plan)[-1] - sizes(plan)[0] <= 1


@rule(
    "Uniform: members keep what fits their share; the rest fills up the others",
    origin="testReassignmentForTwoMembersTwoTopicsGivenUnbalancedPrevAssignment testReassignmentWhen…",
)
def test_uniform_is_sticky() -> None:
    two = dict.fromkeys("ab", "t1")
    unbalanced = {"a": {"t1": [0, 1, 2]}, "b": {"t1": [3]}}
    assert assign_uniformly(members(two, unbalanced), {"t1": 4}) == {"a": {"t1": [0, 1]}, "b": {"t1": [3, 2]}}
    grown = {"a": {"t1": [0, 1]}, "b": {"t1": [2, 3]}}
    assert assign_uniformly(members(two, grown), {"t1": 6}) == {"a": {"t1": [0, 1, 4]}, "b": {"t1": [2, 3, 5]}}
    assert assign_uniformly(members(dict.fromkeys("abc", "t1"), grown), {"t1": 4})["c"] == {"t1": [3]}
    assert assign_uniformly(members({"a": "t1"}, grown), {"t1": 4}) == {"a": {"t1": [0, 1, 2, 3]}}
    dropped = {"a": {"t1": [0], "t2": [0]}, "b": {"t1": [1], "t2": [1]}}
    assert assign_uniformly(members(two, dropped), {"t1": 2}) == {"a": {"t1": [0]}, "b": {"t1": [1]}}


@rule("Uniform: topics are taken in the order of Kafka's set of their ids, where these are known")
def test_uniform_takes_topics_in_the_order_of_their_ids() -> None:
    """That of a Java set; without ids, that of their names."""
    ids = {"t1": "urzmpGetVtcfbz3DOZaGzA", "t2": "VRz9X6vTRFbZZQTCVCGTgw"}
    two, topics = members(dict.fromkeys("ab", "t1 t2")), {"t1": 2, "t2": 1}
    assert assign_uniformly(two, topics) == {"a": {"t1": [0]}, "b": {"t1": [1], "t2": [0]}}
    assert assign_uniformly(two, topics, ids) == {"a": {"t2": [0]}, "b": {"t1": [0, 1]}}
    full = members(dict.fromkeys("ab", "t1 t2"), {"a": {"t1": [0, 1], "t2": [0]}})
    assert assign_uniformly(full, topics) == {"a": {"t1": [0, 1]}, "b": {"t2": [0]}}
    assert assign_uniformly(full, topics, ids) == {"a": {"t2": [0], "t1": [0]}, "b": {"t1": [1]}}


@rule("Uniform with different subscriptions: topics that are alike are taken in the order of their ids")
def test_mixed_takes_topics_that_are_alike_in_the_order_of_their_ids() -> None:
    ids = {"t1": "VRz9X6vTRFbZZQTCVCGTgw", "t2": "urzmpGetVtcfbz3DOZaGzA", "t3": "AAAAAAAAAAAAAAAAAAAAAQ"}
    three, topics = members({"a": "t1 t2", "b": "t1 t2", "c": "t3"}), {"t1": 1, "t2": 1, "t3": 1}
    assert assign_mixed(three, topics) == {"a": {"t1": [0]}, "b": {"t2": [0]}, "c": {"t3": [0]}}
    assert assign_mixed(three, topics, ids) == {"a": {"t2": [0]}, "b": {"t1": [0]}, "c": {"t3": [0]}}


@rule(
    "Uniform with different subscriptions: everything is somebody's, and balanced where it can be",
    origin="testFirstAssignmentTwoMembersTwoTopics testFirstAssignmentWithTwoMembersIncludingOneWithoutSubscriptions",
)
def test_mixed_subscriptions() -> None:
    plan = assign_mixed(members({"a": "t1", "b": "t1 t2", "c": ""}), {"t1": 4, "t2": 2})
    assert plan == {"a": {"t1": [0, 1, 2]}, "b": {"t1": [3], "t2": [0, 1]}, "c": {}}


@rule(
    "Uniform with different subscriptions: what is still subscribed to stays, what is free is filled in, then balanced",
    origin="testReassignmentForTwoMembersThreeTopicsGivenUnbalancedPrevAssignment testReassignmentWhen…",
)
def test_mixed_subscriptions_are_sticky() -> None:
    said = {"a": "t1 t2", "b": "t1"}
    before = {"a": {"t1": [0, 1, 2, 3]}, "b": {}}
    assert assign_mixed(members(said, before), {"t1": 4, "t2": 2}) == {
        "a": {"t1": [0], "t2": [0, 1]},
        "b": {"t1": [1, 2, 3]},
    }
    after = {"a": {"t1": [0], "t2": [0, 1]}, "b": {"t1": [1, 2, 3]}}
    assert assign_mixed(members(said, after), {"t1": 4, "t2": 2}) == after
    third = assign_mixed(members(said | {"c": "t2"}, after), {"t1": 4, "t2": 2})
    assert third["b"] == after["b"]
    assert sizes(third) == [1, 2, 3]
    without = assign_mixed(members({"a": "t1", "b": "t1"}, after), {"t1": 4, "t2": 2})
    assert without == {"a": {"t1": [0, 3]}, "b": {"t1": [1, 2]}}


# ---------------------------------------------------------------- the group's choice


@rule(
    "Assignors: the one that most members name; the first configured where none does",
    origin="testPreferredServerAssignor",
)
def test_votes() -> None:
    bench = ConsumerBench(topics={"t1": 3, "t2": 3})
    both = ("t1", "t2")
    bench.join("a", *both)
    assert bench.describe().assignor_name == "uniform"
    bench.join("b", *both, server_assignor="range")
    assert bench.describe().assignor_name == "range"
    assert [len(ps) for ps in bench.targets()["a"].values()] == [2, 2]
    bench.beat("a", server_assignor="uniform")
    bench.join("c", *both, server_assignor="uniform")
    assert (bench.describe().assignor_name, bench.epoch) == ("uniform", 5)


@rule(
    "Assignors: same subscriptions or different ones, by names and by expressions",
    origin="testSubscriptionType testUpdateSubscribedTopicNamesAndSubscriptionType",
)
def test_different_subscriptions_are_seen() -> None:
    bench = ConsumerBench(topics={"t1": 2, "t2": 4})
    bench.join("a", "t1")
    bench.join("b", "t1", "t2")
    assert bench.targets() == {"a": {"t1": [0, 1]}, "b": {"t2": [0, 1, 2, 3]}}


@rule(
    "Assignors: the target of one computation is the memory of the next, a successor's included",
    origin="testAssignmentHasNotChanged testAssignmentSwapped testPartialAssignmentUpdate testNewMember "
    "testUpdateMember testDeleteMember testRegularExpressions",
)
def test_targets_are_what_is_remembered() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("a", "t1")
    bench.join("b", "t1")
    before = bench.targets()
    bench.set_topics(other=1)
    bench.beat("a")
    assert bench.targets() == before
    bench.leave("b")
    bench.join("c", "t1")
    assert bench.targets()["a"] == before["a"]


# ---------------------------------------------------------------- orders


@rule("Java's orders: a set of numbers walks by its slots")
def test_set_order() -> None:
    assert set_order(range(12)) == list(range(12))
    assert set_order([16, 1, 0, 17]) == [16, 0, 1, 17]
    assert set_order(range(40, 0, -1))[:3] == [1, 2, 3]


@rule("Java's orders: Kafka's member table doubles before it is full, and never shrinks")
def test_member_table() -> None:
    table = MemberTable()
    names = [f"member-{n}" for n in range(9)]
    for name in names:
        table.put(name)
        table.put(name)
    assert (sorted(table), table.slots) == (names, 8)
    order = [name for name in table if name != "member-4"]
    table.remove("member-4")
    table.remove("nobody")
    assert list(table) == order
    assert list(table.copy()) == order
    for name in names:
        table.remove(name)
    assert (list(table), table.slots) == ([], 8)
