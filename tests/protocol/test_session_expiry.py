"""Session timers and the sync timer: whom they remove, whom they spare, and what that sets off."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.causes import CauseKind, EndCause
from schemas.effects import MemberRemoved, RebalanceStarted
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- sessions


@rule(
    "Session expiry: a silent member is removed at its session timeout", origin="testClassicGroupMemberSessionTimeout"
)
def test_a_silent_member_is_removed() -> None:
    bench = Bench().stable("m1")
    bench.tick(9_999)
    assert bench.members == ["m1"]
    bench.tick(10_000)
    assert (bench.state, bench.members, bench.generation) == (GroupState.EMPTY, [], 2)
    assert (bench.last(MemberRemoved).end_cause, bench.last(MemberRemoved).at_ms) == (
        EndCause.SESSION_EXPIRED,
        10_000,
    )


@rule("Session expiry: the request that comes at the very deadline comes in time")
def test_a_tie_goes_to_the_request() -> None:
    bench = Bench().stable("m1")
    bench.at(10_000)
    assert bench.heartbeat("m1").error is Error.NONE
    bench.tick(19_999)
    assert bench.members == ["m1"]


@rule("Session expiry: a follower's in Stable makes the others rebalance")
def test_a_followers_expiry_rebalances() -> None:
    bench = Bench()
    bench.client("m2", session_ms=4_000)
    bench.stable("m1", "m2")
    bench.tick(4_000)
    assert (bench.state, bench.members) == (GroupState.PREPARING_REBALANCE, ["m1"])
    assert bench.last(RebalanceStarted).cause.kind is CauseKind.SESSION_EXPIRED


@rule("Session expiry: the leader's in Stable makes another member lead")
def test_the_leaders_expiry_passes_the_lead_on() -> None:
    bench = Bench()
    bench.client("m1", session_ms=4_000)
    bench.stable("m1", "m2")
    bench.tick(4_000)
    assert bench.leader == "m2"


@rule(
    "Session expiry: of one awaited in PreparingRebalance, before the rebalance timeout; it may end the join phase",
    origin="testClassicGroupMemberSessionTimeoutDuringRebalance",
)
def test_who_does_not_rejoin_and_is_silent_goes_at_its_session_timeout() -> None:
    bench = Bench()
    bench.client("m2", session_ms=4_000)
    bench.stable("m1", "m2")
    waiting = bench.join("m1")
    bench.tick(4_000)
    assert (waiting.answered_at_ms, bench.members, bench.generation) == (4_000, ["m1"], 3)


@rule("Session expiry: a waiting JoinGroup keeps its member, and the timer is not started again until the answer")
def test_who_waits_to_join_does_not_expire() -> None:
    bench = Bench()
    bench.client("m1", session_ms=4_000)
    bench.stable("m1", "m2")
    waiting = bench.join("m1")
    bench.tick(5_000)
    assert (waiting.is_parked, "m1" in bench.deadlines()) == (True, False)
    bench.join("m2")
    assert bench.deadlines()["m1"] == 9_000


@rule("Session expiry: a waiting SyncGroup keeps its member likewise")
def test_who_waits_to_sync_does_not_expire() -> None:
    bench = Bench()
    bench.client("m2", session_ms=4_000)
    bench.completing("m1", "m2")
    bench.at(1_000)
    waiting = bench.sync("m2")
    bench.tick(5_000)
    assert (waiting.is_parked, "m2" in bench.deadlines()) == (True, False)
    bench.sync("m1", plan=["m1", "m2"])
    assert bench.deadlines()["m2"] == 9_000


@rule(
    "Session expiry: a newcomer whose first JoinGroup waits goes after five minutes, whatever its session timeout",
    origin="testNewMemberJoinExpiration testHeartbeatExpirationShouldRemoveMember",
)
def test_a_newcomer_waits_five_minutes_and_no_longer() -> None:
    bench = Bench()
    bench.client("m1", session_ms=900_000, rebalance_ms=900_000)
    bench.stable("m1")
    newcomer = bench.enter("m2", session_ms=1_000)
    bench.tick(299_999)
    assert newcomer.is_parked
    bench.tick(300_000)
    assert (newcomer.error, newcomer.response.member_id) == (Error.UNKNOWN_MEMBER_ID, "")
    assert (bench.members, bench.state) == (["m1"], GroupState.PREPARING_REBALANCE)


@rule(
    "Session expiry: a newcomer that was answered and dies before its SyncGroup goes by its session timeout",
    origin="testNewMemberFailureAfterJoinGroupCompletion",
)
def test_a_newcomer_that_dies_before_it_syncs_is_removed() -> None:
    bench = Bench()
    bench.stable("m1")
    bench.enter("m2", session_ms=5_000)
    bench.join("m1")
    bench.sync("m1", plan=["m1", "m2"])
    bench.tick(5_000)
    assert (bench.members, bench.state) == (["m1"], GroupState.PREPARING_REBALANCE)


@rule(
    "Session expiry: … or after it",
    origin="testNewMemberFailureAfterSyncGroupCompletion",
)
def test_a_newcomer_that_dies_after_it_synced_is_removed() -> None:
    bench = Bench()
    bench.client("m2", session_ms=5_000)
    bench.stable("m1", "m2")
    bench.tick(5_000)
    assert (bench.members, bench.state) == (["m1"], GroupState.PREPARING_REBALANCE)


@rule(
    "Session expiry: timers of who is gone do nothing",
    origin="testCompleteHeartbeatWithGroupDead testCompleteHeartbeatWithMemberAlreadyRemoved",
)
@pytest.mark.parametrize("gone", ["left", "dead"])
def test_a_stale_timer_is_harmless(gone: str) -> None:
    bench = Bench().stable("m1", "m2")
    bench.leave("m2") if gone == "left" else bench.unload()
    bench.at(9_000)
    bench.heartbeat("m1")
    removed = len(bench.of(MemberRemoved))
    bench.tick(18_000)
    assert len(bench.of(MemberRemoved)) == removed


@rule("Session expiry: in CompletingRebalance the SyncGroups that wait are told to rejoin")
def test_an_expiry_while_the_leader_is_awaited_starts_over() -> None:
    bench = Bench()
    bench.client("m3", session_ms=4_000)
    bench.completing("m1", "m2", "m3")
    waiting = bench.sync("m2")
    bench.tick(4_000)
    assert (waiting.error, waiting.answered_at_ms) == (Error.REBALANCE_IN_PROGRESS, 4_000)


@rule("Session expiry: two at the same time go one after the other")
def test_all_members_of_a_silent_group_go() -> None:
    bench = Bench().stable("m1", "m2", "m3")
    bench.tick(10_000)
    assert (bench.state, bench.generation) == (GroupState.EMPTY, 3)


# ---------------------------------------------------------------- SyncGroups that never come


def bench_awaiting_sync(*clients: str) -> Bench:
    """These clients joined at 0 and may sync for three seconds; sessions are long."""
    bench = Bench()
    for client in clients:
        bench.client(client, rebalance_ms=3_000, session_ms=100_000)
    return bench.completing(*clients)


@rule(
    "Sync timeout: nobody synced, all are removed and the group is Empty",
    origin="testRebalanceTimesOutWhenSyncRequestIsNotReceived",
)
def test_a_generation_that_nobody_syncs_ends_empty() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    bench.at(2_000)
    assert bench.heartbeat("m1").error is Error.NONE
    bench.tick(3_000)
    assert (bench.state, bench.members, bench.generation) == (GroupState.EMPTY, [], 3)
    assert {removed.end_cause for removed in bench.of(MemberRemoved)} == {EndCause.SYNC_TIMEOUT}


@rule(
    "Sync timeout: followers that did not sync are removed from a Stable group, which rebalances",
    origin="testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromFollowers",
)
def test_followers_that_never_sync_are_removed() -> None:
    bench = bench_awaiting_sync("m1", "m2", "m3")
    bench.sync("m1", plan=["m1", "m2", "m3"])
    bench.sync("m2")
    bench.tick(3_000)
    assert (bench.state, bench.members) == (GroupState.PREPARING_REBALANCE, ["m1", "m2"])
    assert bench.last(RebalanceStarted).cause.client_id == "m3"


@rule(
    "Sync timeout: the leader that did not sync is removed, and the followers that wait are told to rejoin",
    origin="testRebalanceTimesOutWhenSyncRequestIsNotReceivedFromLeaders",
)
def test_a_leader_that_never_syncs_is_removed() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    waiting = bench.sync("m2")
    bench.tick(3_000)
    assert (waiting.error, waiting.answered_at_ms) == (Error.REBALANCE_IN_PROGRESS, 3_000)
    assert (bench.members, bench.leader) == (["m2"], "m2")


@rule(
    "Sync timeout: none once everybody has synced",
    origin="testRebalanceDoesNotTimeOutWhenAllSyncAreReceived",
)
def test_the_timer_stops_with_the_last_sync() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    bench.sync("m1", plan=["m1", "m2"])
    assert bench.deadlines()["sync"] == 3_000
    bench.sync("m2")
    assert "sync" not in bench.deadlines()
    bench.tick(3_000)
    assert bench.state is GroupState.STABLE


@rule("Sync timeout: static members are removed like the others")
def test_a_static_member_that_never_syncs_is_removed() -> None:
    bench = Bench()
    bench.client("m2", instance_id="i2", rebalance_ms=3_000)
    bench.client("m1", rebalance_ms=3_000)
    bench.completing("m1", "m2").sync("m1", plan=["m1", "m2"])
    bench.tick(3_000)
    assert (bench.members, bench.group.static_member_id("i2")) == (["m1"], None)


@rule("Sync timeout: a rebalance starts it over, and another generation's is never mistaken for this one's")
def test_a_rebalance_stops_the_timer() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    bench.at(1_000)
    bench.join("m2", protocols=["range", "sticky"])
    assert "sync" not in bench.deadlines()
    bench.at(2_000)
    bench.join("m1")
    assert bench.deadlines()["sync"] == 5_000
    bench.tick(3_000)
    assert bench.members == ["m1", "m2"]


@rule("Sync timeout: neither heartbeats nor commits nor an unchanged JoinGroup stand for a SyncGroup")
def test_only_a_sync_is_a_sync() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    bench.sync("m1", plan=["m1", "m2"])
    bench.heartbeat("m2")
    bench.commit("m2")
    bench.join("m2")
    bench.tick(3_000)
    assert bench.members == ["m1"]


@rule("Sync timeout: a member that waits for the leader has synced")
def test_a_waiting_sync_counts() -> None:
    bench = bench_awaiting_sync("m1", "m2")
    bench.sync("m2")
    assert list(bench.group.pending_sync) == [bench.id_of("m1")]
