"""What holds for every group, drawn at random: who owns what, how even it is, and what stays where it was."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.answers.clients.assignors import ASSIGNORS
from rollcall.schemas.consumer_protocol import TopicPartition
from tests.clients.assignor_groups import Group, groups

COMPLETE = ("range", "roundrobin", "sticky")
STICKY = ("sticky", "cooperative-sticky")
ANY_GROUP = groups() | groups(has_conflicts=True)
Assignment = Mapping[str, Collection[TopicPartition]]


def all_assigned(assignment: Assignment) -> list[TopicPartition]:
    return sorted(partition for partitions in assignment.values() for partition in partitions)


def claimants(group: Group) -> dict[TopicPartition, set[str]]:
    found: dict[TopicPartition, set[str]] = {}
    for member_id, partitions in group.claims.items():
        for partition in partitions:
            found.setdefault(partition, set()).add(member_id)
    return found


def as_sets(assignment: Assignment) -> dict[str, set[TopicPartition]]:
    return {member_id: set(partitions) for member_id, partitions in assignment.items()}


def assert_no_move_would_even_out_two_loads(group: Group, assignment: Assignment) -> None:
    for heavy, light in permutations(assignment, 2):
        if len(assignment[heavy]) >= len(assignment[light]) + 2:
            assert not [each for each in assignment[heavy] if each.topic in group.topics[light]]


@given(ANY_GROUP, st.sampled_from(COMPLETE))
def test_every_partition_of_a_subscribed_topic_is_owned_exactly_once(group: Group, name: str) -> None:
    assignment = group.assign(name)
    assert all_assigned(assignment) == group.assignable()
    assert set(assignment) == set(group.topics)


@given(ANY_GROUP, st.sampled_from(sorted(ASSIGNORS)))
def test_nobody_is_given_a_topic_it_does_not_subscribe_to(group: Group, name: str) -> None:
    for member_id, partitions in group.assign(name).items():
        assert {topic for topic, _ in partitions} <= set(group.topics[member_id])


@given(ANY_GROUP, st.sampled_from(sorted(ASSIGNORS)))
def test_the_same_group_is_always_assigned_the_same(group: Group, name: str) -> None:
    assert group.assign(name) == group.assign(name)


@given(groups(), st.sampled_from(("range", "roundrobin")), st.randoms(use_true_random=False))
def test_range_and_roundrobin_do_not_depend_on_the_order_of_members(group: Group, name: str, random: Random) -> None:
    members = list(group.members(name).items())
    shuffled = random.sample(members, len(members))
    assert ASSIGNORS[name].assign(group.partitions_by_topic, dict(shuffled)) == group.assign(name)


@given(groups(is_equal=True) | groups(is_equal=True, has_conflicts=True), st.sampled_from(("roundrobin", "sticky")))
def test_loads_differ_by_one_at_most_where_subscriptions_are_equal(group: Group, name: str) -> None:
    loads = [len(partitions) for partitions in group.assign(name).values()]
    assert max(loads) - min(loads) <= 1


@given(ANY_GROUP)
def test_range_splits_each_topic_evenly_among_its_subscribers(group: Group) -> None:
    assignment = group.assign("range")
    for topic in group.partitions_by_topic:
        loads = [
            sum(each.topic == topic for each in assignment[member_id])
            for member_id, topics in group.topics.items()
            if topic in topics
        ]
        assert not loads or max(loads) - min(loads) <= 1


@given(ANY_GROUP)
def test_sticky_leaves_no_move_that_would_even_out_two_loads(group: Group) -> None:
    assert_no_move_would_even_out_two_loads(group, group.assign("sticky"))


@given(ANY_GROUP, st.sampled_from(STICKY))
def test_unchanged_members_and_topics_keep_what_they_have(group: Group, name: str) -> None:
    settled = group.after(group.assign("sticky"))
    assert as_sets(settled.assign(name)) == as_sets(settled.claims)


@given(groups(is_equal=True))
def test_sticky_takes_no_more_from_anyone_than_balance_asks(group: Group) -> None:
    assignment = group.assign("sticky")
    least = len(group.assignable()) // len(group.topics)
    for member_id, partitions in assignment.items():
        valid = set(group.claims[member_id]) & set(group.assignable())
        assert len(valid & set(partitions)) >= min(least, len(valid))


@given(ANY_GROUP)
def test_cooperative_sticky_gives_nobody_what_another_living_member_claims(group: Group) -> None:
    claimed_by = claimants(group)
    for member_id, partitions in group.assign("cooperative-sticky").items():
        for partition in partitions:
            if partition not in group.claims[member_id]:
                assert partition not in claimed_by


@given(groups())
def test_cooperative_sticky_withholds_only_what_another_member_claims(group: Group) -> None:
    eager, cooperative = group.assign("sticky"), group.assign("cooperative-sticky")
    claimed_by = claimants(group)
    for member_id, partitions in eager.items():
        withheld = set(partitions) - set(cooperative[member_id])
        assert set(cooperative[member_id]) <= set(partitions)
        assert all(claimed_by[partition] - {member_id} for partition in withheld)
        assert all(claimed_by.get(each, {member_id}) == {member_id} for each in cooperative[member_id])


@given(groups(is_equal=True) | groups(is_equal=True, has_conflicts=True))
def test_two_cooperative_rebalances_end_complete_and_balanced(group: Group) -> None:
    assignment = group.after(group.assign("cooperative-sticky")).assign("cooperative-sticky")
    assert all_assigned(assignment) == group.assignable()
    loads = [len(partitions) for partitions in assignment.values()]
    assert max(loads) - min(loads) <= 1


@pytest.mark.parametrize("has_conflicts", [False, True])
@given(data=st.data())
def test_cooperative_rebalances_settle_where_subscriptions_differ(has_conflicts: bool, data: st.DataObject) -> None:
    """Most groups settle in two, some need a third: what was withheld may be placed anew and outweigh a member."""
    group = data.draw(groups(is_equal=False, has_conflicts=has_conflicts))
    for _ in range(4):
        assignment = group.assign("cooperative-sticky")
        group = group.after(assignment)
    assert all_assigned(assignment) == group.assignable()
    assert as_sets(group.assign("cooperative-sticky")) == as_sets(assignment)
    assert_no_move_would_even_out_two_loads(group, assignment)
