"""The two steps of a dynamic join (KIP-394): an id given out, awaited, and what becomes of it."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.causes import EndCause
from schemas.effects import GroupCreated, PendingMemberRemoved
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


@rule(
    "Two-step join: the first step creates the group, Empty and of no type",
    origin="testGenerateRecordsOnNewClassicGroup",
)
def test_a_first_step_leaves_an_empty_group() -> None:
    bench = Bench()
    bench.join("m1")
    assert len(bench.of(GroupCreated)) == 1
    described = bench.describe()
    assert (described.group_state, described.protocol_type, described.members) == ("Empty", "", [])


@rule("Two-step join: the second step adds the member, and only then the group rebalances")
def test_the_second_step_makes_a_member() -> None:
    bench = Bench(group_initial_rebalance_delay_ms=100)
    bench.join("m1")
    assert bench.state is GroupState.EMPTY
    assert bench.join("m1").is_parked
    assert (bench.state, bench.members, bench.group.pending) == (GroupState.PREPARING_REBALANCE, ["m1"], {})


@rule("Two-step join: a Stable group stays Stable until the second step")
def test_an_id_given_out_disturbs_nobody() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    assert (bench.state, bench.heartbeat("m1").error) == (GroupState.STABLE, Error.NONE)


@rule("Two-step join: every first step gives another id, and each is awaited")
def test_a_repeated_first_step_gives_a_second_id() -> None:
    bench = Bench()
    first = bench.join("m1").response.member_id
    second = bench.join("m1", "").response.member_id
    assert first != second
    assert set(bench.group.pending) == {first, second}


@rule("Two-step join: the very same request once more, at the same time, gets another member's id only if unused")
def test_a_word_for_word_repetition_never_gets_the_id_of_a_member() -> None:
    bench = Bench()
    bench.join("m1", v=3, recorded_member_id="m1-recorded")
    other = bench.join("m1", "", v=9, recorded_member_id="m1-recorded")
    assert other.response.member_id != "m1-recorded"


@rule(
    "Two-step join: an id given out with an instance id is UNKNOWN_SERVER_ERROR, and goes on being awaited",
    origin="testJoinGroupExistingPendingMemberWithGroupInstanceIdThrowsException",
)
def test_an_id_given_out_cannot_turn_static() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    refused = bench.join("m2", instance_id="i2")
    assert (refused.error, refused.response.member_id) == (Error.UNKNOWN_SERVER_ERROR, "")
    assert bench.join("m2").is_parked


@rule(
    "Two-step join: the id is dropped when its session timeout has passed, in any state",
    origin="testHeartbeatExpirationShouldRemovePendingMember",
)
@pytest.mark.parametrize("state", ["unknown", "completing", "stable"])
def test_an_id_that_does_not_come_back_is_dropped(state: str) -> None:
    bench = Bench()
    if state != "unknown":
        getattr(bench, state)("m1")
    before = bench.state
    bench.join("m2", session_ms=5_000)
    bench.tick(4_999)
    assert bench.id_of("m2") in bench.group.pending
    bench.tick(5_000)
    assert (bench.group.pending, bench.state) == ({}, before)
    assert bench.last(PendingMemberRemoved).end_cause is EndCause.SESSION_EXPIRED
    assert bench.join("m2").error is Error.UNKNOWN_MEMBER_ID


@rule(
    "Two-step join: an id given out holds up a join phase until it joins",
    origin="testJoinGroupCompletionWhenPendingMemberJoins",
)
def test_a_join_phase_waits_for_the_id_given_out() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    waiting = bench.join("m1")
    assert waiting.is_parked
    bench.at(700)
    bench.join("m2")
    assert (waiting.answered_at_ms, bench.members) == (700, ["m1", "m2"])


@rule(
    "Two-step join: … or until it expires",
    origin="testJoinGroupCompletionWhenPendingMemberTimesOut testSecondMemberPartiallyJoinAndTimeout",
)
def test_a_join_phase_waits_no_longer_than_the_id_lives() -> None:
    bench = Bench().stable("m1")
    bench.join("m2", session_ms=5_000)
    waiting = bench.join("m1")
    bench.tick(5_000)
    assert (waiting.answered_at_ms, bench.members, bench.generation) == (5_000, ["m1"], 2)


@rule(
    "Two-step join: the join timer does not wait for ids; who comes later starts another rebalance",
    origin="testRebalanceCompletesBeforeMemberJoins",
)
def test_a_slow_second_step_misses_the_generation() -> None:
    bench = Bench()
    bench.client("m1", rebalance_ms=3_000)
    bench.stable("m1")
    bench.join("m2", session_ms=8_000)
    waiting = bench.join("m1")
    bench.tick(3_000)
    assert (waiting.error, bench.generation, bench.members) == (Error.NONE, 2, ["m1"])
    bench.at(4_000)
    assert bench.join("m2").is_parked
    assert bench.state is GroupState.PREPARING_REBALANCE


@rule("Two-step join: an id given out starts no join phase, and holds up no initial window")
def test_an_id_given_out_does_not_prolong_the_initial_window() -> None:
    bench = Bench(group_initial_rebalance_delay_ms=3_000)
    joined = bench.join("m1", v=3)
    bench.join("m2")
    bench.tick(3_000)
    assert (joined.answered_at_ms, bench.members) == (3_000, ["m1"])


@rule("Two-step join: in Stable the second step of one id does not wait for another id")
def test_two_ids_are_both_awaited_by_the_phase_that_one_starts() -> None:
    bench = Bench().stable("m1")
    bench.join("m2", session_ms=5_000)
    bench.join("m3", session_ms=7_000)
    bench.join("m2")
    waiting = bench.join("m1")
    assert waiting.is_parked
    bench.tick(7_000)
    assert (waiting.answered_at_ms, bench.members) == (7_000, ["m1", "m2"])


@rule("Two-step join: an id given out dies with its group")
def test_an_id_given_out_is_unknown_after_the_group_is_deleted() -> None:
    bench = Bench()
    bench.join("m1")
    assert bench.delete_group() is Error.NONE
    assert bench.join("m1").error is Error.UNKNOWN_MEMBER_ID
