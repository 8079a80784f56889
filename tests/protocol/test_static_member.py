"""Static members (KIP-345, KIP-814) that come back under another id: what their group reports of it."""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.effects import MemberJoined, MemberRemoved
from rollcall.schemas.errors import Error
from tests.protocol.bench import Bench
from tests.protocol.rules import rule


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
