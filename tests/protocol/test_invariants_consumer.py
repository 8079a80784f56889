"""What holds of every consumer group whatever its clients do, in whatever order and at whatever times."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import get_args

from hypothesis import given, settings
from hypothesis import strategies as st

from coordinator_udfs import state_codec
from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.consumer.states import ConsumerGroupState
from coordinator_udfs.protocol.deadlines import exact_next_deadline_ms
from coordinator_udfs.protocol.group import Group
from schemas import effects as e
from schemas.causes import CauseKind, EndCause
from schemas.consumer_effects import ConsumerEffect
from tests.protocol.consumer_moves import Move, configs, plays
from tests.protocol.consumer_play import GROUP_ID, Call, ConsumerPlay, apply
from tests.protocol.consumer_watch import ConsumerWatch, assert_consumer_sound, deadlines


@given(config=configs, moves=plays)
def test_no_partition_is_owned_twice_no_epoch_falls_and_the_story_tells_the_group_as_it_is(
    config: GroupConfig, moves: list[Move]
) -> None:
    ConsumerPlay(config, ConsumerWatch()).make(moves)


@given(config=configs, moves=plays)
def test_the_same_requests_of_consumers_give_the_same_group_and_the_same_effects(
    config: GroupConfig, moves: list[Move]
) -> None:
    play = ConsumerPlay(config).make(moves)
    asked = copy.deepcopy(play.calls)
    group, effects = Group(GROUP_ID), []
    for call in play.calls:
        effects += apply(group, call)
    assert (group, effects) == (play.group, play.effects)
    assert play.calls == asked, "a request was changed by being handled"


@given(config=configs, moves=plays)
def test_a_consumer_group_left_alone_with_members_that_acknowledge_reaches_its_target(
    config: GroupConfig, moves: list[Move]
) -> None:
    play = ConsumerPlay(config, ConsumerWatch()).make(moves)
    # Who is away or silent expires in this time; who lives beats, with what it was told.
    for _ in range(10):
        play.wait(1000)
        play.everybody(rounds=1)
    consumer = play.group.consumer
    if consumer is None or not any(member.classic is None for member in consumer.members.values()):
        return
    for _ in range(len(consumer.members) + 2):
        play.wait(1000)
        play.everybody(rounds=1)
    if play.group.consumer is consumer and consumer.members:
        assert consumer.state is ConsumerGroupState.STABLE
        for member in consumer.members.values():
            assert member.owned() == {topic: list(partitions) for topic, partitions in (member.target or {}).items()}


@given(config=configs, moves=plays)
def test_a_consumer_group_written_and_read_between_any_two_calls_behaves_as_if_it_had_stayed_in_memory(
    config: GroupConfig, moves: list[Move]
) -> None:
    stays, stored = Group(GROUP_ID), Group(GROUP_ID)
    for call in ConsumerPlay(config).make(moves).calls:
        assert apply(stored, call) == apply(stays, call)
        if not stored.is_kept:
            stored = Group(GROUP_ID)
            continue
        row = state_codec.encode(stored)
        assert row.next_deadline_ms == min(deadlines(stored), default=None)
        assert (row.state, row.generation_id) == (stays.shown_state, stays.generation_id)
        assert row.member_count == len(stays.roster.members)
        stored = state_codec.decode(GROUP_ID, row.document)
        assert_consumer_sound(stored)
        assert state_codec.encode(stored) == row


@given(config=configs, moves=plays, data=st.data())
def test_looking_for_due_deadlines_of_consumers_at_any_further_times_changes_no_effect(
    config: GroupConfig, moves: list[Move], data: st.DataObject
) -> None:
    play = ConsumerPlay(config).make(moves)
    group, effects = Group(GROUP_ID), []
    for call, following in pairwise([*play.calls, Call(play.now_ms, None, play.config)]):
        effects += apply(group, call)
        if call.at_ms < following.at_ms and data.draw(st.booleans()):
            between_ms = data.draw(st.integers(call.at_ms, following.at_ms - 1))
            effects += apply(group, Call(between_ms, None, following.config))
    assert effects == play.effects
    exact_next_deadline_ms(group)
    exact_next_deadline_ms(play.group)
    assert group == play.group


@given(config=configs, moves=plays)
def test_a_copy_of_a_consumer_group_goes_its_own_way(config: GroupConfig, moves: list[Move]) -> None:
    play = ConsumerPlay(config).make(moves)
    kept, other = copy.deepcopy(play.group), play.group.copy()
    assert other == play.group
    ConsumerPlay(config, group=other, now_ms=play.now_ms).make(moves)
    assert play.group == kept


def test_the_random_consumers_reach_every_state_every_kind_of_effect_and_every_way_out() -> None:
    """Without this the invariants might hold of nothing much; the plays are the same ones every time."""
    seen: set[object] = set()

    @settings(max_examples=600, derandomize=True, database=None)
    @given(config=configs, moves=plays)
    def play(config: GroupConfig, moves: list[Move]) -> None:
        for effect in ConsumerPlay(config).make(moves).effects:
            seen.add(type(effect))
            match effect:
                case e.StateChanged():
                    seen.add(str(effect.to_state))
                case e.MemberRemoved() | e.PendingMemberRemoved():
                    seen.add(effect.end_cause)
                case e.RebalanceStarted():
                    seen.add(effect.cause.kind)
                case _:
                    seen.add(getattr(effect, "why", None))
                    seen.add(getattr(effect, "error_code", None))

    play()
    assert seen >= set(get_args(ConsumerEffect))
    assert seen >= {str(state) for state in ConsumerGroupState}
    assert seen >= {"created", "replaced", "upgraded", "downgraded"}
    assert seen >= {EndCause.SESSION_EXPIRED, EndCause.REBALANCE_TIMEOUT, EndCause.STATIC_MEMBER_REPLACED}
    assert seen >= {CauseKind.SUBSCRIPTION_CHANGED, CauseKind.PATTERN_RESOLVED, CauseKind.METADATA_CHANGED}
    assert seen >= {CauseKind.MEMBER_JOINED, CauseKind.MEMBER_LEFT, CauseKind.REBALANCE_TIMEOUT}
