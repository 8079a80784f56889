"""A coordinator that takes a group over, and one that gives it up: what survives, and what clients see of it."""

from __future__ import annotations

import pytest

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.causes import CauseKind, EndCause
from rollcall.schemas.effects import PendingMemberRemoved, RebalanceStarted, Reply
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- taking over


@rule(
    "Load: every member has a whole session of its own to find the new coordinator",
    origin="testOnLoadedSchedulesClassicGroupMemberHeartbeats testReplayGroupMetadataRecords",
)
def test_sessions_start_anew_when_a_group_is_loaded() -> None:
    bench = Bench()
    bench.client("m2", session_ms=20_000)
    bench.stable("m1", "m2")
    bench.at(9_000)
    bench.load()
    assert (bench.deadlines()["m1"], bench.deadlines()["m2"]) == (19_000, 29_000)
    assert (bench.state, bench.generation, bench.heartbeat("m1").error) == (GroupState.STABLE, 2, Error.NONE)


@rule("Load: a group without members is Empty, its offsets kept")
def test_an_empty_group_is_loaded_empty() -> None:
    bench = Bench().empty()
    bench.commit()
    bench.load()
    assert (bench.state, len(bench.group.offsets), "sweep" in bench.deadlines()) == (GroupState.EMPTY, 1, True)


@rule(
    "Load: above group.max.size a group rebalances at once",
    origin="testOnLoadedExceedGroupMaxSizeTriggersRebalance",
)
def test_a_group_that_grew_too_large_rebalances_when_loaded() -> None:
    bench = Bench().stable("m1", "m2", "m3")
    bench.set(group_max_size=2)
    bench.load()
    assert bench.state is GroupState.PREPARING_REBALANCE
    assert bench.last(RebalanceStarted).cause.kind is CauseKind.GROUP_LOADED


@rule("Load: ids given out are forgotten, their second step is UNKNOWN_MEMBER_ID")
def test_an_id_given_out_does_not_survive() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    bench.load()
    assert bench.join("m2").error is Error.UNKNOWN_MEMBER_ID


@rule("Load: of a member's protocols only the selected one survives, so that an unchanged follower rebalances")
def test_a_follower_with_several_protocols_no_longer_matches() -> None:
    bench = Bench()
    for client in ("m1", "m2"):
        bench.client(client, protocols=["range", "sticky"])
    bench.stable("m1", "m2").load()
    assert list(bench.member("m2").protocols) == ["range"]
    assert bench.join("m3", protocols=["sticky"]).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join("m2").is_parked


@rule("Load: what was parked is never answered")
@pytest.mark.parametrize("state", ["preparing", "completing"])
def test_parked_requests_do_not_survive(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    waiting = bench.join("m1") if state == "preparing" else bench.sync("m2")
    bench.load()
    assert (waiting.reply, waiting.is_dropped) == (None, True)
    assert bench.deadlines().keys() == {"m1", "m2", "sweep"}


# ---------------------------------------------------------------- giving up


@rule(
    "Unload: the group is Dead, and JoinGroups and SyncGroups that wait are answered NOT_COORDINATOR",
    origin="testClassicGroupOnUnloadedEmptyAndPreparingRebalance testClassicGroupOnUnloadedCompletingRebalance",
)
@pytest.mark.parametrize("state", ["preparing", "completing"])
def test_what_waits_is_sent_to_the_new_coordinator(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    waiting = bench.join("m1") if state == "preparing" else bench.sync("m2")
    bench.unload()
    assert (waiting.error, waiting.reply.member_id) == (Error.NOT_COORDINATOR, waiting.request.member_id)
    assert (bench.state, bench.deadlines()) == (GroupState.DEAD, {})


@rule("Unload: an Empty group goes without a word, ids given out are forgotten")
def test_an_empty_group_is_given_up() -> None:
    bench = Bench()
    bench.join("m1")
    replies = len(bench.of(Reply))
    bench.unload()
    assert (len(bench.of(Reply)), bench.group.pending, bench.state) == (replies, {}, GroupState.DEAD)
    assert bench.last(PendingMemberRemoved).end_cause is EndCause.GROUP_UNLOADED


@rule(
    "Unload: what names a member of a Dead group is answered COORDINATOR_NOT_AVAILABLE",
    origin="testHeartbeatDeadGroup testJoinGroupUnknownConsumerNewDeadGroup testExistingMemberJoinDeadGroup"
    " testLeaveDeadGroup testGenericGroupOffsetCommitWithDeadGroup",
)
def test_a_dead_group_sends_its_members_to_look_for_the_coordinator() -> None:
    bench = Bench().stable("m1").unload()
    joined, named = bench.join("x", ""), bench.join("x", "some-id")
    left = bench.leave("m1")
    sent = [joined, named, left, bench.heartbeat("m1"), bench.sync("m1"), bench.commit("m1")]
    assert {call.error for call in sent} == {Error.COORDINATOR_NOT_AVAILABLE}
    assert (joined.response.member_id, named.response.member_id, left.response.members) == ("", "some-id", [])


@rule("Unload: no timer of the group fires any more", origin="testCompleteJoinPhaseInEmptyStateSkipsRebalance")
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_a_dead_group_has_no_timers(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    bench.unload()
    so_far = len(bench.effects)
    bench.tick(10_000_000)
    assert len(bench.effects) == so_far
