"""Groups that go over to the newer protocol and back, and static members that leave for a while and come back.

`conversions` is of a real broker 4.3.1: `up` is upgraded and its classic members go; `down` is downgraded by a close,
upgraded again and downgraded again; of `dying` the last member of the newer protocol is killed, and later it is
upgraded again; `still` has static members of the newer protocol, `fixed` of the classic one. Each input alone has
all of it; both together report it once, and are as right as the better of them.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from functools import cache

import pytest

from rollcall.history.facts import Fact
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import GroupTypeChanged, MemberLeftForNow
from rollcall.schemas.effects import CauseFound, Effect, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from tests.offsets_topic.beside import Both, facts_of, merged
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
