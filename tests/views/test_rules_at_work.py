"""Row rules asked of facts as they are written: no life breaks one, and altered facts do, each the rule of its kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain, pairwise
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from coordinator_udfs.protocol.config import GroupConfig
from schemas.effect_rows import EffectRow, row_of
from schemas.effects import Effect
from tests.offsets_topic.folded import NAMES as DUMPS
from tests.protocol import consumer_moves, invariants_moves
from tests.protocol.consumer_play import ConsumerPlay
from tests.protocol.invariants_play import Play
from tests.request_log.truth import NAMES as CAPTURES
from tests.why.reading import capture, topic
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
    for effect in effects:
        seq = seq + 1 if effect.at_ms == at_ms else 0
        at_ms = effect.at_ms
        yield row_of(effect, seq)


def found(rows: list[Row], *, tells_all_states: bool = True) -> list[Broken]:
    return list(WatchedGroup("orders", tells_all_states).take(rows))


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
    told = [taken(rows) for rows in topic(name).values()]
    assert [broken for rows in told for broken in found(rows, tells_all_states=False)] == []


@given(
    config=invariants_moves.configs,
    moves=st.lists(invariants_moves.plays, min_size=1, max_size=3),
    start=st.floats(0, 1),
)
def test_no_life_of_a_classic_group_breaks_a_rule(
    config: GroupConfig, moves: list[list[invariants_moves.Move]], start: float
) -> None:
    rows = taken(numbered(Play(config).make(chain.from_iterable(moves)).effects))
    assert (found(rows), found_from(rows, start)) == ([], [])


@given(config=consumer_moves.configs, moves=consumer_moves.plays, start=st.floats(0, 1))
def test_no_life_of_a_consumer_group_breaks_a_rule(
    config: GroupConfig, moves: list[consumer_moves.Move], start: float
) -> None:
    rows = taken(numbered(ConsumerPlay(config).make(moves).effects))
    assert (found(rows), found_from(rows, start)) == ([], [])


def row(at_ms: int, effect: str, member_id: str | None = None, generation_id: int | None = None, **detail: Any) -> Row:
    return 0, effect, T + at_ms, generation_id, member_id, msgspec.json.encode(detail).decode() if detail else None


def moved(at_ms: int, from_state: str, to_state: str) -> Row:
    return row(at_ms, "state_changed", from_state=from_state, to_state=to_state)


def ended(at_ms: int, begins: int, leads: int, **detail: Any) -> Row:
    told = {"outcome": "completed", "from_generation_id": begins, "to_generation_id": leads} | detail
    return row(at_ms, "rebalance_ended", None, leads, **told)


def given_to(at_ms: int, member_id: str, generation_id: int) -> Row:
    held = [{"topic": "payments", "partitions": [3]}]
    return row(at_ms, "assigned", member_id, generation_id, partitions=held)


MADE = row(0, "group_created")
A, B = row(1, "member_joined", "a"), row(1, "member_joined", "b")
NEWER = row(0, "group_type_changed", to_type="consumer", why="created")
BROKEN: dict[str, list[list[Row]]] = {
    "states_follow_kafka": [
        [MADE, moved(1, "Empty", "Stable")],
        [MADE, moved(1, "Empty", "PreparingRebalance"), moved(2, "CompletingRebalance", "Stable")],
        [moved(1, "Stable", "PreparingRebalance"), moved(2, "PreparingRebalance", "Stable")],
        [MADE, NEWER, moved(1, "Empty", "Stable"), moved(2, "Stable", "PreparingRebalance")],
    ],
    "committers_are_members": [
        [MADE, A, row(2, "offsets_committed", "b", 1)],
        [row(1, "member_removed", "a"), row(2, "offsets_committed", "a", 1)],
    ],
    "one_owner_at_once": [
        [MADE, NEWER, A, B, given_to(2, "a", 2), given_to(3, "b", 3)],
        [MADE, A, B, given_to(2, "a", 1), given_to(3, "b", 2)],
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
    assert not found(
        [MADE, row(1, "offsets_committed", "x", -1), row(2, "offsets_committed", "x", 1, is_inferred=True)]
    )
    assert not found([row(2, "offsets_committed", "a", 1)])
    assert not found([MADE, A, B, given_to(2, "a", 1), given_to(2, "b", 1)])
    gives_up = row(3, "assigned", "a", 2, partitions=[])
    assert not found([MADE, A, B, given_to(2, "a", 1), given_to(3, "b", 2), gives_up])
    passed_over = [moved(1, "CompletingRebalance", "Stable"), moved(2, "CompletingRebalance", "Stable")]
    assert not found(passed_over, tells_all_states=False)
    assert len(found(passed_over)) == 1


def test_its_sentences_are_those_of_the_row_rules() -> None:
    assert {rule.name: rule.says for rule in ROW_RULES} == SAYS
    assert BROKEN.keys() <= SAYS.keys()
