"""Static members (KIP-345, KIP-814): joining, coming back under another id, fencing, and staying when absent."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.effects import MemberJoined, MemberRemoved
from schemas.errors import Error
from tests.protocol.bench import HOST, Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- joining


@rule(
    "Static members: a newcomer joins in one step at any version",
    origin="testStaticMemberJoinAsFirstMember",
)
@pytest.mark.parametrize("v", [5, 7, 9])
def test_a_static_newcomer_is_not_asked_to_come_again(v: int) -> None:
    joined = Bench().join("m1", instance_id="i1", v=v)
    assert (joined.error, joined.response.members[0].group_instance_id) == (Error.NONE, "i1")


@rule("Static members: an empty instance id is an instance id")
def test_an_empty_instance_id_is_one() -> None:
    bench = Bench()
    bench.client("m1", instance_id="")
    bench.stable("m1")
    assert bench.join("m1b", instance_id="").response.generation_id == 1
    assert bench.heartbeat("m1").error is Error.FENCED_INSTANCE_ID


@rule(
    "Static members: a known id rejoins like any other",
    origin="testStaticMemberRejoinWithKnownMemberId",
)
def test_a_static_member_rejoins_by_its_id() -> None:
    bench = Bench().static("m1").completing("m1")
    again = bench.join("m1")
    assert (again.response.member_id, again.response.generation_id) == (bench.id_of("m1"), 1)


@rule(
    "Static members: a known instance id with an unknown member id is FENCED_INSTANCE_ID",
    origin="testStaticMemberRejoinWithExplicitUnknownMemberId",
)
def test_an_instance_id_is_not_given_to_a_foreign_id() -> None:
    bench = Bench().static("m1").stable("m1")
    refused = bench.join("x", "foreign", instance_id="i1")
    assert (refused.error, refused.response.member_id) == (Error.FENCED_INSTANCE_ID, "foreign")
    assert (refused.response.protocol_type, refused.response.protocol_name) == (None, None)


@rule(
    "Static members: a member's id with another member's instance id is FENCED_INSTANCE_ID",
    origin="testStaticMemberRejoinAsFollowerWithMismatchedInstanceId"
    " testStaticMemberRejoinAsLeaderWithMismatchedInstanceId",
)
@pytest.mark.parametrize(("client", "instance_id"), [("m2", "i1"), ("m1", "i2")])
def test_instance_ids_cannot_be_swapped(client: str, instance_id: str) -> None:
    bench = Bench().static("m1", "m2").stable("m1", "m2")
    assert bench.join(client, instance_id=instance_id).error is Error.FENCED_INSTANCE_ID


@rule(
    "Static members: a known member id with an unknown instance id is UNKNOWN_MEMBER_ID",
    origin="testStaticMemberJoinWithUnknownInstanceIdAndKnownMemberId",
)
def test_an_unknown_instance_id_hides_a_known_member() -> None:
    bench = Bench().static("m1").stable("m1")
    refused = bench.join("m1", instance_id="nobody")
    assert (refused.error, refused.response.member_id) == (Error.UNKNOWN_MEMBER_ID, bench.id_of("m1"))


@rule("Static members: one that leaves its instance id out is taken by its member id, and stays static")
def test_a_member_id_is_enough() -> None:
    bench = Bench().static("m1").stable("m1")
    assert bench.heartbeat("m1", instance_id=None).error is Error.NONE
    assert bench.join("m1", instance_id=None).error is Error.NONE
    assert bench.group.static_member_id("i1") == bench.id_of("m1")


@rule(
    "Static members: none survives its group becoming Empty or Dead",
    origin="testStaticMemberRejoinWithLeaderIdAndUnexpectedDeadGroup"
    " testStaticMemberRejoinWithLeaderIdAndUnexpectedEmptyGroup"
    " testStaticMemberReJoinWithIllegalStateAsUnknownMember",
)
def test_a_former_static_member_is_a_stranger() -> None:
    bench = Bench().static("m1").stable("m1")
    bench.leave("m1")
    assert bench.join("m1").error is Error.UNKNOWN_MEMBER_ID
    assert bench.join("m1b", instance_id="i1").response.generation_id == 3
    bench.unload()
    assert bench.join("m1b", instance_id="i1").error is Error.COORDINATOR_NOT_AVAILABLE


# ---------------------------------------------------------------- coming back without the id, Stable


@rule(
    "Static members: coming back in Stable with the same protocol selected, without rebalance, the assignment kept",
    origin="testReplaceStaticMemberInStableStateNoError testStaticMemberRejoinAsFollowerWithUnknownMemberId",
)
def test_a_restarted_follower_finds_its_place_as_it_was() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    old_id = bench.id_of("m2")
    back = bench.join("m2b", instance_id="i2").response
    assert (back.generation_id, back.leader, back.members, back.skip_assignment) == (2, bench.id_of("m1"), [], False)
    assert back.member_id != old_id
    assert (bench.state, bench.sync("m2b", instance_id="i2").response.assignment) == (GroupState.STABLE, b"m2-2")
    assert (bench.last(MemberRemoved).replaced_by_member_id, bench.last(MemberJoined).replaces_member_id) == (
        back.member_id,
        old_id,
    )


@rule(
    "Static members: a leader that comes back is told its new id and to skip the assignment from v9, before that its"
    " old id as leader's and no members",
    origin="testReplaceStaticMemberInStableStateSucceeds testStaticMemberRejoinWithLeaderIdAndUnknownMemberId",
)
@pytest.mark.parametrize("v", [5, 8, 9])
def test_a_restarted_leader_runs_no_assignor(v: int) -> None:
    bench = Bench().static("m1").stable("m1", "m2")
    old_id = bench.id_of("m1")
    back = bench.join("m1b", instance_id="i1", v=v).response
    knows = v >= 9
    assert (back.leader, back.skip_assignment) == (back.member_id if knows else old_id, knows)
    assert [member.member_id for member in back.members] == ([bench.id_of("m2"), back.member_id] if knows else [])
    assert (bench.leader, back.generation_id) == ("m1b", 2)


@rule("Static members: a leader's next JoinGroup rebalances, whatever its first answer told it")
def test_a_restarted_leader_leads_although_it_was_answered_otherwise() -> None:
    bench = Bench().static("m1").stable("m1", "m2")
    bench.join("m1b", instance_id="i1", v=8)
    assert bench.join("m1b", instance_id="i1", v=8).is_parked


@rule("Static members: every return gives another id", origin="testGetDifferentStaticMemberIdAfterEachRejoin")
def test_each_return_has_an_id_of_its_own() -> None:
    bench = Bench().static("m1").stable("m1")
    ids = {bench.join("m1", "", instance_id="i1").response.member_id for _ in range(5)}
    assert len(ids) == 5


@rule(
    "Static members: the newcomer has the old one's client id and host",
    origin="testReplaceGroupInstance",
)
def test_the_replacement_is_known_by_its_predecessors_client() -> None:
    bench = Bench().static("m1").stable("m1")
    bench.join("other-name", instance_id="i1")
    described = bench.describe().members
    assert [(member.client_id, member.client_host) for member in described] == [("m1", HOST)]


@rule(
    "Static members: who returns is held to the old session timeout until its next heartbeat, then to its own",
    origin="staticMemberRejoinWithUpdatedSessionAndRebalanceTimeoutsAndPersistChange",
)
def test_a_return_takes_over_timeouts_bit_by_bit() -> None:
    bench = Bench().static("m1").stable("m1")
    bench.at(4_000)
    bench.join("m1b", instance_id="i1", session_ms=20_000, rebalance_ms=90_000)
    assert bench.deadlines()["m1b"] == 14_000
    assert bench.member("m1b").rebalance_timeout_ms == 90_000
    bench.at(5_000)
    bench.heartbeat("m1b", instance_id="i1")
    assert bench.deadlines()["m1b"] == 25_000


@rule("Static members: the session timer of the old id is gone")
def test_the_old_ids_timer_expires_nobody() -> None:
    bench = Bench().static("m1").stable("m1")
    bench.at(4_000)
    bench.join("m1b", instance_id="i1")
    bench.tick(10_000)
    assert bench.members == ["m1b"]


@rule(
    "Static members: protocols changed without changing the one selected are stored without a rebalance",
    origin="testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWhileSelectProtocolUnchanged",
)
def test_a_return_with_one_more_protocol_changes_nothing() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    assert bench.join("m2b", instance_id="i2", protocols=["sticky", "range"]).response.generation_id == 2
    assert (list(bench.member("m2b").protocols), bench.state) == (["sticky", "range"], GroupState.STABLE)


@rule(
    "Static members: protocols that change the one selected rebalance",
    origin="testReplaceStaticMemberInStableStateWithUpdatedProtocolTriggersRebalance"
    " testStaticMemberRejoinWithUnknownMemberIdAndChangeOfProtocolWithSelectedProtocolChanged",
)
def test_a_return_that_changes_the_vote_rebalances() -> None:
    bench = Bench().static("m2")
    for client in ("m1", "m2"):
        bench.client(client, protocols=["range", "sticky"])
    bench.stable("m1", "m2")
    assert bench.join("m2b", instance_id="i2", protocols=["sticky"]).is_parked
    assert bench.state is GroupState.PREPARING_REBALANCE


@rule("Static members: without a common protocol the return is refused and the old id lives on")
def test_a_refused_return_fences_nobody() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    assert bench.join("m2b", instance_id="i2", protocols=["sticky"]).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.heartbeat("m2").error is Error.NONE


@rule("Static members: an old id that had not synced stays awaited and costs a rebalance at the sync timeout")
def test_the_ghost_of_a_replaced_id_is_awaited_in_vain() -> None:
    bench = Bench().static("m2")
    for client in ("m1", "m2"):
        bench.client(client, rebalance_ms=3_000)
    bench.completing("m1", "m2").sync("m1", plan=["m1", "m2"])
    bench.join("m2b", instance_id="i2", rebalance_ms=3_000)
    bench.sync("m2b", instance_id="i2")
    assert bench.deadlines()["sync"] == 3_000
    bench.tick(3_000)
    assert (bench.state, bench.members) == (GroupState.PREPARING_REBALANCE, ["m1", "m2b"])


# ---------------------------------------------------------------- coming back in the other states


@rule(
    "Static members: coming back in CompletingRebalance always rebalances",
    origin="testReplaceStaticMemberInCompletingRebalanceStateTriggersRebalance",
)
def test_a_return_while_the_leader_is_awaited_rebalances() -> None:
    bench = Bench().static("m2").completing("m1", "m2", "m3")
    waiting = bench.sync("m3")
    assert bench.join("m2b", instance_id="i2").is_parked
    assert (waiting.error, bench.state) == (Error.REBALANCE_IN_PROGRESS, GroupState.PREPARING_REBALANCE)


@rule(
    "Static members: coming back in PreparingRebalance it waits with the others",
    origin="testStaticMemberFenceDuplicateRejoinedFollower",
)
def test_a_return_while_members_are_awaited_completes_the_join() -> None:
    bench = Bench().static("m2").preparing("m1", "m2")
    assert bench.join("m2b", instance_id="i2").response.generation_id == 3
    assert bench.heartbeat("m2").error is Error.FENCED_INSTANCE_ID


@rule(
    "Static members: a JoinGroup that waits under the old id is answered FENCED_INSTANCE_ID with that id",
    origin="testJoinGroupReplaceStaticMember",
)
def test_the_older_of_two_joins_is_fenced() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    older = bench.join("m2", protocols=["range", "sticky"])
    newer = bench.join("m2b", instance_id="i2")
    assert (older.error, older.response.member_id) == (Error.FENCED_INSTANCE_ID, bench.id_of("m2"))
    assert newer.is_parked


@rule(
    "Static members: a SyncGroup that waits under the old id is answered FENCED_INSTANCE_ID",
    origin="testStaticMemberFenceDuplicateSyncingFollowerAfterMemberIdChanged",
)
def test_the_older_of_two_syncs_is_fenced() -> None:
    bench = Bench().static("m2").completing("m1", "m2")
    older = bench.sync("m2")
    bench.join("m2b", instance_id="i2")
    assert (older.error, bench.sync("m2").error) == (Error.FENCED_INSTANCE_ID, Error.FENCED_INSTANCE_ID)


@rule(
    "Static members: the old id is fenced whatever it asks",
    origin="testStaticMemberFenceDuplicateRejoiningFollowerAfterMemberIdChanged",
)
def test_the_old_id_gets_nothing_any_more() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    bench.join("m2b", instance_id="i2")
    assert bench.join("m2").error is Error.FENCED_INSTANCE_ID
    assert bench.commit("m2").error is Error.FENCED_INSTANCE_ID
    assert bench.leave(("m2", "i2")).member_errors == [Error.FENCED_INSTANCE_ID]
    assert bench.heartbeat("m2", instance_id=None).error is Error.UNKNOWN_MEMBER_ID


@rule("Static members: one whose first JoinGroup still waited is no newcomer after its return, and lives on waiting")
def test_a_return_in_its_first_join_phase_does_not_expire() -> None:
    bench = Bench().static("m2")
    bench.client("m1", session_ms=900_000, rebalance_ms=900_000)
    bench.stable("m1")
    bench.enter("m2")
    bench.at(1_000)
    waiting = bench.join("m2b", instance_id="i2")
    bench.tick(400_000)
    assert waiting.is_parked


# ---------------------------------------------------------------- with a known id


@rule(
    "Static members: a leader that rejoins by its id rebalances",
    origin="testStaticMemberRejoinWithLeaderIdAndKnownMemberId",
)
def test_a_static_leader_rebalances_by_rejoining() -> None:
    bench = Bench().static("m1", "m2").stable("m1", "m2")
    rejoined = bench.join("m1")
    assert rejoined.is_parked
    bench.join("m2")
    assert (rejoined.response.generation_id, rejoined.response.skip_assignment) == (3, False)


@rule(
    "Static members: an unchanged follower that rejoins by its id is answered at once",
    origin="testStaticMemberRejoinAsFollowerWithKnownMemberIdAndNoProtocolChange",
)
def test_a_static_follower_is_answered_at_once() -> None:
    bench = Bench().static("m1", "m2").stable("m1", "m2")
    assert bench.join("m2").response.generation_id == 2


@rule(
    "Static members: a changed follower that rejoins by its id rebalances",
    origin="testStaticMemberRejoinWithFollowerIdAndChangeOfProtocol",
)
def test_a_changed_static_follower_rebalances() -> None:
    bench = Bench().static("m1", "m2").stable("m1", "m2")
    assert bench.join("m2", protocols=["range", "sticky"]).is_parked


@rule(
    "Static members: leader by id, follower under a new id with other protocols, in one phase",
    origin="testStaticMemberRejoinWithKnownLeaderIdToTriggerRebalanceAndFollowerWithChangeofProtocol",
)
def test_leader_and_returned_follower_meet_in_one_generation() -> None:
    bench = Bench().static("m1", "m2")
    for client in ("m1", "m2"):
        bench.client(client, protocols=["range", "sticky"])
    bench.stable("m1", "m2")
    leader = bench.join("m1")
    follower = bench.join("m2b", instance_id="i2", protocols=["sticky"])
    assert (leader.response.protocol_name, follower.response.generation_id) == ("sticky", 3)
    assert leader.response.leader == bench.id_of("m1")
