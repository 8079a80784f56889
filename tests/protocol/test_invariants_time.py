"""Time: a coordinator that is late costs nobody its session."""

from __future__ import annotations

import copy

from hypothesis import given
from hypothesis import strategies as st

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import Effect, MemberRemoved, MemberUpdated, Reply
from rollcall.schemas.errors import Error
from tests.protocol.classic_moves import configs, plays
from tests.protocol.play import GROUP_ID, Call, Move, Play, apply
from tests.protocol.watch import Watch, deadlines

ALIVE = (Error.NONE, Error.REBALANCE_IN_PROGRESS)


@given(config=configs, moves=plays, late_ms=st.sampled_from((1, 250, 5000, 400_000)))
def test_a_request_handled_late_has_the_same_effects_and_every_deadline_later_or_alike(
    config: GroupConfig, moves: list[Move], late_ms: int
) -> None:
    in_time = Group(GROUP_ID)
    for call in Play(config).make(moves).calls:
        late = copy.deepcopy(in_time)
        effects = apply(in_time, call)
        if call.request is None:
            continue
        assert apply(late, call, armed_from_ms=call.at_ms + late_ms) == effects
        assert late.members.keys() == in_time.members.keys()
        for at_late, at_in_time in zip(deadlines(late), deadlines(in_time), strict=True):
            assert at_late - at_in_time in (0, late_ms)


@given(config=configs, moves=plays, batch_ms=st.sampled_from((0, 300, 2000, 90_000)))
def test_in_late_batches_every_invariant_holds_and_nobody_loses_its_session_before_it_has_passed_in_silence(
    config: GroupConfig, moves: list[Move], batch_ms: int
) -> None:
    """The processing clock: requests of a batch in order of arrival, deadlines armed from the batch's own time."""
    calls = [call for call in Play(config).make(moves).calls if call.request is not None]
    group, watch, alive_until_ms = Group(GROUP_ID), Watch(), dict[str, int]()
    batch_at_ms = last_ms = 0
    while calls:
        batch_at_ms = max(calls[0].at_ms, batch_at_ms) + batch_ms
        batch = [call for call in calls if call.at_ms <= batch_at_ms]
        calls = calls[len(batch) :]
        for _, request, _ in batch:
            assert request is not None
            last_ms = max(last_ms, request.received_at_ms)
            for call in (Call(last_ms - 1, None, config), Call(last_ms, request, config)):
                effects = apply(group, call, armed_from_ms=batch_at_ms)
                watch(group, call, effects)
                _assert_silent(effects, alive_until_ms)
                _note_alive(group, effects, batch_at_ms, alive_until_ms)
        last_ms = batch_at_ms
        look = Call(batch_at_ms, None, config)
        effects = apply(group, look, armed_from_ms=batch_at_ms)
        watch(group, look, effects)
        _assert_silent(effects, alive_until_ms)


def _note_alive(group: Group, effects: list[Effect], armed_from_ms: int, alive_until_ms: dict[str, int]) -> None:
    """A heartbeat proves a member alive for a session timeout; a later JoinGroup may have shortened that."""
    for effect in effects:
        if isinstance(effect, MemberUpdated):
            alive_until_ms.pop(effect.member_id, None)
        if isinstance(effect, Reply) and effect.api == "Heartbeat" and effect.error_code in ALIVE:
            timeout_ms = group.members[effect.member_id].session_timeout_ms
            alive_until_ms[effect.member_id] = armed_from_ms + timeout_ms


def _assert_silent(effects: list[Effect], alive_until_ms: dict[str, int]) -> None:
    for effect in effects:
        if isinstance(effect, MemberRemoved) and effect.end_cause is EndCause.SESSION_EXPIRED:
            assert effect.at_ms >= alive_until_ms.pop(effect.member_id, 0)
