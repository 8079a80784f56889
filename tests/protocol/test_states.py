"""The states and the moves between them: which are allowed, and what makes each."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.rebalance import transition
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import StateChanged
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

EMPTY, PREPARING, COMPLETING, STABLE, DEAD = GroupState
ALLOWED = {
    (PREPARING, EMPTY),
    (STABLE, PREPARING),
    (COMPLETING, PREPARING),
    (EMPTY, PREPARING),
    (PREPARING, COMPLETING),
    (COMPLETING, STABLE),
    *((state, DEAD) for state in GroupState),
}


def group_in(state: GroupState) -> Group:
    group = Group("g")
    group.state = state
    return group


@rule(
    "States: every move that the table allows is made, and says when",
    origin="testStableToPreparingRebalanceTransition testStableToDeadTransition"
    " testAwaitingRebalanceToPreparingRebalanceTransition testPreparingRebalanceToDeadTransition"
    " testPreparingRebalanceToEmptyTransition testEmptyToDeadTransition testAwaitingRebalanceToStableTransition"
    " testDeadToDeadIllegalTransition",
)
@pytest.mark.parametrize(("before", "after"), sorted(ALLOWED))
def test_an_allowed_move_is_made(before: GroupState, after: GroupState) -> None:
    group, turn = group_in(before), Turn(77, GroupConfig(), 77)
    transition(group, after, turn)
    assert (group.state, group.previous_state, group.state_timestamp_ms) == (after, before, 77)
    reported = turn.effects[0]
    assert isinstance(reported, StateChanged)
    assert (reported.from_state, reported.to_state) == (before, after)


@rule(
    "States: every other move is our own broken invariant",
    origin="testEmptyToStableIllegalTransition testStableToStableIllegalTransition"
    " testEmptyToAwaitingRebalanceIllegalTransition testPreparingRebalanceToPreparingRebalanceIllegalTransition"
    " testPreparingRebalanceToStableIllegalTransition testAwaitingRebalanceToAwaitingRebalanceIllegalTransition"
    " testDeadToStableIllegalTransition testDeadToPreparingRebalanceIllegalTransition"
    " testDeadToAwaitingRebalanceIllegalTransition",
)
@pytest.mark.parametrize(("before", "after"), sorted({(a, b) for a in GroupState for b in GroupState} - ALLOWED))
def test_a_move_that_is_not_allowed_is_refused(before: GroupState, after: GroupState) -> None:
    group = group_in(before)
    with pytest.raises(AssertionError, match=f"cannot move from {before} to {after}"):
        transition(group, after, Turn(77, GroupConfig(), 77))
    assert group.state is before


@rule(
    "States: a rebalance may begin in Empty, CompletingRebalance and Stable",
    origin="testCanRebalanceWhenStable testCanRebalanceWhenCompletingRebalance"
    " testCannotRebalanceWhenPreparingRebalance testCannotRebalanceWhenDead",
)
@pytest.mark.parametrize(
    ("state", "can"), [(EMPTY, True), (PREPARING, False), (COMPLETING, True), (STABLE, True), (DEAD, False)]
)
def test_where_a_rebalance_may_begin(state: GroupState, can: bool) -> None:
    assert group_in(state).can_rebalance is can


MOVES: dict[str, tuple[str, Callable[[Bench], object], list[GroupState]]] = {
    "an empty group gets a member by one step": ("empty", lambda b: b.join("x", v=3), [PREPARING, COMPLETING]),
    "an empty group gets a member by two steps": ("empty", lambda b: b.enter("x"), [PREPARING, COMPLETING]),
    "an empty group gets a static member": ("empty", lambda b: b.join("x", instance_id="i"), [PREPARING, COMPLETING]),
    "an empty group gives an id out": ("empty", lambda b: b.join("x"), []),
    "a newcomer in Stable": ("stable m1", lambda b: b.enter("x"), [PREPARING]),
    "a newcomer in CompletingRebalance": ("completing m1", lambda b: b.enter("x"), [PREPARING]),
    "the leader joins again in Stable": ("stable m1 m2", lambda b: b.join("m1"), [PREPARING]),
    "the only member joins again in Stable": ("stable m1", lambda b: b.join("m1"), [PREPARING, COMPLETING]),
    "a follower joins again in Stable": ("stable m1 m2", lambda b: b.join("m2"), []),
    "a follower changes in Stable": ("stable m1 m2", lambda b: b.join("m2", protocols=["range", "x"]), [PREPARING]),
    "a member leaves in Stable": ("stable m1 m2", lambda b: b.leave("m2"), [PREPARING]),
    "a member leaves in CompletingRebalance": ("completing m1 m2", lambda b: b.leave("m2"), [PREPARING]),
    "the last member leaves": ("stable m1", lambda b: b.leave("m1"), [PREPARING, EMPTY]),
    "a session expires in Stable": ("stable m1", lambda b: b.tick(10_000), [PREPARING, EMPTY]),
    "no SyncGroup comes": ("completing patient", lambda b: b.tick(60_000), [PREPARING, EMPTY]),
    "everybody has joined": ("preparing m1 m2", lambda b: b.join("m2"), [COMPLETING]),
    "the leader has synced": ("completing m1", lambda b: b.sync("m1", plan=["m1"]), [STABLE]),
    "a simple commit creates a group": ("", lambda b: b.commit(), []),
    "the coordinator moves away": ("preparing m1 m2", lambda b: b.unload(), [DEAD]),
}
"""By what happens: the state it happens in with its members, and the states it leads to."""


@rule("States: what makes each move")
@pytest.mark.parametrize("cause", MOVES)
def test_the_moves_a_request_or_a_timer_makes(cause: str) -> None:
    state, act, expected = MOVES[cause]
    bench = Bench()
    bench.client("patient", session_ms=90_000)
    prepare, *members = state.split() or [""]
    if prepare:
        getattr(bench, prepare)(*members)
    before = len(bench.of(StateChanged))
    act(bench)
    assert [move.to_state for move in bench.of(StateChanged)[before:]] == expected


@rule("States: a new group is Empty, of generation 0, after Dead")
def test_a_new_group_begins_empty() -> None:
    bench = Bench()
    bench.join("m1")
    assert (bench.state, bench.group.previous_state, bench.generation) == (EMPTY, DEAD, 0)
