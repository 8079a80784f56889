"""Row rules asked of facts as they are written: no life breaks one, and altered facts do, each the rule of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator_udfs.protocol.config import GroupConfig
from schemas.consumer_effects import GroupTypeChanged
from schemas.effect_rows import EffectRow, row_of
from schemas.effects import (
    Assigned,
    Effect,
    GroupCreated,
    MemberJoined,
    MemberRemoved,
    OffsetsCommitted,
    RebalanceEnded,
    StateChanged,
    TopicPartitions,
)
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.protocol import classic_moves, consumer_moves
from tests.protocol.consumer_moves import consumer_play
from tests.protocol.play import Move, Play
from tests.request_log.truth import NAMES as CAPTURES
from tests.why.reading import capture, topic
from tests.written_effects import effect
from views.row_rules import ROW_RULES
from views.rules_at_work import SAYS, WATCHED, Broken, Row, WatchedGroup

T = 1_700_000_000_000


def taken(rows: Iterable[EffectRow]) -> list[Row]:
    """The rows that the fold takes, as it takes them."""
    return [
        (row.seq, row.effect, row.at_ms or 0, row.generation_id, row.member_id, row.detail)
        for row in rows
        if row.effect in WATCHED
    ]


def numbered(effects: Iterable[Effect]) -> Iterator[EffectRow]:
    at_ms, seq = -1, 0
    for each in effects:
        seq = seq + 1 if each.at_ms == at_ms else 0
        at_ms = each.at_ms
        yield row_of(each, seq)


def found(rows: list[Row], *, has_all_states: bool = True) -> list[Broken]:
    return list(WatchedGroup("orders", has_all_states).take(rows))


def found_from(rows: list[Row], start: float) -> list[Broken]:
    """What a job finds that starts somewhere in a life, and reads it moment by moment."""
    group = WatchedGroup("orders")
    rest = rows[int(len(rows) * start) :]
    ends = [place for place, (one, other) in enumerate(pairwise(rest), 1) if one[2] != other[2]]
    parts = [rest[begin:end] for begin, end in pairwise([0, *ends, len(rest)])]
    return [broken for part in parts for broken in group.take(part)]


@pytest.mark.parametrize("name", CAPTURES)
def test_no_recorded_log_breaks_a_rule(name: str) -> None:
    assert [broken for rows in capture(name).values() for broken in found(taken(rows))] == []


@pytest.mark.parametrize("name", DUMPS)
def test_no_recorded_topic_breaks_a_rule(name: str) -> None:
    reported = [taken(rows) for rows in topic(name).values()]
    assert [broken for rows in reported for broken in found(rows, has_all_states=False)] == []


@given(
    config=classic_moves.configs,
    moves=st.lists(classic_moves.plays, min_size=1, max_size=3),
    start=st.floats(0, 1),
)
def test_no_life_of_a_classic_group_breaks_a_rule(config: GroupConfig, moves: list[list[Move]], start: float) -> None:
    rows = taken(numbered(Play(config).make(chain.from_iterable(moves)).effects))
    assert (found(rows), found_from(rows, start)) == ([], [])


@given(config=consumer_moves.configs, moves=consumer_moves.plays, start=st.floats(0, 1))
def test_no_life_of_a_consumer_group_breaks_a_rule(config: GroupConfig, moves: list[Move], start: float) -> None:
    rows = taken(numbered(consumer_play(config).make(moves).effects))
    assert (found(rows), found_from(rows, start)) == ([], [])


def row(of: Effect) -> Row:
    (found,) = taken([row_of(of, 0)])
    return found


def joined(at_ms: int, member_id: str) -> Row:
    return row(effect(MemberJoined, T + at_ms, member_id=member_id))


def moved(at_ms: int, from_state: str, to_state: str) -> Row:
    return row(effect(StateChanged, T + at_ms, from_state=from_state, to_state=to_state))


def ended(at_ms: int, begins: int, leads: int, **fields: Any) -> Row:
    fields = {"started_at_ms": T, "from_generation_id": begins, "to_generation_id": leads} | fields
    return row(effect(RebalanceEnded, T + at_ms, **fields))


def given_to(at_ms: int, member_id: str, generation_id: int, *partitions: int) -> Row:
    held = [TopicPartitions(topic="payments", partitions=list(partitions))]
    return row(effect(Assigned, T + at_ms, member_id=member_id, generation_id=generation_id, partitions=held))


def committed(at_ms: int, member_id: str, generation_id: int, *, is_inferred: bool = False) -> Row:
    return row(
        OffsetsCommitted(
            at_ms=T + at_ms,
            request_id="",
            member_id=member_id,
            generation_id=generation_id,
            offsets=[],
            is_inferred=is_inferred,
        )
    )


MADE, A, B = row(GroupCreated(at_ms=T)), joined(1, "a"), joined(1, "b")
NEWER = row(
    GroupTypeChanged(at_ms=T, from_type=None, to_type="consumer", why="created", generation_id=1, client_id="app")
)
GONE = row(effect(MemberRemoved, T + 1, member_id="a"))
BROKEN: dict[str, list[list[Row]]] = {
    "states_follow_kafka": [
        [MADE, moved(1, "Empty", "Stable")],
        [MADE, moved(1, "Empty", "PreparingRebalance"), moved(2, "CompletingRebalance", "Stable")],
        [moved(1, "Stable", "PreparingRebalance"), moved(2, "PreparingRebalance", "Stable")],
        [MADE, NEWER, moved(1, "Empty", "Stable"), moved(2, "Stable", "PreparingRebalance")],
    ],
    "committers_are_members": [
        [MADE, A, committed(2, "b", 1)],
        [GONE, committed(2, "a", 1)],
    ],
    "one_owner_at_once": [
        [MADE, NEWER, A, B, given_to(2, "a", 2, 3), given_to(3, "b", 3, 3)],
        [MADE, A, B, given_to(2, "a", 1, 3), given_to(3, "b", 2, 3)],
    ],
    "generations_rise": [[ended(1, 4, 4)]],
    "one_row_an_epoch": [[ended(1, 3, 4), ended(2, 3, 4)]],
    "rebalance_ends_after_it_begins": [[ended(1, 3, 4, started_at_ms=T + 2)]],
    "members_add_up": [
        [MADE, A, ended(1, 0, 1, members_before=0, members_after=2, joined=["a"])],
        [MADE, A, ended(1, 0, 1, members_before=0, members_after=2, joined=["a", "b"])],
    ],
}


@pytest.mark.parametrize("rule", BROKEN)
def test_facts_that_cannot_be_are_found(rule: str) -> None:
    for rows in BROKEN[rule]:
        assert [one.rule for one in found(rows)] == [rule]


def test_what_may_be_breaks_no_rule() -> None:
    """A commit of nobody, of an owner by conclusion, of a member of before the watch; a leader that gives a partition
    twice; a partition that is given up at the same moment; states that a topic passes over.
    """
    assert not found([MADE, committed(1, "x", -1), committed(2, "x", 1, is_inferred=True)])
    assert not found([committed(2, "a", 1)])
    assert not found([MADE, A, B, given_to(2, "a", 1, 3), given_to(2, "b", 1, 3)])
    assert not found([MADE, A, B, given_to(2, "a", 1, 3), given_to(3, "b", 2, 3), given_to(3, "a", 2)])
    passed_over = [moved(1, "CompletingRebalance", "Stable"), moved(2, "CompletingRebalance", "Stable")]
    assert not found(passed_over, has_all_states=False)
    assert len(found(passed_over)) == 1


def test_its_sentences_are_those_of_the_row_rules() -> None:
    assert {rule.name: rule.says for rule in ROW_RULES} == SAYS
    assert BROKEN.keys() <= SAYS.keys()
