"""What holds of every group of either protocol whatever its clients do, in whatever order and at whatever times."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rollcall.coordinator_udfs import state_codec
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from rollcall.coordinator_udfs.protocol.deadlines import exact_next_deadline_ms
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.step import CONSUMER_HANDLERS, HANDLERS
from rollcall.schemas import effects as e
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.consumer_effects import ConsumerEffect
from rollcall.schemas.messages import StreamRequest
from tests.protocol import classic_moves, consumer_moves
from tests.protocol.consumer_moves import consumer_play, everybody
from tests.protocol.heartbeat_runs import in_runs
from tests.protocol.play import GROUP_ID, Call, Move, Play, apply, compared, replay
from tests.protocol.rules import rule
from tests.protocol.watch import Watch, assert_sound, deadlines


class Protocol(NamedTuple):
    """What clients of a protocol may do, and a play of them."""

    name: str
    lives: st.SearchStrategy[tuple[GroupConfig, list[Move]]]
    play: Callable[..., Play]


CLASSIC = Protocol("classic", st.tuples(classic_moves.configs, classic_moves.plays), Play)
CONSUMER = Protocol("consumer", st.tuples(consumer_moves.configs, consumer_moves.plays), consumer_play)
of_either_protocol = pytest.mark.parametrize("protocol", [CLASSIC, CONSUMER], ids=lambda protocol: protocol.name)


@rule(
    "Group: its counts and indexes are what a look at all members gives",
    origin="testUpdateMember testCompleteJoinFuture testNotCompleteJoinFuture testCompleteAllJoinFutures",
)
@of_either_protocol
@given(data=st.data())
def test_every_invariant_holds_after_every_request_and_every_deadline(protocol: Protocol, data: st.DataObject) -> None:
    config, moves = data.draw(protocol.lives)
    protocol.play(config, Watch()).make(moves)


@of_either_protocol
@given(data=st.data())
def test_the_same_requests_at_the_same_times_give_the_same_group_and_the_same_effects(
    protocol: Protocol, data: st.DataObject
) -> None:
    config, moves = data.draw(protocol.lives)
    play = protocol.play(config).make(moves)
    asked = copy.deepcopy(play.calls)
    group, effects = replay(play.calls)
    assert compared(group) == compared(play.group)
    assert effects == play.effects
    assert play.calls == asked, "a request was changed by being handled"


@of_either_protocol
@given(data=st.data())
def test_a_group_written_and_read_between_any_two_calls_behaves_as_if_it_had_stayed_in_memory(
    protocol: Protocol, data: st.DataObject
) -> None:
    config, moves = data.draw(protocol.lives)
    stays, stored = Group(GROUP_ID), Group(GROUP_ID)
    for call in protocol.play(config).make(moves).calls:
        assert apply(stored, call) == apply(stays, call)
        if not stored.is_kept:
            stored = Group(GROUP_ID)
            continue
        row = state_codec.encode(stored)
        assert row.next_deadline_ms == min(deadlines(stored), default=None)
        assert (row.state, row.generation_id, row.leader_id) == (
            stays.shown_state,
            stays.generation_id,
            stays.leader_id,
        )
        assert row.member_count == len(stays.roster.members)
        stored = state_codec.decode(GROUP_ID, row.document)
        assert_sound(stored)
        assert state_codec.encode(stored) == row


@of_either_protocol
@given(data=st.data())
def test_looking_for_due_deadlines_at_any_further_times_changes_no_effect(
    protocol: Protocol, data: st.DataObject
) -> None:
    config, moves = data.draw(protocol.lives)
    play = protocol.play(config).make(moves)
    cut: list[Call] = []
    for call, following in pairwise([*play.calls, Call(play.now_ms, None, play.config)]):
        cut.append(call)
        if call.at_ms < following.at_ms and data.draw(st.booleans()):
            cut.append(Call(data.draw(st.integers(call.at_ms, following.at_ms - 1)), None, following.config))
    group, effects = replay(cut)
    assert effects == play.effects
    exact_next_deadline_ms(group)
    exact_next_deadline_ms(play.group)
    assert compared(group) == compared(play.group)


@of_either_protocol
@given(data=st.data())
def test_a_copy_of_a_group_goes_its_own_way(protocol: Protocol, data: st.DataObject) -> None:
    config, moves = data.draw(protocol.lives)
    play = protocol.play(config).make(moves)
    kept, other = copy.deepcopy(play.group), play.group.copy()
    assert compared(other) == compared(play.group)
    protocol.play(config, group=other, now_ms=play.now_ms).make(moves)
    assert compared(play.group) == compared(kept)


@given(life=CONSUMER.lives)
def test_a_consumer_group_left_alone_with_members_that_acknowledge_reaches_its_target(
    life: tuple[GroupConfig, list[Move]],
) -> None:
    play = consumer_play(life[0], Watch()).make(life[1])
    # Who is away or silent expires in this time; who lives beats, with its last answer's epoch.
    for _ in range(10):
        play.wait(1000)
        everybody(play, rounds=1)
    consumer = play.group.consumer
    if consumer is None or not any(member.classic is None for member in consumer.members.values()):
        return
    for _ in range(len(consumer.members) + 2):
        play.wait(1000)
        everybody(play, rounds=1)
    if play.group.consumer is consumer and consumer.members:
        assert consumer.state is ConsumerGroupState.STABLE
        for member in consumer.members.values():
            assert member.owned() == {topic: list(partitions) for topic, partitions in (member.target or {}).items()}


def test_every_request_that_a_group_answers_has_its_handler() -> None:
    assert set(HANDLERS) == set(CONSUMER_HANDLERS) == set(get_args(StreamRequest))


# ---------------------------------------------------------------- what the random plays reach


def seen_in(effects: Iterable[e.Effect]) -> set[object]:
    """The kinds of these effects, and the states, causes, ways out and errors in them."""
    named = ("to_state", "end_cause", "outcome", "why", "error_code")
    found: set[object] = set()
    for effect in effects:
        found |= {type(effect), *(getattr(effect, name, None) for name in named)}
        if isinstance(effect, e.RebalanceStarted):
            found.add(effect.cause.kind)
    return found


@pytest.fixture(scope="module")
def seen() -> dict[str, set[object]]:
    """By protocol, what the same plays show every time."""
    found: dict[str, set[object]] = {"classic": set(), "consumer": set()}

    @settings(max_examples=600, derandomize=True, database=None)
    @given(life=CLASSIC.lives)
    def play_classic(life: tuple[GroupConfig, list[Move]]) -> None:
        play = Play(life[0]).make(life[1])
        found["classic"] |= seen_in([*play.effects, *replay(in_runs(play.calls))[1]])

    @settings(max_examples=600, derandomize=True, database=None)
    @given(life=CONSUMER.lives)
    def play_consumers(life: tuple[GroupConfig, list[Move]]) -> None:
        found["consumer"] |= seen_in(consumer_play(life[0]).make(life[1]).effects)

    play_classic()
    play_consumers()
    return found


def test_the_random_plays_reach_every_state_every_kind_of_effect_and_every_way_out(
    seen: dict[str, set[object]],
) -> None:
    """Without this the invariants might hold of nothing much."""
    from_outside = {e.RequestRepeated, e.RequestsPutOff, e.GroupObserved}
    elsewhere = {EndCause.GROUP_UNLOADED, EndCause.POLL_TIMEOUT, EndCause.UNKNOWN, EndCause.GROUP_CONVERTED}
    assert seen["classic"] >= set(get_args(e.AnyEffect)) - from_outside
    assert seen["classic"] >= set(GroupState) - {GroupState.DEAD}
    assert seen["classic"] >= set(EndCause) - elsewhere
    assert seen["classic"] >= {CauseKind.MEMBER_JOINED, CauseKind.MEMBER_REJOINED, CauseKind.MEMBER_LEFT}
    assert seen["classic"] >= {CauseKind.ADMIN_REMOVED, CauseKind.SESSION_EXPIRED, CauseKind.SYNC_TIMEOUT}
    assert seen["classic"] >= {"completed", "superseded", "empty"}


def test_the_random_consumers_reach_every_state_every_kind_of_effect_and_every_way_out(
    seen: dict[str, set[object]],
) -> None:
    assert seen["consumer"] >= set(get_args(ConsumerEffect))
    assert seen["consumer"] >= set(ConsumerGroupState)
    assert seen["consumer"] >= {"created", "replaced", "upgraded", "downgraded"}
    assert seen["consumer"] >= {EndCause.SESSION_EXPIRED, EndCause.REBALANCE_TIMEOUT, EndCause.STATIC_MEMBER_REPLACED}
    assert seen["consumer"] >= {CauseKind.SUBSCRIPTION_CHANGED, CauseKind.PATTERN_RESOLVED, CauseKind.METADATA_CHANGED}
    assert seen["consumer"] >= {CauseKind.MEMBER_JOINED, CauseKind.MEMBER_LEFT, CauseKind.REBALANCE_TIMEOUT}
