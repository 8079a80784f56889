"""Groups that become classic again, by records made one by one: who made them, and what their next rebalance is of."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from msgspec.structs import force_setattr

from rollcall.inputs.offsets_topic.records.shapes import GroupKey
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import MemberRemoved, RebalanceEnded
from tests.offsets_topic.by_hand import (
    G,
    T,
    classic,
    epoch,
    forming,
    generation,
    gone,
    last_cause,
    member,
    record,
    step,
    target_epoch,
    without_epochs,
)
from tests.offsets_topic.folded import fold

DOWNGRADE = [
    *(*forming(0, "old", "new"), *gone(5_000, "old", "new"), *without_epochs(5_000)),
    generation(5_000, 3, classic("old", 0)),
]


@pytest.mark.parametrize(
    ("number", "names", "culprits"),
    [
        (4, (), {"new-id"}),
        (4, ("late",), {"new-id"}),
        (4, ("old", "late"), {"new-id"}),
        (5, ("old", "late"), {"", "late-id"}),
    ],
)
def test_the_rebalance_of_a_downgrade_is_of_who_made_it_whoever_comes_and_goes_meanwhile(
    number: int, names: Sequence[str], culprits: set[str]
) -> None:
    """If a generation is missing, it was the downgrade's."""
    cause = last_cause(fold([*DOWNGRADE, generation(50_000, number, *(classic(name, 0) for name in names))]))
    assert cause.is_inferred
    assert ({one.member_id for one in cause.candidates} or {cause.member_id}) == culprits


def test_an_epoch_that_is_under_way_ends_with_the_downgrade() -> None:
    """The members of a later upgrade are not its own."""
    begun = [*forming(0, "old", "new"), member(4_000, "late", T), epoch(4_000, 4), target_epoch(4_000, 4)]
    downgrade = [*gone(5_000, "old", "new", "late"), *without_epochs(5_000), generation(5_000, 4, classic("old", 0))]
    upgrade = [record(2, 6_000, GroupKey(group=G), None), member(6_000, "old", T), epoch(6_000, 4)]
    folded = fold([*begun, *downgrade, *upgrade, target_epoch(6_000, 4), step(6_100, "old", 4, 0)])
    [ended] = [one for one in folded.of(G, RebalanceEnded) if one.to_generation_id == 4]
    assert (ended.at_ms, ended.outcome, ended.joined) == (5_000, "superseded", ["late"])
    assert ended.members_after == 3, "who left with the downgrade was in it, as with any next epoch"
    order = [type(one) for one in folded.reported[G] if isinstance(one, RebalanceEnded | GroupTypeChanged)]
    assert order[-3:] == [RebalanceEnded, GroupTypeChanged, GroupTypeChanged]


def test_a_downgrade_that_an_upgrade_ended_is_no_cause_of_a_later_classic_generation() -> None:
    upgrade = [record(2, 6_000, GroupKey(group=G), None), member(6_000, "old", T), epoch(6_000, 3)]
    emptied = [*gone(8_000, "old"), epoch(8_000, 5), *gone(9_000, "last"), epoch(9_000, 6)]
    replaced = [*without_epochs(10_000), generation(10_000, 0), generation(12_000, 1, classic("fresh", 0))]
    folded = fold([*DOWNGRADE, *upgrade, member(6_000, "last", T), epoch(6_000, 4), *emptied, *replaced])
    assert [one.why for one in folded.of(G, GroupTypeChanged)][-3:] == ["downgraded", "upgraded", "replaced"]
    assert (last_cause(folded).kind, last_cause(folded).member_id) == ("member_joined", "fresh-id")


def test_a_static_member_that_comes_back_by_the_classic_protocol_is_replaced_and_rebalances_nobody() -> None:
    old, back = classic("old", 0), classic("back", 1)
    force_setattr(back, "group_instance_id", "pod")
    replaced = [*gone(5_000, "old", "new"), *without_epochs(5_000)]
    static = member(3_000, "new", T, instance_id="pod")
    later = [generation(5_000, 3, old, back), generation(9_000, 4, old, back, classic("x"))]
    folded = fold([*forming(0, "old", "new"), static, *replaced, *later])
    [removed] = folded.of(G, MemberRemoved)
    assert (removed.member_id, removed.end_cause) == ("new-id", "static_member_replaced")
    assert (last_cause(folded).kind, last_cause(folded).member_id) == ("member_joined", "x-id")


@pytest.mark.parametrize(("epoch_of_target", "outcome"), [(4, "completed"), (3, "superseded")])
def test_a_static_member_that_takes_its_place_before_the_tombstones_made_the_downgrade(
    epoch_of_target: int, outcome: str
) -> None:
    """Kafka writes its new id as a member's, and removes all members only then."""
    begun = [*forming(0, "old"), member(3_000, "new", T, instance_id="pod"), epoch(3_000, 3), target_epoch(3_000, 3)]
    begun += [member(4_000, "x", T), epoch(4_000, 4), target_epoch(4_000, epoch_of_target)]
    place = [*gone(5_000, "new"), member(5_000, "back", T, instance_id="pod"), step(5_000, "back", 4)]
    old, back, x = classic("old", 0), classic("back", 1), classic("x")
    force_setattr(back, "group_instance_id", "pod")
    converted = [*gone(5_000, "old", "x", "back"), *without_epochs(5_000), generation(5_000, 4, old, x, back)]
    folded = fold([*begun, *place, *converted, generation(9_000, 5, old, x, back)])
    [ended] = [one for one in folded.of(G, RebalanceEnded) if one.to_generation_id == 4]
    assert (ended.at_ms, ended.outcome) == (5_000, outcome)
    assert folded.of(G, GroupTypeChanged)[-1].client_id == "back"
    if outcome == "superseded":
        assert (last_cause(folded).kind, last_cause(folded).member_id) == ("static_member_replaced", "back-id")
