"""Session timers and the sync timer: whom they remove, whom they spare, and what that sets off."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.effects import MemberRemoved
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


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


def bench_awaiting_sync(*clients: str) -> Bench:
    """These clients joined at 0 and may sync for three seconds; sessions are long."""
    bench = Bench()
    for client in clients:
        bench.client(client, rebalance_ms=3_000, session_ms=100_000)
    return bench.completing(*clients)


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
