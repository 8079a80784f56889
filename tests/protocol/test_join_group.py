"""JoinGroup: its checks in order, new members, and what known members get in each state."""

from __future__ import annotations

import re

import pytest

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.step import step
from schemas.effects import MemberIdGiven, RequestDropped
from schemas.errors import Error
from schemas.messages import JoinGroupResponseMember
from tests import requests
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

A_UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"


# ---------------------------------------------------------------- checks, in order


@rule("JoinGroup: an empty group id is INVALID_GROUP_ID, before all else", origin="testInvalidGroupId")
def test_an_empty_group_id_is_refused_and_the_id_echoed() -> None:
    refused = Bench("", group_min_session_timeout_ms=6_000).join("m1", "some-id", session_ms=1)
    assert (refused.error, refused.response.member_id) == (Error.INVALID_GROUP_ID, "some-id")


@rule(
    "JoinGroup: a session timeout outside the bounds is INVALID_SESSION_TIMEOUT; the bounds themselves are inside",
    origin="testJoinGroupSessionTimeoutTooSmall testJoinGroupSessionTimeoutTooLarge",
)
@pytest.mark.parametrize(
    ("session_ms", "error"),
    [
        (5_999, Error.INVALID_SESSION_TIMEOUT),
        (6_000, Error.MEMBER_ID_REQUIRED),
        (30_000, Error.MEMBER_ID_REQUIRED),
        (30_001, Error.INVALID_SESSION_TIMEOUT),
        (-1, Error.INVALID_SESSION_TIMEOUT),
    ],
)
def test_the_session_timeout_must_lie_within_the_bounds(session_ms: int, error: Error) -> None:
    bench = Bench(group_min_session_timeout_ms=6_000, group_max_session_timeout_ms=30_000)
    assert bench.join("m1", session_ms=session_ms).error is error
    assert bench.group.is_known is (error is Error.MEMBER_ID_REQUIRED)


@rule("JoinGroup: the session timeout is checked before the group, and the id echoed")
def test_a_bad_session_timeout_hides_that_the_member_is_unknown() -> None:
    refused = Bench().join("m1", "some-id", session_ms=0)
    assert (refused.error, refused.response.member_id) == (Error.INVALID_SESSION_TIMEOUT, "some-id")


@rule("JoinGroup: an id for an unknown group is UNKNOWN_MEMBER_ID", origin="testJoinGroupUnknownMemberNewGroup")
def test_an_id_is_not_enough_to_create_a_group() -> None:
    bench = Bench()
    refused = bench.join("m1", "some-id")
    assert (refused.error, refused.response.member_id) == (Error.UNKNOWN_MEMBER_ID, "some-id")
    assert not bench.group.is_known


@rule("JoinGroup: an unknown id in a living group", origin="testJoinGroupUnknownConsumerExistingGroup")
@pytest.mark.parametrize("state", ["empty", "preparing", "completing", "stable"])
def test_an_unknown_id_is_refused_in_every_state(state: str) -> None:
    bench = Bench()
    bench.empty() if state == "empty" else getattr(bench, state)("m1", "m2")
    before = bench.state
    refused = bench.join("x", "some-id")
    assert (refused.error, refused.response.member_id) == (Error.UNKNOWN_MEMBER_ID, "some-id")
    assert bench.state is before


@rule(
    "JoinGroup: Dead is COORDINATOR_NOT_AVAILABLE, a given id is echoed",
    origin="testJoinGroupUnknownConsumerNewDeadGroup testExistingMemberJoinDeadGroup",
)
@pytest.mark.parametrize("member_id", ["", "some-id"])
def test_a_dead_group_takes_nobody(member_id: str) -> None:
    bench = Bench().stable("m1").unload()
    refused = bench.join("x", member_id)
    assert (refused.error, refused.response.member_id) == (Error.COORDINATOR_NOT_AVAILABLE, member_id)


@rule("JoinGroup: another protocol type is refused", origin="testClassicGroupJoinInconsistentProtocolType")
def test_the_protocol_type_of_the_members_binds_newcomers() -> None:
    refused = Bench().stable("m1").join("m2", protocol_type="connect")
    assert (refused.error, refused.response.member_id) == (Error.INCONSISTENT_GROUP_PROTOCOL, "")


@rule(
    "JoinGroup: an empty protocol type or list is INCONSISTENT_GROUP_PROTOCOL, and leaves an Empty group behind",
    origin="testJoinGroupWithEmptyProtocolType testJoinGroupWithEmptyGroupProtocol",
)
@pytest.mark.parametrize(("protocol_type", "protocols"), [("", ["range"]), ("consumer", []), ("", [])])
def test_a_first_member_must_bring_a_type_and_a_protocol(protocol_type: str, protocols: list[str]) -> None:
    bench = Bench()
    refused = bench.join("m1", protocol_type=protocol_type, protocols=protocols)
    assert refused.error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.group.is_known
    assert (bench.state, bench.generation, bench.members) == (GroupState.EMPTY, 0, [])


@rule("JoinGroup: no protocol that all support is refused", origin="testJoinGroupInconsistentGroupProtocol")
def test_a_newcomer_must_bring_a_protocol_common_to_all() -> None:
    bench = Bench()
    bench.client("m1", protocols=["range", "sticky"])
    bench.client("m2", protocols=["sticky"])
    bench.stable("m1", "m2")
    assert bench.join("m3", protocols=["range"]).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.join("m3", protocols=["range", "sticky"]).error is Error.MEMBER_ID_REQUIRED


@rule(
    "JoinGroup: the second step is checked again, and the id refused is awaited on",
    origin="testJoinGroupSecondJoinInconsistentProtocol",
)
def test_a_second_step_without_a_common_protocol_is_refused() -> None:
    bench = Bench().stable("m1")
    bench.join("m2")
    refused = bench.join("m2", protocols=["sticky"])
    assert (refused.error, refused.response.member_id) == (Error.INCONSISTENT_GROUP_PROTOCOL, bench.id_of("m2"))
    assert bench.id_of("m2") in bench.group.pending
    assert bench.join("m2").is_parked


@rule("JoinGroup: the protocols are checked before the membership")
def test_an_unknown_id_with_bad_protocols_is_refused_for_the_protocols() -> None:
    refused = Bench().stable("m1").join("x", "some-id", protocols=["sticky"])
    assert (refused.error, refused.response.member_id) == (Error.INCONSISTENT_GROUP_PROTOCOL, "some-id")


@rule("JoinGroup: a member counts among those who must support its new protocols, by its old ones")
def test_the_only_member_cannot_change_to_a_protocol_it_did_not_list() -> None:
    bench = Bench().stable("m1")
    assert bench.join("m1", protocols=["sticky"]).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.state is GroupState.STABLE


@rule("JoinGroup: an emptied group takes any protocol type", origin="testSupportsProtocols")
def test_the_type_of_an_emptied_group_is_kept_and_not_enforced() -> None:
    bench = Bench().empty()
    assert bench.group.protocol_type == "consumer"
    bench.enter("c1", protocol_type="connect", protocols=["default"])
    assert bench.group.protocol_type == "connect"


@rule(
    "JoinGroup: an error names no protocol, generation, leader or member",
    origin="testJoinGroupProtocolTypeIsNotProvidedWhenAnErrorOccurs",
)
@pytest.mark.parametrize(("v", "no_name"), [(5, ""), (6, ""), (7, None), (9, None)])
def test_an_error_answer_carries_nothing_else(v: int, no_name: str | None) -> None:
    refused = Bench().stable("m1").join("x", "some-id", v=v).response
    assert (refused.protocol_type, refused.protocol_name) == (None, no_name)
    assert (refused.generation_id, refused.leader, refused.members) == (-1, "", [])


@rule("JoinGroup: success names the protocol type", origin="testJoinGroupReturnsTheProtocolType")
def test_a_success_names_the_protocol_type_and_the_protocol() -> None:
    joined = Bench().enter("m1").response
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")


@rule("JoinGroup: an empty protocol name is null from v7")
@pytest.mark.parametrize(("v", "name"), [(6, ""), (7, None)])
def test_a_protocol_without_a_name_may_be_chosen(v: int, name: str | None) -> None:
    assert Bench().enter("m1", v=v, protocols=[""]).response.protocol_name == name


# ---------------------------------------------------------------- new members


@rule("JoinGroup: a new id is the client id, a dash and a UUID")
def test_a_dynamic_id_begins_with_the_client_id() -> None:
    bench = Bench()
    bench.join("billing")
    assert re.fullmatch(f"billing-{A_UUID}", bench.id_of("billing"))


@rule("JoinGroup: a new id of a static member begins with its instance id")
def test_a_static_id_begins_with_the_instance_id() -> None:
    bench = Bench()
    bench.join("billing", instance_id="rack-7")
    assert re.fullmatch(f"rack-7-{A_UUID}", bench.id_of("billing"))


@rule("JoinGroup: a recording's own id is handed out instead")
def test_a_replay_hands_out_the_recorded_id() -> None:
    bench = Bench()
    assert bench.join("m1", recorded_member_id="m1-recorded").response.member_id == "m1-recorded"


@rule("JoinGroup: the first step is answered MEMBER_ID_REQUIRED from v4, without leaving the state")
@pytest.mark.parametrize("v", [4, 5, 9])
def test_a_dynamic_client_is_given_its_id_first(v: int) -> None:
    bench = Bench()
    answer = bench.join("m1", v=v, session_ms=7_000)
    assert (answer.error, answer.response.member_id) == (Error.MEMBER_ID_REQUIRED, bench.id_of("m1"))
    assert (bench.state, bench.members, bench.deadlines()["m1"]) == (GroupState.EMPTY, [], 7_000)
    assert bench.last(MemberIdGiven).client_id == "m1"


@rule("JoinGroup: up to v3 the first JoinGroup makes a member")
@pytest.mark.parametrize("v", [0, 1, 2, 3])
def test_an_old_client_joins_in_one_step(v: int) -> None:
    bench = Bench()
    joined = bench.join("m1", v=v)
    assert (joined.error, joined.response.leader) == (Error.NONE, bench.id_of("m1"))
    assert bench.members == ["m1"]


@rule("JoinGroup: the first member of an Empty group is answered after the initial delay, here none")
def test_with_no_delay_the_first_member_is_a_generation_at_once() -> None:
    bench = Bench()
    joined = bench.enter("m1")
    assert (joined.answered_at_ms, joined.response.generation_id) == (0, 1)
    assert bench.state is GroupState.COMPLETING_REBALANCE


@rule("JoinGroup: v0 takes its session timeout for the rebalance timeout")
def test_v0_has_no_rebalance_timeout_of_its_own() -> None:
    bench = Bench()
    bench.join("m1", v=0, session_ms=7_000)
    assert bench.member("m1").rebalance_timeout_ms == 7_000
    bench.join("m1", v=1, session_ms=7_000, rebalance_ms=9_000, protocols=["range", "sticky"])
    assert bench.member("m1").rebalance_timeout_ms == 9_000


@rule("JoinGroup: a protocol named twice counts once, with its first bytes (Kafka's group hangs; not copied)")
def test_a_protocol_named_twice_counts_once() -> None:
    protocols = [("default", b"first"), ("default", b"second")]
    request = requests.join("m1", group="g", protocol_type="connect", protocols=protocols)
    group = Group("g")
    step(group, request, 0, GroupConfig(group_initial_rebalance_delay_ms=0))
    assert [member.protocols for member in group.members.values()] == [{"default": b"first"}]
    assert (group.state, group.protocol_name) == (GroupState.COMPLETING_REBALANCE, "default")


# ---------------------------------------------------------------- the leader's answer


@rule("JoinGroup: the leader alone is told the members, with their bytes for the selected protocol")
def test_only_the_leader_learns_who_the_members_are() -> None:
    bench = Bench()
    bench.client("m1", protocols={"range": b"r1", "sticky": b"s1"}, protocol_type="connect")
    bench.client("m2", protocols={"sticky": b"s2"}, protocol_type="connect", instance_id="i2")
    bench.enter("m1")
    follower = bench.enter("m2")
    leader = bench.join("m1")
    assert leader.response.protocol_name == "sticky"
    assert leader.response.members == [
        JoinGroupResponseMember(member_id=bench.id_of("m1"), group_instance_id=None, metadata=b"s1"),
        JoinGroupResponseMember(member_id=bench.id_of("m2"), group_instance_id="i2", metadata=b"s2"),
    ]
    assert (follower.response.members, follower.response.leader) == ([], bench.id_of("m1"))
    assert (follower.response.generation_id, leader.response.skip_assignment) == (2, False)


# ---------------------------------------------------------------- known members


@rule("JoinGroup: in PreparingRebalance a known member's is parked, and the phase ends with the last of them")
def test_in_preparing_a_member_waits_for_the_others() -> None:
    bench = Bench().preparing("m1", "m2", "m3")
    second = bench.join("m2")
    assert second.is_parked
    third = bench.join("m3")
    assert (second.error, third.error, bench.generation) == (Error.NONE, Error.NONE, 3)


@rule("JoinGroup: a second one while the first waits takes its place, and the first is never answered")
def test_a_repeated_join_replaces_the_one_that_waits() -> None:
    bench = Bench().stable("m1", "m2")
    first, second = bench.join("m1"), bench.join("m1")
    assert (first.is_dropped, second.is_parked) == (True, True)
    assert bench.last(RequestDropped).why == "replaced by a later JoinGroup of the same member"
    bench.join("m2")
    assert (first.reply, second.error) == (None, Error.NONE)


@rule("JoinGroup: in PreparingRebalance it renews no session, and takes over both timeouts")
def test_a_join_in_preparing_takes_over_what_it_says() -> None:
    bench = Bench().preparing("m1", "m2")
    bench.at(4_000)
    bench.client("m3", rebalance_ms=1)
    bench.enter("m3")
    bench.at(5_000)
    bench.join("m1", session_ms=20_000, rebalance_ms=70_000)
    assert bench.deadlines()["m1"] == 10_000
    assert (bench.member("m1").session_timeout_ms, bench.member("m1").rebalance_timeout_ms) == (20_000, 70_000)


@rule("JoinGroup: unchanged in CompletingRebalance it is answered at once, the leader's with the members")
def test_a_lost_answer_is_given_again() -> None:
    bench = Bench().completing("m1", "m2")
    leader, follower = bench.join("m1", session_ms=1, rebalance_ms=1), bench.join("m2")
    assert (leader.response.generation_id, len(leader.response.members)) == (2, 2)
    assert (follower.response.generation_id, follower.response.members) == (2, [])
    assert (bench.state, bench.member("m1").session_timeout_ms) == (GroupState.COMPLETING_REBALANCE, 10_000)


@rule(
    "JoinGroup: changed protocols in CompletingRebalance rebalance, and parked SyncGroups are told to rejoin",
    origin="testJoinGroupExistingMemberUpdatedMetadataTriggersRebalance",
)
def test_a_changed_join_while_the_leader_is_awaited_starts_over() -> None:
    bench = Bench().completing("m1", "m2", "m3")
    synced = bench.sync("m3")
    changed = bench.join("m2", protocols=["range", "sticky"])
    assert (synced.error, changed.is_parked) == (Error.REBALANCE_IN_PROGRESS, True)
    assert bench.state is GroupState.PREPARING_REBALANCE


@rule(
    "JoinGroup: the leader's in Stable always rebalances, changed or not",
    origin="testJoinGroupAsExistingLeaderTriggersRebalanceInStableState"
    " testJoinGroupFromUnchangedLeaderShouldRebalance",
)
def test_the_leader_rebalances_by_joining_again() -> None:
    bench = Bench().stable("m1", "m2")
    assert bench.join("m1").is_parked
    assert bench.state is GroupState.PREPARING_REBALANCE


@rule(
    "JoinGroup: a follower's in Stable rebalances if its protocols changed, in bytes, order or names",
    origin="testJoinGroupAsExistingMemberWithUpdatedMetadataTriggersRebalanceInStableState",
)
@pytest.mark.parametrize(
    "protocols",
    [
        {"range": b"new", "sticky": b"s"},
        {"range": b"r", "sticky": b"new"},
        {"sticky": b"s", "range": b"r"},
        {"range": b"r"},
        {"range": b"r", "sticky": b"s", "roundrobin": b""},
    ],
)
def test_a_follower_that_changed_anything_rebalances(protocols: dict[str, bytes]) -> None:
    bench = Bench()
    for client in ("m1", "m2"):
        bench.client(client, protocols={"range": b"r", "sticky": b"s"}, protocol_type="connect")
    bench.stable("m1", "m2")
    assert bench.join("m2", protocols=protocols).is_parked
    assert bench.state is GroupState.PREPARING_REBALANCE


@rule(
    "JoinGroup: an unchanged follower's in Stable is answered with the current generation",
    origin="testJoinGroupExistingMemberDoesNotTriggerRebalanceInStableState"
    " testJoinGroupFromUnchangedFollowerDoesNotRebalance",
)
def test_an_unchanged_follower_is_answered_at_once() -> None:
    bench = Bench().stable("m1", "m2")
    bench.at(4_000)
    answered = bench.join("m2", session_ms=1, rebalance_ms=1).response
    assert (answered.generation_id, answered.leader, answered.members) == (2, bench.id_of("m1"), [])
    assert (answered.skip_assignment, bench.state) == (False, GroupState.STABLE)
    assert (bench.deadlines()["m2"], bench.member("m2").session_timeout_ms) == (10_000, 10_000)


@rule("JoinGroup: nobody is known in Empty", origin="testJoinGroupExistingMemberInEmptyState")
def test_a_former_member_of_an_emptied_group_is_unknown() -> None:
    bench = Bench().empty()
    assert bench.join("gone").error is Error.UNKNOWN_MEMBER_ID
    assert bench.state is GroupState.EMPTY
