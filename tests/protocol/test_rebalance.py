"""A rebalance from its start to Stable: who is waited for, who leads, what the end of the join phase does."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.causes import EndCause
from schemas.effects import MemberRemoved
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


def bench_of(rebalance_ms: int, *clients: str) -> Bench:
    """A Stable group of these clients, all with this rebalance timeout and long sessions."""
    bench = Bench()
    for client in clients:
        bench.client(client, rebalance_ms=rebalance_ms, session_ms=100_000)
    return bench.stable(*clients)


# ---------------------------------------------------------------- the join timer


@rule("Join phase: it ends with the last member awaited, at once")
def test_the_last_join_answers_everybody() -> None:
    bench = bench_of(60_000, "m1", "m2", "m3")
    waiting = [bench.join("m1"), bench.join("m2")]
    bench.at(250)
    waiting.append(bench.join("m3"))
    assert [call.answered_at_ms for call in waiting] == [250, 250, 250]
    assert "join" not in bench.deadlines()


@rule(
    "Join phase: members absent at the rebalance timeout are dropped, dynamic ones",
    origin="testCompleteJoinRemoveNotYetRejoinedDynamicMembers",
)
def test_absent_dynamic_members_are_dropped_at_the_timeout() -> None:
    bench = bench_of(3_000, "m1", "m2")
    rejoined = bench.join("m1")
    bench.tick(2_999)
    assert rejoined.is_parked
    bench.tick(3_000)
    assert (rejoined.answered_at_ms, bench.members) == (3_000, ["m1"])
    assert bench.last(MemberRemoved).end_cause is EndCause.REBALANCE_TIMEOUT
    assert ("m2" in bench.deadlines(), bench.heartbeat("m2").error) == (False, Error.UNKNOWN_MEMBER_ID)


@rule("Join phase: its length is the longest rebalance timeout of the members at its start, and then fixed")
def test_the_timeout_is_the_longest_at_the_start() -> None:
    bench = bench_of(3_000, "m1", "m2")
    bench.join("m1", rebalance_ms=5_000)
    assert bench.deadlines()["join"] == 5_000
    bench.at(1_000)
    bench.enter("m3", rebalance_ms=90_000)
    bench.join("m1", rebalance_ms=80_000)
    assert bench.deadlines()["join"] == 5_000


@rule("Join phase: a newcomer's rebalance timeout counts in the phase it starts")
def test_the_newcomers_timeout_counts() -> None:
    bench = bench_of(3_000, "m1")
    bench.enter("m2", rebalance_ms=9_000)
    assert bench.deadlines()["join"] == 9_000


@rule("Join phase: the rebalance timeout of a member that left counts no more")
def test_a_leavers_timeout_is_forgotten() -> None:
    bench = bench_of(3_000, "m1", "m2")
    bench.member("m2").rebalance_timeout_ms = 90_000
    bench.leave("m2")
    assert bench.deadlines()["join"] == 3_000


@rule("Join phase: a rebalance timeout of zero drops the absent at once, and who has not synced right after")
@pytest.mark.parametrize("rebalance_ms", [0, -1])
def test_with_no_time_to_join_only_the_quick_remain(rebalance_ms: int) -> None:
    bench = Bench()
    first = bench.enter("m1", rebalance_ms=rebalance_ms)
    assert (first.error, first.response.generation_id, first.answered_at_ms) == (Error.NONE, 1, 0)
    assert (bench.state, bench.generation, bench.members) == (GroupState.EMPTY, 2, [])
    assert bench.last(MemberRemoved).end_cause is EndCause.SYNC_TIMEOUT


@rule(
    "Join phase: the timer of a group that died meanwhile does nothing",
    origin="testCompleteJoinPhaseInEmptyStateSkipsRebalance",
)
def test_a_dead_group_has_no_join_phase_to_end() -> None:
    bench = bench_of(3_000, "m1", "m2")
    bench.join("m1")
    bench.unload()
    bench.tick(500_000)
    assert (bench.state, bench.generation) == (GroupState.DEAD, 2)


# ---------------------------------------------------------------- the end of the join phase


@rule(
    "Join phase: at its end every session starts anew with the member's own timeout, and nobody is new any more",
    origin="testNewMemberTimeoutCompletion",
)
def test_sessions_start_anew_at_the_end_of_the_join_phase() -> None:
    bench = Bench()
    bench.client("m2", session_ms=7_000)
    bench.stable("m1")
    bench.at(1_000)
    bench.enter("m2")
    assert bench.deadlines()["m2"] == 301_000
    bench.at(2_000)
    bench.join("m1")
    assert (bench.deadlines()["m1"], bench.deadlines()["m2"]) == (12_000, 9_000)
    assert not any(bench.member(client).is_new for client in ("m1", "m2"))
    bench.tick(9_000)
    assert bench.members == ["m1"]


@rule(
    "Join phase: at its end everybody's SyncGroup is awaited for the longest rebalance timeout",
    origin="testInitNextGeneration testNewGenerationClearsPendingSyncMembers",
)
def test_everybody_is_awaited_for_a_sync() -> None:
    bench = bench_of(3_000, "m1", "m2")
    bench.at(1_000)
    bench.join("m1", rebalance_ms=9_000)
    bench.join("m2")
    assert set(bench.group.pending_sync) == {bench.id_of("m1"), bench.id_of("m2")}
    assert bench.deadlines()["sync"] == 10_000
    assert (bench.generation, bench.group.protocol_name, bench.state) == (3, "range", GroupState.COMPLETING_REBALANCE)


@rule(
    "Join phase: with nobody left it ends in Empty, one generation on, the protocol gone and its type kept",
    origin="testInitNextGenerationEmptyGroup",
)
def test_a_join_phase_without_members_ends_empty() -> None:
    bench = bench_of(3_000, "m1")
    bench.leave("m1")
    group = bench.group
    assert (group.state, group.generation_id, group.protocol_name, group.protocol_type, group.leader_id) == (
        GroupState.EMPTY,
        2,
        None,
        "consumer",
        None,
    )
    assert bench.deadlines().keys() == {"sweep"}


# ---------------------------------------------------------------- the leader


@rule("Leader: the first member leads, and goes on leading while it joins again")
def test_the_first_member_leads() -> None:
    bench = bench_of(60_000, "m1", "m2", "m3")
    bench.join("m3", protocols=["range", "sticky"])
    bench.join("m2")
    assert bench.join("m1").response.leader == bench.id_of("m1")


@rule(
    "Leader: one that did not rejoin gives way to one that did",
    origin="testElectNewJoinedLeader testMaybeElectNewJoinedLeaderChooseExisting",
)
def test_only_who_joined_is_elected() -> None:
    bench = bench_of(3_000, "m1", "m2", "m3")
    bench.join("m3", protocols=["range", "sticky"])
    bench.tick(3_000)
    assert (bench.leader, bench.members) == ("m3", ["m3"])


@rule("Leader: of several that joined the one longest a member leads (Kafka: any of them)")
def test_the_oldest_of_those_that_joined_leads() -> None:
    bench = bench_of(3_000, "m1", "m2", "m3")
    bench.join("m3", protocols=["range", "sticky"])
    bench.join("m2")
    bench.tick(3_000)
    assert bench.leader == "m2"


@rule("Leader: a recording's own choice is taken where it joined")
@pytest.mark.parametrize(("recorded", "leader"), [("m3", "m3"), ("m1", "m2"), (None, "m2")])
def test_a_replay_takes_the_recorded_leader(recorded: str | None, leader: str) -> None:
    bench = bench_of(3_000, "m1", "m2", "m3")
    recorded_id = None if recorded is None else bench.id_of(recorded)
    bench.join("m2", protocols=["range", "sticky"])
    bench.join("m3", recorded_leader_id=recorded_id)
    bench.tick(3_000)
    assert bench.leader == leader


@rule("Leader: when it goes without a rebalance under way, the oldest member leads")
def test_the_oldest_member_left_leads() -> None:
    bench = bench_of(60_000, "m1", "m2", "m3")
    bench.leave("m1")
    assert bench.leader == "m2"


# ---------------------------------------------------------------- one group's whole life


@rule(
    "Rebalance: every member in order, from the first join to the last leave", origin="testConcurrentGoodPathSequence"
)
def test_the_good_path_of_many_members() -> None:
    clients = [f"m{number}" for number in range(20)]
    bench = Bench(group_initial_rebalance_delay_ms=3_000)
    joined = [bench.enter(client) for client in clients]
    bench.tick(6_000)
    assert [call.response.generation_id for call in joined] == [1] * 20
    synced = [bench.sync(client, plan=clients if client == "m0" else ()) for client in reversed(clients)]
    assert [call.response.assignment for call in synced] == [f"{client}-1".encode() for client in reversed(clients)]
    for client in clients:
        assert bench.fetch().error is Error.NONE
        assert bench.heartbeat(client).error is Error.NONE
        assert bench.commit(client).error is Error.NONE
    for client in clients:
        assert bench.leave(client).error is Error.NONE
    assert (bench.state, bench.generation) == (GroupState.EMPTY, 2)


@rule("Rebalance: the sessions and timers of a group are its own")
def test_two_groups_do_not_touch_each_other() -> None:
    one, other = Bench("one").stable("m1"), Bench("other").stable("m1")
    one.leave("m1")
    assert (one.state, other.state) == (GroupState.EMPTY, GroupState.STABLE)
    assert one.id_of("m1") != other.id_of("m1")
