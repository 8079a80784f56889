"""What holds of every target assignment, whoever the members are and whatever they were to own before."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.consumer.assignors import (
    MemberSpec,
    Plan,
    assign_by_range,
    assign_mixed,
    assign_uniformly,
)

NAMES = ("t1", "t2", "t3", "t4")
Partition = tuple[str, int]

topics_ = st.dictionaries(st.sampled_from(NAMES), st.integers(1, 20), min_size=1)


@st.composite
def groups(draw: st.DrawFn, *, is_homogeneous: bool) -> tuple[list[MemberSpec], dict[str, int]]:
    """Members with targets that overlap nowhere, of topics that may be gone and partitions that may be new."""
    topics = draw(topics_)
    everything = frozenset(topics)
    names = [f"m-{n}" for n in range(draw(st.integers(1, 8)))]
    held: dict[str, dict[str, list[int]]] = {name: {} for name in names}
    for topic in sorted({*topics, "gone"}):
        for partition in range(topics.get(topic, 3)):
            holder = draw(st.sampled_from([None, *names]))
            if holder is not None:
                held[holder].setdefault(topic, []).append(partition)
    said = [everything if is_homogeneous else draw(st.frozensets(st.sampled_from(sorted(topics)))) for _ in names]
    return [MemberSpec(name, None, mine, held[name]) for name, mine in zip(names, said, strict=True)], topics


def owned(plan: Plan) -> Iterator[Partition]:
    for topics in plan.values():
        for topic, partitions in topics.items():
            yield from ((topic, partition) for partition in partitions)


def assert_valid(members: list[MemberSpec], topics: dict[str, int], plan: Plan) -> None:
    """Every subscribed partition is one subscriber's, nothing else is anybody's, and nobody is left out."""
    subscribed = frozenset[str]().union(*(member.topics for member in members))
    assert sorted(owned(plan)) == [(t, p) for t in sorted(subscribed) for p in range(topics[t])]
    assert plan.keys() == {member.member_id for member in members}
    assert all(plan[member.member_id].keys() <= member.topics for member in members)


def parts(partitions: dict[str, list[int]]) -> set[Partition]:
    return {(topic, partition) for topic, found in partitions.items() for partition in found}


def after(members: list[MemberSpec], plan: Plan) -> list[MemberSpec]:
    """The members with the plan as their target."""
    return [member._replace(target=plan[member.member_id]) for member in members]


@given(group=groups(is_homogeneous=True))
def test_uniform_is_valid_balanced_and_moves_nothing_that_balance_does_not_ask_for(
    group: tuple[list[MemberSpec], dict[str, int]],
) -> None:
    members, topics = group
    plan = assign_uniformly(members, topics)
    assert_valid(members, topics, plan)
    sizes = {name: len(parts(assigned)) for name, assigned in plan.items()}
    assert max(sizes.values()) - min(sizes.values()) <= 1
    for member in members:
        before = {p for p in parts(dict(member.target)) if p[0] in topics}  # type: ignore[arg-type]
        now = parts(plan[member.member_id])
        # Who is given something keeps all that it had, and who loses something had more than its share.
        assert before <= now or now < before
    again = assign_uniformly(after(members, plan), topics)
    assert {name: parts(assigned) for name, assigned in again.items()} == {
        name: parts(assigned) for name, assigned in plan.items()
    }


@given(group=groups(is_homogeneous=False))
def test_uniform_with_different_subscriptions_is_valid_and_stays_once_it_balances(
    group: tuple[list[MemberSpec], dict[str, int]],
) -> None:
    members, topics = group
    plan = assign_mixed(members, topics)
    assert_valid(members, topics, plan)
    sizes = {name: len(parts(assigned)) for name, assigned in plan.items()}
    for giver in members:
        for taker in members:
            shared = plan[giver.member_id].keys() & taker.topics
            assert not shared or sizes[giver.member_id] - sizes[taker.member_id] <= 1
    again = assign_mixed(after(members, plan), topics)
    assert {name: parts(assigned) for name, assigned in again.items()} == {
        name: parts(assigned) for name, assigned in plan.items()
    }


@given(group=groups(is_homogeneous=False))
def test_range_is_valid_and_runs_through_each_topic(group: tuple[list[MemberSpec], dict[str, int]]) -> None:
    members, topics = group
    plan = assign_by_range(members, topics)
    assert_valid(members, topics, plan)
    for topic in topics:
        runs = [plan[member.member_id].get(topic, []) for member in members if topic in member.topics]
        assert all(run == list(range(run[0], run[-1] + 1)) for run in runs if run)
        assert not runs or max(map(len, runs)) - min(map(len, runs)) <= 1
