"""SyncGroup: its checks in order, who waits for whom, and what the leader's assignments do."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.effects import RequestDropped
from schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- checks, in order


@rule("SyncGroup: v5 without protocol type or name is INCONSISTENT_GROUP_PROTOCOL before all else")
@pytest.mark.parametrize(("protocol_type", "protocol_name"), [(None, "range"), ("consumer", None), (None, None)])
@pytest.mark.parametrize("group_id", ["", "g"])
def test_v5_must_name_type_and_protocol(group_id: str, protocol_type: str | None, protocol_name: str | None) -> None:
    sent = Bench(group_id).sync("m1", 1, v=5, protocol_type=protocol_type, protocol_name=protocol_name)
    assert sent.error is Error.INCONSISTENT_GROUP_PROTOCOL


@rule("SyncGroup: an empty group id is INVALID_GROUP_ID", origin="testInvalidGroupId")
@pytest.mark.parametrize("v", [0, 4, 5])
def test_an_empty_group_id_is_refused(v: int) -> None:
    sent = Bench("").sync("m1", 1, v=v, protocol_type="consumer", protocol_name="range")
    assert sent.error is Error.INVALID_GROUP_ID


@rule("SyncGroup: an unknown group is UNKNOWN_MEMBER_ID", origin="testSyncGroupFromUnknownGroup")
def test_an_unknown_group_has_no_members() -> None:
    bench = Bench()
    assert bench.sync("m1", 1, v=3).error is Error.UNKNOWN_MEMBER_ID
    assert not bench.group.is_known


@rule("SyncGroup: Empty is UNKNOWN_MEMBER_ID, for an id given out too")
def test_an_empty_group_has_nothing_to_sync() -> None:
    bench = Bench().empty()
    bench.join("m1")
    assert bench.sync("m1", 2, v=3).error is Error.UNKNOWN_MEMBER_ID


@rule("SyncGroup: Dead is COORDINATOR_NOT_AVAILABLE")
def test_a_dead_group_sends_its_members_away() -> None:
    bench = Bench().stable("m1").unload()
    assert bench.sync("m1").error is Error.COORDINATOR_NOT_AVAILABLE


@rule("SyncGroup: an unknown member is UNKNOWN_MEMBER_ID", origin="testSyncGroupFromUnknownMember")
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_a_stranger_is_unknown_in_every_state(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    assert bench.sync("stranger", 99, v=3).error is Error.UNKNOWN_MEMBER_ID


@rule("SyncGroup: a fenced instance id", origin="testStaticMemberSyncAsLeaderWithInvalidMemberId")
def test_a_known_instance_with_a_foreign_member_id_is_fenced() -> None:
    bench = Bench().static("m1").completing("m1", "m2")
    assert bench.sync("m1", member_id="foreign").error is Error.FENCED_INSTANCE_ID
    assert bench.sync("m2", instance_id="i1").error is Error.FENCED_INSTANCE_ID
    assert bench.sync("m2", instance_id="nobody").error is Error.UNKNOWN_MEMBER_ID


@rule("SyncGroup: another generation is ILLEGAL_GENERATION", origin="testSyncGroupFromIllegalGeneration")
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
@pytest.mark.parametrize("generation", [-1, 1, 3])
def test_another_generation_is_refused_before_protocol_and_state(state: str, generation: int) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    assert bench.sync("m1", generation, protocol_name="other").error is Error.ILLEGAL_GENERATION


@rule(
    "SyncGroup: another protocol type or name is INCONSISTENT_GROUP_PROTOCOL, in PreparingRebalance too",
    origin="testSyncGroupReturnsAnErrorWhenProtocolTypeIsInconsistent"
    " testSyncGroupReturnsAnErrorWhenProtocolNameIsInconsistent",
)
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
@pytest.mark.parametrize(
    ("protocol_type", "protocol_name"),
    [("connect", "range"), ("consumer", "sticky"), ("", "range"), ("consumer", "")],
)
def test_what_is_named_must_be_the_groups(state: str, protocol_type: str, protocol_name: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    sent = bench.sync("m1", protocol_type=protocol_type, protocol_name=protocol_name)
    assert sent.error is Error.INCONSISTENT_GROUP_PROTOCOL


@rule(
    "SyncGroup: before v5 type and name may be left out; named they are answered with",
    origin="testSyncGroupSucceedWhenProtocolTypeAndNameAreNotProvided"
    " testSyncGroupSucceedWhenProtocolTypeAndNameAreConsistent",
)
@pytest.mark.parametrize(("v", "named"), [(3, None), (5, "range")])
def test_type_and_name_are_optional_before_v5(v: int, named: str | None) -> None:
    bench = Bench().completing("m1")
    sent = bench.sync("m1", plan=["m1"], v=v, protocol_name=named)
    assert (sent.error, sent.response.protocol_type, sent.response.protocol_name) == (Error.NONE, "consumer", "range")


# ---------------------------------------------------------------- by state


@rule("SyncGroup: PreparingRebalance is REBALANCE_IN_PROGRESS, and renews no session")
def test_while_members_are_awaited_a_sync_comes_too_late() -> None:
    bench = Bench().preparing("m1", "m2")
    bench.at(4_000)
    assert bench.sync("m2").error is Error.REBALANCE_IN_PROGRESS
    assert bench.deadlines()["m2"] == 10_000


@rule("SyncGroup: a follower waits for the leader's", origin="testSyncGroupLeaderAfterFollower")
def test_a_follower_waits_until_the_leader_has_synced() -> None:
    bench = Bench().completing("m1", "m2")
    follower = bench.sync("m2")
    assert follower.is_parked
    bench.at(700)
    leader = bench.sync("m1", plan=["m1", "m2"])
    assert (leader.response.assignment, follower.response.assignment) == (b"m1-2", b"m2-2")
    assert (follower.answered_at_ms, bench.state) == (700, GroupState.STABLE)


@rule("SyncGroup: in Stable it is answered with one's own assignment", origin="testSyncGroupFollowerAfterLeader")
def test_a_follower_that_comes_later_is_answered_at_once() -> None:
    bench = Bench().completing("m1", "m2")
    bench.sync("m1", plan=["m1", "m2"])
    assert bench.sync("m2").response.assignment == b"m2-2"


@rule("SyncGroup: a leader's later assignments, and a follower's ever, are ignored")
def test_only_the_leaders_first_plan_counts() -> None:
    bench = Bench().completing("m1", "m2")
    follower = bench.sync("m2", plan={"m1": b"stolen", "m2": b"stolen"})
    bench.sync("m1", plan=["m1", "m2"])
    assert follower.response.assignment == b"m2-2"
    assert bench.sync("m1", plan={"m1": b"late"}).response.assignment == b"m1-2"
    assert bench.sync("m2", plan={"m2": b"late"}).response.assignment == b"m2-2"


@rule("SyncGroup: a member the plan leaves out gets empty bytes", origin="testSyncGroupEmptyAssignment")
def test_a_plan_may_leave_members_out_and_name_strangers() -> None:
    bench = Bench().completing("m1", "m2")
    follower = bench.sync("m2")
    leader = bench.sync("m1", plan={"m1": b"all", "stranger": b"none"})
    assert (leader.response.assignment, follower.response.assignment) == (b"all", b"")
    assert bench.members == ["m1", "m2"]


@rule("SyncGroup: a second one while the first waits takes its place, and the first is never answered")
def test_a_repeated_sync_replaces_the_one_that_waits() -> None:
    bench = Bench().completing("m1", "m2")
    first, second = bench.sync("m2"), bench.sync("m2")
    bench.sync("m1", plan=["m2"])
    assert (first.reply, first.is_dropped, second.response.assignment) == (None, True, b"m2-2")
    assert bench.last(RequestDropped).why == "replaced by a later SyncGroup of the same member"


@rule("SyncGroup: the session is renewed when a waiting one is answered, and by nothing else")
def test_the_answer_to_a_waiting_sync_renews_the_session() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    bench.at(2_000)
    bench.sync("m2")
    assert bench.deadlines()["m2"] == 10_000
    bench.at(3_000)
    bench.sync("m1", plan=["m1", "m2"])
    assert (bench.deadlines()["m1"], bench.deadlines()["m2"]) == (13_000, 13_000)
    bench.at(4_000)
    bench.sync("m3")
    assert bench.deadlines()["m3"] == 10_000


@rule(
    "SyncGroup: the leader gone before its plan, waiting followers are told to rejoin, session renewed",
    origin="testLeaderFailureInSyncGroup",
)
def test_a_leader_that_dies_before_its_plan_sends_followers_back() -> None:
    bench = Bench()
    bench.client("m1", session_ms=3_000)
    bench.completing("m1", "m2")
    bench.at(1_000)
    waiting = bench.sync("m2")
    bench.tick(3_000)
    assert (waiting.error, waiting.answered_at_ms) == (Error.REBALANCE_IN_PROGRESS, 3_000)
    assert (bench.members, bench.leader, bench.state) == (["m2"], "m2", GroupState.PREPARING_REBALANCE)
    assert bench.deadlines()["m2"] == 13_000


@rule("SyncGroup: a rebalance takes every assignment back where the plan has not come yet")
def test_assignments_of_the_last_generation_go_with_the_next_one() -> None:
    bench = Bench().stable("m1", "m2")
    bench.join("m1")
    bench.join("m2")
    assert [bench.member(name).assignment for name in ("m1", "m2")] == [b"m1-2", b"m2-2"]
    bench.enter("m3")
    assert [bench.member(name).assignment for name in ("m1", "m2", "m3")] == [b"", b"", b""]


@rule("SyncGroup: the old leader's plan is refused once another leads a later generation")
def test_a_deposed_leader_cannot_assign() -> None:
    bench = Bench()
    bench.client("m1", instance_id="i1", rebalance_ms=1_000, session_ms=60_000)
    bench.client("m2", rebalance_ms=1_000)
    bench.stable("m1", "m2")
    bench.join("m2", protocols=["range", "sticky"])
    bench.tick(1_000)
    assert (bench.leader, bench.generation) == ("m2", 3)
    assert bench.sync("m1", 2, plan=["m1"]).error is Error.ILLEGAL_GENERATION
    assert bench.sync("m1", 3, plan=["m1"]).is_parked
    assert bench.state is GroupState.COMPLETING_REBALANCE
