"""The first rebalance of an Empty group: it waits a while for more members, and how long exactly."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


def bench_with_delay(delay_ms: int = 3_000, **settings: Any) -> Bench:
    return Bench(group_initial_rebalance_delay_ms=delay_ms, **settings)


@rule(
    "Initial delay: the first join of an Empty group is answered after the delay",
    origin="testDelayInitialRebalanceByGroupInitialRebalanceDelayOnEmptyGroup",
)
def test_a_lonely_member_waits_one_delay() -> None:
    bench = bench_with_delay()
    joined = bench.enter("m1")
    assert (bench.state, bench.deadlines()["join"]) == (GroupState.PREPARING_REBALANCE, 3_000)
    bench.tick(2_999)
    assert joined.is_parked
    bench.tick(3_000)
    assert (joined.answered_at_ms, joined.response.generation_id) == (3_000, 1)


@rule("Initial delay: none at all ends the window at once, before the next request")
def test_without_delay_the_first_member_is_alone() -> None:
    bench = bench_with_delay(0)
    first = bench.enter("m1")
    second = bench.enter("m2")
    assert (first.answered_at_ms, first.response.generation_id, second.is_parked) == (0, 1, True)


@rule(
    "Initial delay: a newcomer in the window prolongs it by another delay from its end",
    origin="testResetRebalanceDelayWhenNewMemberJoinsGroupDuringInitialRebalance",
)
@pytest.mark.parametrize("v", [3, 9])
def test_a_newcomer_prolongs_the_window(v: int) -> None:
    bench = bench_with_delay()
    first = bench.enter("m1")
    bench.at(2_000)
    bench.enter("m2", v=v)
    bench.tick(3_000)
    assert (first.is_parked, bench.deadlines()["join"]) == (True, 6_000)
    bench.tick(6_000)
    assert (first.answered_at_ms, bench.members, bench.generation) == (6_000, ["m1", "m2"], 1)


@rule(
    "Initial delay: the windows together last no longer than the first member's rebalance timeout",
    origin="testDelayRebalanceUptoRebalanceTimeout",
)
def test_the_windows_end_at_the_first_members_rebalance_timeout() -> None:
    bench = bench_with_delay()
    first = bench.enter("m1", rebalance_ms=7_000)
    for now_ms in (2_000, 5_000, 6_500):
        bench.at(now_ms)
        bench.enter(f"m{now_ms}", rebalance_ms=60_000)
    bench.tick(6_999)
    assert first.is_parked
    bench.tick(7_000)
    assert (first.answered_at_ms, len(bench.members)) == (7_000, 4)


@rule("Initial delay: a rebalance timeout shorter than the delay leaves one whole delay and no more")
@pytest.mark.parametrize("rebalance_ms", [-1, 0, 1_000, 3_000])
def test_a_short_rebalance_timeout_shortens_no_window(rebalance_ms: int) -> None:
    bench = bench_with_delay()
    first = bench.enter("m1", rebalance_ms=rebalance_ms)
    bench.at(1_000)
    bench.enter("m2")
    bench.tick(3_000)
    assert first.answered_at_ms == 3_000


@rule("Initial delay: the first member is no newcomer, nor is one that joins again or returns under another id")
def test_only_newcomers_prolong_the_window() -> None:
    bench = bench_with_delay()
    bench.client("m1", instance_id="i1")
    bench.enter("m1")
    bench.at(1_000)
    returned = bench.join("m1b", instance_id="i1")
    bench.at(2_000)
    bench.enter("m1b", instance_id="i1")
    bench.tick(3_000)
    assert (returned.error, bench.state) == (Error.FENCED_INSTANCE_ID, GroupState.COMPLETING_REBALANCE)


@rule("Initial delay: the first step of a newcomer does not count, its second does")
def test_an_id_given_out_in_the_window_prolongs_nothing() -> None:
    bench = bench_with_delay()
    bench.enter("m1")
    bench.at(1_000)
    bench.join("m2")
    bench.tick(3_000)
    assert bench.state is GroupState.COMPLETING_REBALANCE


@rule("Initial delay: a newcomer that no window was left to prolong for prolongs the next first window instead")
def test_a_late_newcomer_is_remembered_for_the_next_window() -> None:
    bench = bench_with_delay()
    bench.enter("m1", rebalance_ms=1_000)
    bench.enter("m2", rebalance_ms=1_000)
    bench.tick(3_000)
    assert bench.generation == 1
    bench.leave("m1", "m2")
    bench.at(10_000)
    alone = bench.enter("m3")
    bench.tick(13_000)
    assert alone.is_parked
    bench.tick(16_000)
    assert alone.answered_at_ms == 16_000


@rule("Initial delay: no request ends the window early, not even when everybody has joined")
def test_the_window_runs_to_its_end() -> None:
    bench = bench_with_delay()
    first = bench.enter("m1")
    second = bench.enter("m2")
    bench.join("m1")
    bench.leave("m2", by="admin")
    assert (first.is_dropped, second.error, bench.state) == (
        True,
        Error.UNKNOWN_MEMBER_ID,
        GroupState.PREPARING_REBALANCE,
    )


@rule("Initial delay: all gone, the window runs on and ends in Empty, one generation on")
def test_a_window_that_all_left_ends_empty() -> None:
    bench = bench_with_delay()
    bench.enter("m1")
    bench.leave("m1", by="admin")
    assert bench.state is GroupState.PREPARING_REBALANCE
    bench.tick(3_000)
    assert (bench.state, bench.generation) == (GroupState.EMPTY, 1)


@rule("Initial delay: who comes into a window that all left is a newcomer to it")
def test_a_window_that_all_left_is_prolonged_by_who_comes() -> None:
    bench = bench_with_delay()
    bench.enter("m1")
    bench.leave("m1", by="admin")
    bench.at(2_000)
    joined = bench.enter("m2")
    bench.tick(3_000)
    assert joined.is_parked
    bench.tick(6_000)
    assert (joined.answered_at_ms, bench.leader) == (6_000, "m2")


@rule("Initial delay: an expiry ends the window when it makes everybody joined")
def test_an_expiry_ends_the_window() -> None:
    bench = bench_with_delay()
    bench.client("m1", session_ms=1_000)
    expired, other = bench.enter("m1"), bench.enter("m2")
    bench.heartbeat("m1")
    bench.tick(1_000)
    assert expired.error is Error.UNKNOWN_MEMBER_ID
    assert (other.answered_at_ms, bench.members) == (1_000, ["m2"])


@rule("Initial delay: … also of an id given out, and of the only member")
def test_the_expiry_of_an_id_given_out_ends_the_window() -> None:
    bench = bench_with_delay()
    joined = bench.join("m1", v=3)
    bench.join("m2", session_ms=1_000)
    bench.tick(1_000)
    assert joined.answered_at_ms == 1_000


@rule("Initial delay: … and leaves the group Empty if nobody is left")
def test_the_expiry_of_the_only_member_ends_the_window_in_empty() -> None:
    bench = bench_with_delay()
    bench.client("m1", session_ms=1_000)
    bench.enter("m1")
    bench.heartbeat("m1")
    bench.tick(1_000)
    assert (bench.state, bench.generation) == (GroupState.EMPTY, 1)


@rule("Initial delay: every Empty group has one, at any generation; later rebalances have none")
def test_a_group_that_was_emptied_waits_again() -> None:
    bench = bench_with_delay()
    bench.enter("m1")
    bench.tick(3_000)
    bench.enter("m2")
    rejoined = bench.join("m1")
    assert (rejoined.error, bench.generation) == (Error.NONE, 2)
    bench.leave("m1", "m2")
    assert bench.state is GroupState.EMPTY
    bench.at(5_000)
    assert bench.enter("m3").is_parked
    assert bench.deadlines()["join"] == 8_000


@rule("Initial delay: in the window the type and protocols of its first member bind the others")
def test_the_first_member_of_the_window_binds_the_others() -> None:
    bench = bench_with_delay()
    bench.enter("m1", protocols=["range"])
    assert bench.join("m2", protocols=["sticky"]).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join("m2", protocol_type="connect").error is Error.INCONSISTENT_GROUP_PROTOCOL
