"""What holds of every group whatever its clients do, in whatever order and at whatever times."""

from __future__ import annotations

import copy
from typing import get_args

from hypothesis import given, settings

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.step import CONSUMER_HANDLERS, HANDLERS
from schemas import effects as e
from schemas.causes import CauseKind, EndCause
from schemas.messages import StreamRequest
from tests.protocol.heartbeat_runs import in_runs
from tests.protocol.invariants_moves import Move, configs, plays
from tests.protocol.invariants_play import Play, replay
from tests.protocol.invariants_watch import Watch

COMMON_CAUSES = {
    CauseKind.MEMBER_JOINED,
    CauseKind.MEMBER_REJOINED,
    CauseKind.MEMBER_LEFT,
    CauseKind.ADMIN_REMOVED,
    CauseKind.SESSION_EXPIRED,
    CauseKind.SYNC_TIMEOUT,
}


@given(config=configs, moves=plays)
def test_every_invariant_holds_after_every_request_and_every_deadline(config: GroupConfig, moves: list[Move]) -> None:
    Play(config, Watch()).make(moves)


@given(config=configs, moves=plays)
def test_the_same_requests_at_the_same_times_give_the_same_group_and_the_same_effects(
    config: GroupConfig, moves: list[Move]
) -> None:
    play = Play(config).make(moves)
    asked = copy.deepcopy(play.calls)
    assert replay(play.calls, config) == (play.group, play.effects)
    assert play.calls == asked, "a request was changed by being handled"


def test_every_request_that_a_group_answers_has_its_handler() -> None:
    assert set(HANDLERS) == set(CONSUMER_HANDLERS) == set(get_args(StreamRequest))


def test_the_random_plays_reach_every_state_every_kind_of_effect_and_every_way_out() -> None:
    """Without this the invariants might hold of nothing much; the plays are the same ones every time."""
    seen: set[object] = set()

    @settings(max_examples=300, derandomize=True, database=None)
    @given(config=configs, moves=plays)
    def play(config: GroupConfig, moves: list[Move]) -> None:
        played = Play(config).make(moves)
        seen.update(map(type, replay(in_runs(played.calls), config)[1]))
        for effect in played.effects:
            seen.add(type(effect))
            match effect:
                case e.StateChanged():
                    seen.add(effect.to_state)
                case e.MemberRemoved() | e.PendingMemberRemoved():
                    seen.add(effect.end_cause)
                case e.RebalanceStarted():
                    seen.add(effect.cause.kind)
                case e.RebalanceEnded():
                    seen.add(effect.outcome)

    play()
    assert seen >= set(get_args(e.AnyEffect)) - {e.RequestRepeated, e.RequestsPutOff, e.GroupObserved}, (
        "these come from outside the core"
    )
    assert seen >= set(GroupState) - {GroupState.DEAD}
    elsewhere = {EndCause.GROUP_UNLOADED, EndCause.POLL_TIMEOUT, EndCause.UNKNOWN, EndCause.GROUP_CONVERTED}
    assert seen >= set(EndCause) - elsewhere
    assert seen >= COMMON_CAUSES
    assert seen >= {"completed", "superseded", "empty"}
