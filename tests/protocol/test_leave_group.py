"""LeaveGroup: member by member, in every state, with one rebalance after all of them."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.effects import RebalanceStarted
from schemas.errors import Error
from schemas.messages import LeaveGroupResponseMember
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

# ---------------------------------------------------------------- the whole request


@rule("LeaveGroup: an empty group id is INVALID_GROUP_ID on top, with no members", origin="testInvalidGroupId")
@pytest.mark.parametrize("v", [2, 5])
def test_an_empty_group_id_is_refused(v: int) -> None:
    sent = Bench("").leave("m1", v=v)
    assert (sent.error, sent.response.error_code, sent.response.members) == (
        Error.INVALID_GROUP_ID,
        Error.INVALID_GROUP_ID,
        [],
    )


@rule(
    "LeaveGroup: an unknown group is UNKNOWN_MEMBER_ID for each member, NONE on top",
    origin="testLeaveGroupUnknownGroup testStaticMembersLeaveUnknownGroup testLeaveGroupInvalidGroup",
)
def test_nobody_can_leave_an_unknown_group() -> None:
    bench = Bench()
    sent = bench.leave("m1", ("", "i1"))
    assert (sent.response.error_code, sent.member_errors) == (Error.NONE, [Error.UNKNOWN_MEMBER_ID] * 2)
    assert not bench.group.is_known


@rule("LeaveGroup: Dead is COORDINATOR_NOT_AVAILABLE on top, with no members", origin="testLeaveDeadGroup")
def test_nobody_can_leave_a_dead_group() -> None:
    bench = Bench().stable("m1").unload()
    sent = bench.leave("m1")
    assert (sent.response.error_code, sent.response.members) == (Error.COORDINATOR_NOT_AVAILABLE, [])


@rule("LeaveGroup: no members named is NONE")
def test_a_batch_of_nobody_is_fine() -> None:
    bench = Bench().stable("m1")
    assert (bench.leave().response.error_code, bench.state) == (Error.NONE, GroupState.STABLE)


@rule("LeaveGroup: up to v2 the one member's error is on top", origin="testLeaveGroupUnknownMemberIdExistingGroup")
@pytest.mark.parametrize(("v", "on_top"), [(0, Error.UNKNOWN_MEMBER_ID), (2, Error.UNKNOWN_MEMBER_ID), (3, Error.NONE)])
def test_an_unknown_id_is_refused_where_the_version_says_so(v: int, on_top: Error) -> None:
    assert Bench().stable("m1").leave("stranger", v=v).response.error_code is on_top


# ---------------------------------------------------------------- one member


@rule("LeaveGroup: the last member's leaves the group Empty, one generation on", origin="testValidLeaveGroup")
@pytest.mark.parametrize("v", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize("state", ["completing", "stable"])
def test_the_last_member_leaves_an_empty_group(v: int, state: str) -> None:
    bench = getattr(Bench(), state)("m1")
    assert bench.leave("m1", v=v).error is Error.NONE
    assert (bench.state, bench.generation, bench.members, bench.leader) == (GroupState.EMPTY, 2, [], None)
    assert bench.group.protocol_type == "consumer"
    assert bench.group.protocol_name is None


@rule("LeaveGroup: a member id that is nobody's, and the empty one, are UNKNOWN_MEMBER_ID")
@pytest.mark.parametrize("identity", [("", None), ("", "nobody"), ("stranger", None), ("m1", "nobody")])
def test_a_stranger_cannot_leave(identity: tuple[str, str | None]) -> None:
    bench = Bench().stable("m1")
    sent = bench.leave(identity)
    assert (sent.member_errors, bench.state) == ([Error.UNKNOWN_MEMBER_ID], GroupState.STABLE)


@rule(
    "LeaveGroup: a known instance id with a foreign member id is FENCED_INSTANCE_ID",
    origin="testLeaveGroupWithFencedInstanceId",
)
@pytest.mark.parametrize("member_id", ["m2", "stranger"])
def test_an_instance_id_cannot_be_taken_along(member_id: str) -> None:
    bench = Bench().static("m1").stable("m1", "m2")
    assert bench.leave((member_id, "i1")).member_errors == [Error.FENCED_INSTANCE_ID]
    assert bench.members == ["m1", "m2"]


@rule(
    "LeaveGroup: an instance id alone removes that static member, and the empty member id is echoed",
    origin="testLeaveGroupStaticMemberWithUnknownMemberId",
)
def test_an_administrator_removes_by_instance_id() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    sent = bench.leave(("", "i2"))
    assert sent.response.members == [LeaveGroupResponseMember(member_id="", group_instance_id="i2")]
    assert (bench.members, bench.state) == (["m1"], GroupState.PREPARING_REBALANCE)


@rule("LeaveGroup: a static member leaves by its member id alone, too")
@pytest.mark.parametrize("v", [2, 5])
def test_a_static_member_leaves_without_its_instance_id(v: int) -> None:
    bench = Bench().static("m1").stable("m1")
    bench.leave("m1", v=v)
    assert bench.members == []
    assert bench.group.static_member_id("i1") is None


@rule("LeaveGroup: a waiting JoinGroup is answered UNKNOWN_MEMBER_ID with an empty member id")
def test_a_waiting_join_is_answered_when_its_member_leaves() -> None:
    bench = Bench().stable("m1", "m2")
    waiting = bench.join("m1")
    bench.leave("m1", by="admin")
    assert (waiting.error, waiting.response.member_id) == (Error.UNKNOWN_MEMBER_ID, "")


@rule("LeaveGroup: a waiting SyncGroup is never answered")
def test_a_waiting_sync_is_dropped_when_its_member_leaves() -> None:
    bench = Bench().completing("m1", "m2")
    waiting = bench.sync("m2")
    bench.leave("m2", by="admin")
    assert (waiting.reply, waiting.is_dropped) == (None, True)


@rule("LeaveGroup: no timer of the member is left")
def test_who_left_has_no_deadline() -> None:
    bench = Bench().stable("m1", "m2")
    bench.leave("m2")
    assert "m2" not in bench.deadlines()


# ---------------------------------------------------------------- ids given out


@rule("LeaveGroup: an id given out may leave, whatever instance id is named", origin="testPendingMembersLeaveGroup")
@pytest.mark.parametrize("instance_id", [None, "anything"])
def test_an_id_given_out_leaves(instance_id: str | None) -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    assert bench.leave(("m2", instance_id)).member_errors == [Error.NONE]
    assert (bench.group.pending, "m2" in bench.deadlines()) == ({}, False)


@rule("LeaveGroup: one of an id given out alone makes a Stable or completing group rebalance")
@pytest.mark.parametrize("state", ["completing", "stable"])
def test_the_leave_of_an_id_given_out_rebalances(state: str) -> None:
    bench = getattr(Bench(), state)("m1")
    bench.join("m2")
    bench.leave("m2")
    assert bench.state is GroupState.PREPARING_REBALANCE
    assert bench.last(RebalanceStarted).cause.client_id == "m2"


@rule("LeaveGroup: an id given out that leaves an Empty group changes nothing else")
def test_the_leave_of_an_id_given_out_keeps_empty_empty() -> None:
    bench = Bench()
    bench.join("m1")
    bench.leave("m1", v=2)
    assert (bench.state, bench.generation) == (GroupState.EMPTY, 0)


@rule("LeaveGroup: an id given out that leaves ends the join phase that waited for it alone")
def test_the_leave_of_an_id_given_out_completes_the_join() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    waiting = bench.join("m1")
    bench.at(500)
    bench.leave("m2")
    assert (waiting.answered_at_ms, waiting.response.generation_id) == (500, 2)


# ---------------------------------------------------------------- batches


@rule("LeaveGroup: a batch of instance ids", origin="testStaticMembersValidBatchLeaveGroup")
def test_an_administrator_removes_several_with_one_rebalance() -> None:
    bench = Bench()
    for number in (2, 3):
        bench.client(f"m{number}", instance_id=f"i{number}")
    bench.stable("m1", "m2", "m3")
    rebalances = len(bench.of(RebalanceStarted))
    assert bench.leave(("", "i2"), ("", "i3")).member_errors == [Error.NONE, Error.NONE]
    assert (bench.members, len(bench.of(RebalanceStarted))) == (["m1"], rebalances + 1)


@rule("LeaveGroup: a batch of unknown instance ids", origin="testStaticMembersUnknownInstanceBatchLeaveGroup")
def test_unknown_instances_are_refused_and_the_others_go() -> None:
    bench = Bench().static("m2").stable("m1", "m2")
    assert bench.leave(("", "i9"), ("", "i2")).member_errors == [Error.UNKNOWN_MEMBER_ID, Error.NONE]


@rule("LeaveGroup: a batch with a fenced one", origin="testStaticMembersFencedInstanceBatchLeaveGroup")
def test_a_fenced_member_is_refused_and_the_others_go() -> None:
    bench = Bench()
    for number in (2, 3):
        bench.client(f"m{number}", instance_id=f"i{number}")
    bench.stable("m1", "m2", "m3")
    sent = bench.leave(("foreign", "i2"), ("m3", "i3"))
    assert (sent.member_errors, bench.members) == ([Error.FENCED_INSTANCE_ID, Error.NONE], ["m1", "m2"])


@rule("LeaveGroup: a batch of ids given out", origin="testPendingMemberBatchLeaveGroup")
def test_ids_given_out_leave_in_a_batch() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    bench.join("m3")
    assert bench.leave("m2", "m3").member_errors == [Error.NONE, Error.NONE]
    assert bench.group.pending == {}


@rule("LeaveGroup: members and ids given out together", origin="testJoinedMemberPendingMemberBatchLeaveGroup")
def test_members_and_ids_given_out_leave_together() -> None:
    bench = Bench().stable("m1", "m2")
    bench.join("m3")
    assert bench.leave("m1", "m3", "m2").member_errors == [Error.NONE] * 3
    assert (bench.state, bench.generation, bench.group.pending) == (GroupState.EMPTY, 3, {})


@rule("LeaveGroup: … and strangers", origin="testJoinedMemberPendingMemberBatchLeaveGroupWithUnknownMember")
def test_strangers_among_them_are_refused() -> None:
    bench = Bench().stable("m1", "m2")
    bench.join("m3")
    sent = bench.leave("m2", "stranger", "m3")
    assert sent.member_errors == [Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.NONE]


@rule("LeaveGroup: a member named twice leaves once")
def test_the_second_time_in_a_batch_a_member_is_unknown() -> None:
    bench = Bench().static("m1").stable("m1")
    sent = bench.leave(("", "i1"), ("m1", "i1"), ("m1", None))
    assert sent.member_errors == [Error.NONE, Error.UNKNOWN_MEMBER_ID, Error.UNKNOWN_MEMBER_ID]


# ---------------------------------------------------------------- by state


@rule("LeaveGroup: in PreparingRebalance it ends the join phase if it was the last one awaited")
def test_a_leave_completes_the_join_that_waited_for_it() -> None:
    bench = Bench().preparing("m1", "m2")
    bench.leave("m2")
    assert (bench.state, bench.generation, bench.members) == (GroupState.COMPLETING_REBALANCE, 3, ["m1"])


@rule("LeaveGroup: in PreparingRebalance it starts no second rebalance")
def test_a_leave_in_preparing_goes_on_waiting_for_the_others() -> None:
    bench = Bench().preparing("m1", "m2", "m3")
    started = bench.of(RebalanceStarted)
    bench.leave("m2")
    assert (bench.of(RebalanceStarted), bench.state) == (started, GroupState.PREPARING_REBALANCE)


@rule("LeaveGroup: the leader gone, another member leads")
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_another_member_leads_when_the_leader_leaves(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2", "m3")
    bench.leave("m1")
    assert bench.leader == "m2"


@rule("LeaveGroup: in CompletingRebalance the SyncGroups that wait are told to rejoin")
def test_a_leave_while_the_leader_is_awaited_starts_over() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    waiting = bench.sync("m2")
    bench.leave("m3")
    assert (waiting.error, bench.state) == (Error.REBALANCE_IN_PROGRESS, GroupState.PREPARING_REBALANCE)


@rule("LeaveGroup: the one who leaves is answered before anybody else")
def test_the_leaver_is_answered_first() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    bench.sync("m2")
    bench.leave("m3")
    assert [(client, error) for _, client, error in bench.replies()[-2:]] == [
        ("m3", Error.NONE),
        ("m2", Error.REBALANCE_IN_PROGRESS),
    ]
