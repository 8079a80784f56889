"""Groups that go over to the newer protocol and back, and static members that leave for a while and come back.

`conversions` is of a real broker 4.3.1: `up` is upgraded and its classic members go; `down` is downgraded by a close,
upgraded again and downgraded again; of `dying` the last member of the newer protocol is killed, and later it is
upgraded again; `still` has static members of the newer protocol, `fixed` of the classic one. Each input alone has
all of it; both together report it once, and are as right as the better of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import pytest
from msgspec.structs import force_setattr

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.records.shapes import GroupKey
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberLeftForNow
from rollcall.schemas.effects import CauseFound, Effect, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from tests.offsets_topic.beside import Both, facts_of, merged
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
from tests.offsets_topic.folded import OF_SESSIONS, SESSIONS, decoded, fold, read_dump
from tests.request_log.recordings import incident
from tests.shares import of_incident

NAME = "conversions"
UP, DOWN = "upgraded", "downgraded"
EXPECTED = {"up": [UP], "down": [DOWN, UP, DOWN], "dying": [DOWN, UP], "still": [], "fixed": []}
INPUTS = ("log", "topic", "both")


@cache
def both(recorded: str = NAME) -> Both:
    topic = fold(decoded(read_dump(OF_SESSIONS / f"{recorded}.dump.gz")))
    log = incident(recorded)
    reported: dict[str, list[Effect]] = defaultdict(list)
    for group, effect in log.effects:
        reported[group].append(effect)
    return merged(
        {group: facts_of(effects, topic.names) for group, effects in reported.items()},
        {group: facts_of(effects) for group, effects in topic.reported.items()},
        log.tally.last_at_ms or 0,
    )


def reported_by(name: str, group: str, recorded: str = NAME) -> list[Fact]:
    found = both(recorded)
    return found.history(group) if name == "both" else (found.log if name == "log" else found.topic)[group]


def of(facts: Iterable[Fact], *kinds: type) -> list[Fact]:
    return [fact for fact in facts if isinstance(fact.content, kinds)]


@pytest.mark.parametrize("name", INPUTS)
@pytest.mark.parametrize("group", EXPECTED)
def test_each_input_reports_each_conversion_as_such(name: str, group: str) -> None:
    changes = [fact.content for fact in of(reported_by(name, group), GroupTypeChanged)]
    assert [one.why for one in changes if isinstance(one, GroupTypeChanged) and one.from_type] == EXPECTED[group]


@pytest.mark.parametrize("name", INPUTS)
def test_each_input_reports_who_left_for_a_while_and_who_came_in_whose_place(name: str) -> None:
    facts = reported_by(name, "still")
    left = [fact.content for fact in of(facts, MemberLeftForNow)]
    away = [content.group_instance_id for content in left if isinstance(content, MemberLeftForNow)]
    assert away == ["i-0", "i-1", "i-2"]
    replaced = {
        group: [
            fact.content.group_instance_id
            for fact in of(reported_by(name, group), MemberJoined)
            if isinstance(fact.content, MemberJoined) and fact.content.replaces_member_id
        ]
        for group in ("still", "fixed")
    }
    assert replaced == {"still": ["i-0", "i-2"], "fixed": ["f-0", "f-0"]}
    ends = {
        str(fact.content.group_instance_id): str(fact.content.end_cause)
        for fact in of(facts, MemberRemoved)
        if isinstance(fact.content, MemberRemoved)
    }
    assert ends["i-1"] == "session_expired"


def causes(facts: Iterable[Fact]) -> dict[tuple[int, int], tuple[CauseKind, str]]:
    """By how often the empty group had become one of the other kind, which counts anew, and by the generation or epoch
    that a rebalance left; each is reported once.
    """
    life, found = 0, dict[tuple[int, int], tuple[CauseKind, str]]()
    for fact in facts:
        match fact.content:
            case GroupTypeChanged(why="replaced"):
                life += 1
            case RebalanceStarted(from_generation_id=left, cause=cause):
                assert (life, left) not in found
                found[life, left] = cause.kind, cause.member_id
            case RebalanceEnded(from_generation_id=left, cause=cause, started_at_ms=None):
                assert (life, left) not in found
                found[life, left] = cause.kind, cause.member_id
            case CauseFound(to_generation_id=to, cause=cause) if (life, to - 1) in found:
                found[life, to - 1] = cause.kind, cause.member_id
            case _:
                pass
    return found


@pytest.mark.parametrize("recorded", SESSIONS)
def test_both_inputs_together_are_as_right_as_the_better_one(recorded: str) -> None:
    groups = of_incident(recorded, is_classic=True) | of_incident(recorded)
    for group, rows in groups.items():
        true = {(left, kind) for left, kind, member_id in rows}
        right = {
            name: {(left, str(kind)) for (_, left), (kind, _) in causes(reported_by(name, group, recorded)).items()}
            & true
            for name in INPUTS
        }
        assert right["both"] >= right["log"] | right["topic"], group


# ---------------------------------------------------------------- groups that become classic again

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
