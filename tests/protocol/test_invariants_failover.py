"""A coordinator that was away, moved away or took a group over: what holds at any moment of the group's life."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.lifecycle import load_group, resume_group, unload_group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas import effects as e
from rollcall.schemas.errors import Error
from tests.protocol.classic_moves import configs, plays
from tests.protocol.play import Move, Play, apply
from tests.protocol.watch import Watch, assert_sound, deadlines

away_ms = st.sampled_from((0, 1, 400, 5000, 1_000_000))


def parked_ids(group: Group) -> list[str]:
    """The ids of all requests that await an answer."""
    parked = (request for member in group.members.values() for request in (member.parked_join, member.parked_sync))
    return sorted(request.request_id for request in parked if request is not None)


@given(config=configs, before=plays, away_ms=away_ms, after=plays)
def test_after_a_stall_no_deadline_comes_earlier_every_session_is_whole_and_the_group_lives_on(
    config: GroupConfig, before: list[Move], away_ms: int, after: list[Move]
) -> None:
    play = Play(config, Watch()).make(before)
    group, from_ms = play.group, play.now_ms + away_ms
    earlier = deadlines(group)
    resume_group(group, from_ms, config)
    assert all(new >= old for new, old in zip(deadlines(group), earlier, strict=True))
    for member in group.members.values():
        if member.session_deadline_ms is not None:
            assert member.session_deadline_ms >= from_ms + member.session_timeout_ms
    assert group.next_due_ms == min(deadlines(group), default=None)
    lifted = deadlines(group)
    resume_group(group, from_ms, config)
    assert deadlines(group) == lifted
    play.now_ms = from_ms
    play.make(after)


@given(config=configs, moves=plays)
def test_a_group_that_moves_away_answers_everything_that_waits_keeps_no_timer_and_takes_nothing_more(
    config: GroupConfig, moves: list[Move]
) -> None:
    play = Play(config).make(moves)
    group, turn = play.group, Turn(play.now_ms, config, play.now_ms)
    if not group.is_known:
        return
    waiting = parked_ids(group)
    unload_group(group, turn)
    replies = [effect for effect in turn.effects if isinstance(effect, e.Reply)]
    assert sorted(reply.request_id for reply in replies) == waiting
    assert {reply.error_code for reply in replies} <= {Error.NOT_COORDINATOR}
    assert (group.state, deadlines(group), parked_ids(group), group.pending) == (GroupState.DEAD, [], [], {})
    assert_rebalances_are_paired(group, [*play.effects, *turn.effects])
    for call in play.calls:
        later = call._replace(at_ms=call.at_ms + 10_000_000)
        effects = apply(group, later)
        assert [type(effect) for effect in effects] == ([] if later.request is None else [e.Reply])
    assert (group.state, deadlines(group)) == (GroupState.DEAD, [])


@given(config=configs, before=plays, away_ms=away_ms, after=plays)
def test_a_group_that_is_taken_over_has_whole_sessions_nothing_that_waits_and_lives_on(
    config: GroupConfig, before: list[Move], away_ms: int, after: list[Move]
) -> None:
    play = Play(config, lambda group, call, effects: assert_sound(group)).make(before)
    play.now_ms += away_ms
    group, turn = play.group, Turn(play.now_ms, config, play.now_ms)
    if not group.is_known:
        return
    waiting, generation_id, leader_id = parked_ids(group), group.generation_id, group.leader_id
    load_group(group, turn)
    assert_sound(group)
    assert sorted(effect.request_id for effect in turn.effects if isinstance(effect, e.RequestDropped)) == waiting
    assert (parked_ids(group), group.pending, group.generation_id) == ([], {}, generation_id)
    assert group.leader_id == leader_id
    for member in group.members.values():
        assert member.session_deadline_ms == play.now_ms + member.session_timeout_ms
    assert_rebalances_are_paired(group, [*play.effects, *turn.effects])
    play.make(after)


def assert_rebalances_are_paired(group: Group, effects: list[e.Effect]) -> None:
    """Every rebalance that started has ended once, or is the one that runs."""
    started = sum(isinstance(effect, e.RebalanceStarted) for effect in effects)
    ended = sum(isinstance(effect, e.RebalanceEnded) for effect in effects)
    assert started - ended == (group.rebalance is not None)
