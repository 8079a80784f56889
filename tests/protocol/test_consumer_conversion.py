"""Groups that change their protocol: upgraded while they go on, downgraded when the last consumer goes, or Empty."""

from __future__ import annotations

from typing import Any

import pytest

from coordinator_udfs.protocol.config import MigrationPolicy
from coordinator_udfs.protocol.consumer.effects import GroupTypeChanged
from coordinator_udfs.protocol.effects import RebalanceStarted, Reply
from coordinator_udfs.protocol.states import GroupState
from schemas.consumer_protocol import Assignment, TopicPartition, encode_assignment
from schemas.errors import Error
from schemas.messages import JoinGroupProtocol, SyncGroupAssignment
from tests.protocol.consumer_bench import ConsumerBench, identity
from tests.protocol.rules import rule


def classic(bench: ConsumerBench, *, user_data: bytes | None = None, protocol_type: str = "consumer") -> str:
    """One Stable classic member with all of t1, at generation 1; its member id."""
    reply = bench.join_classic("c1", "t1", member_id="", v=3, protocol_type=protocol_type)
    assert reply is not None
    owned = Assignment(tuple(TopicPartition("t1", p) for p in range(4)), user_data)
    plan = [SyncGroupAssignment(member_id=reply.member_id, assignment=encode_assignment(owned))]
    bench.sync("c1", member_id=reply.member_id, generation_id=1, protocol_type=protocol_type, assignments=plan)
    return reply.member_id


def mixed(session_timeout_ms: int = 45_000) -> tuple[ConsumerBench, str]:
    """A group upgraded by m1, which waits for its half; the id of its classic member."""
    bench = ConsumerBench(topics={"t1": 4}, session_timeout_ms=session_timeout_ms)
    member_id = classic(bench)
    bench.join("m1", "t1")
    return bench, member_id


# ---------------------------------------------------------------- Empty groups


@rule(
    "Conversion: an Empty group of either kind takes the other kind whatever the policy, begins anew and keeps offsets",
    origin="testConsumerGroupHeartbeatWithEmptyClassicGroup testClassicGroupJoinWithEmptyConsumerGroup",
)
def test_empty_groups_go_either_way() -> None:
    bench = ConsumerBench(topics={"t1": 1}, migration_policy=MigrationPolicy.DISABLED)
    member_id = classic(bench)
    bench.commit(member_id, 1, v=8)
    bench.leave_classic(identity(member_id))
    assert bench.join("m1", "t1").epoch == 2
    bench.leave("m1")
    reply = bench.join_classic("c2", "t1", member_id="", v=3)
    assert reply is not None
    assert (reply.generation_id, bench.state, list(bench.group.offsets)) == (1, "CompletingRebalance", [("t1", 0)])
    assert [(told.from_type, told.to_type, told.why) for told in bench.of(GroupTypeChanged)] == [
        ("classic", "consumer", "replaced"),
        ("consumer", "classic", "replaced"),
    ]


@rule("Conversion: a member id for an Empty consumer group is UNKNOWN_MEMBER_ID, and the group stays")
def test_an_id_for_an_empty_group_is_unknown() -> None:
    bench = ConsumerBench()
    bench.join("m1", "t1")
    bench.leave("m1")
    reply = bench.join_classic("c1")
    assert reply is not None
    assert (reply.error_code, bench.state, bench.epoch) == (Error.UNKNOWN_MEMBER_ID, "Empty", 3)


# ---------------------------------------------------------------- upgrade


@rule(
    "Upgrade: members keep id and generation; the newcomer raises the epoch by one",
    origin="testConsumerGroupHeartbeatWithStableClassicGroup testFromClassicGroup",
)
def test_a_consumer_joins_a_classic_group() -> None:
    bench, member_id = mixed()
    assert (bench.epoch, bench.consumer.target_epoch, bench.state) == (2, 2, "Reconciling")
    member = bench.member(member_id)
    assert (member.member_epoch, member.state, member.assigned) == (1, "stable", {"t1": dict.fromkeys(range(4), 1)})
    assert (member.session_deadline_ms, member.topics) == (10_000, ("t1",))
    told = bench.of(GroupTypeChanged)[-1]
    assert (told.why, told.generation_id, told.client_id) == ("upgraded", 1, "m1")
    assert [m.member_type for m in bench.describe().members] == [0, 1]


@rule(
    "Upgrade: who waits is told REBALANCE_IN_PROGRESS, with its id, and is in",
    origin="testConsumerGroupHeartbeatWithPreparingRebalanceClassicGroup "
    "testConsumerGroupHeartbeatWithCompletingRebalanceClassicGroup",
)
def test_parked_requests_are_answered() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    classic(bench)
    assert bench.join_classic("c2", "t1", member_id="", v=3) is None
    assert bench.join("m1", "t1").epoch == 2
    refused = [reply for reply in bench.of(Reply) if reply.error_code is Error.REBALANCE_IN_PROGRESS]
    assert [(reply.client_id, reply.member_id in bench.consumer.members) for reply in refused] == [("c2", True)]
    assert len(bench.consumer.members) == 3


@rule("Upgrade: in the very first join phase too, at epoch 1, by what each member names first")
def test_a_group_that_never_had_a_generation_is_upgraded() -> None:
    bench = ConsumerBench(topics={"t1": 4}, group_initial_rebalance_delay_ms=3000)
    assert bench.join_classic("c1", "t1", member_id="", v=3) is None
    told = bench.join("m1", "t1")
    assert (told.error, told.epoch, bench.state) == (Error.NONE, 2, "Reconciling")
    assert {m.member_epoch for m in bench.consumer.members.values()} == {1, 2}


@rule(
    "Upgrade: refused as GROUP_ID_NOT_FOUND by policy, protocol type and size, and nothing is disturbed",
    origin="testConsumerGroupHeartbeatWithNonEmptyClassicGroup",
)
@pytest.mark.parametrize(
    ("settings", "protocol_type", "why"),
    [
        ({"migration_policy": MigrationPolicy.DISABLED}, "consumer", "online upgrade is disabled."),
        ({"migration_policy": MigrationPolicy.DOWNGRADE}, "consumer", "online upgrade is disabled."),
        ({}, "connect", "the group does not use the consumer embedded protocol."),
    ],
)
def test_refused_upgrades(settings: dict[str, Any], protocol_type: str, why: str) -> None:
    bench = ConsumerBench(**settings)
    classic(bench, protocol_type=protocol_type)
    told = bench.join("m1", "t1")
    assert (told.error, told.response.error_message.partition("because ")[2]) == (Error.GROUP_ID_NOT_FOUND, why)
    assert (bench.state, bench.group.generation_id) == ("Stable", 1)
    assert bench.heartbeat("m1", 1).response.error_message == "Group g is not a consumer group."


@rule(
    "Upgrade: refused where an assignment carries an assignor's own data, or cannot be read",
    origin="testConsumerGroupHeartbeatWithCustomAssignorClassicGroup",
)
def test_custom_assignors_are_not_upgraded() -> None:
    bench = ConsumerBench()
    classic(bench, user_data=b"mine")
    told = bench.join("m1", "t1")
    assert told.error is Error.GROUP_ID_NOT_FOUND
    assert "custom assignor" in told.response.error_message
    bench = ConsumerBench()
    bench.join_classic("c1", member_id="", v=3, protocols=[JoinGroupProtocol(name="p", metadata=b"?")])
    assert "malformed" in bench.join("m1", "t1").response.error_message


@rule(
    "Upgrade: a consumer takes a classic member's place under the same id or instance id",
    origin="testConsumerGroupHeartbeatToClassicGroupFromExistingStaticMember "
    "testConsumerGroupHeartbeatToClassicGroupWithEmptyAssignmentMember "
    "testConsumerGroupHeartbeatFromExistingClassicStaticMember",
)
def test_a_consumer_takes_over() -> None:
    bench, member_id = mixed()
    bench.join(member_id, "t1")
    assert bench.member(member_id).classic is None
    bench.join_classic("c9", "t1", member_id="", group_instance_id="i9")
    assert bench.join("m9", "t1", instance_id="i9").error is Error.NONE
    assert bench.consumer.static_member_id("i9") == "m9"


# ---------------------------------------------------------------- downgrade


@rule(
    "Downgrade: when the last consumer goes, the classic members rebalance as a classic group",
    origin="testLastConsumerProtocolMemberLeavingConsumerGroup",
)
def test_the_last_consumer_leaves() -> None:
    bench, member_id = mixed()
    bench.leave("m1")
    assert bench.group.consumer is None
    assert (bench.state, bench.group.generation_id, bench.group.leader_id) == ("PreparingRebalance", 2, member_id)
    assert bench.of(GroupTypeChanged)[-1].why == "downgraded"
    assert bench.of(RebalanceStarted)[-1].cause.client_id == "m1"
    reply = bench.join_classic("c1", "t1", member_id=member_id)
    assert reply is not None
    assert (reply.generation_id, bench.state) == (3, "CompletingRebalance")


@rule(
    "Downgrade: the same by its session, its rebalance timeout, and an administrator",
    origin="testLastConsumerProtocolMemberSessionTimeoutInConsumerGroup "
    "testLastConsumerProtocolMemberRebalanceTimeoutInConsumerGroup "
    "testLastConsumerProtocolMemberLeavingConsumerGroupByAdminApi",
)
def test_the_last_consumer_is_removed() -> None:
    bench, member_id = mixed(session_timeout_ms=6_000)
    bench.tick(6_000)
    assert (bench.state, list(bench.group.members)) == ("PreparingRebalance", [member_id])
    bench, member_id = mixed()
    assert bench.leave_classic(identity("m1")) == [Error.NONE]
    assert bench.state == "PreparingRebalance"


@rule(
    "Downgrade: not where the policy forbids it or a classic group would be too large",
    origin="testNoConversionWhenSizeExceedsClassicMaxGroupSize testAllMembersUseClassicProtocolExcept",
)
@pytest.mark.parametrize(
    "settings", [{"migration_policy": MigrationPolicy.UPGRADE}, {"group_max_size": 1}], ids=["policy", "size"]
)
def test_no_downgrade(settings: dict[str, Any]) -> None:
    bench = ConsumerBench(topics={"t1": 4}, **settings)
    bench.join("m1", "t1")
    bench.join_classic("c1", "t1")
    bench.join_classic("c2", "t1")
    bench.leave("m1")
    assert (bench.state, bench.epoch) == ("Assigning", 5)


@rule(
    "Downgrade: a classic client in the place of the last static consumer needs no rebalance with a target that is new",
    origin="testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMember "
    "testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMemberWhenTargetAssignmentIsStale "
    "testLastStaticConsumerProtocolMemberReplacedByClassicProtocolMemberWhenTargetAssignmentIsMissing",
)
@pytest.mark.parametrize(("interval_ms", "state"), [(0, GroupState.STABLE), (15_000, GroupState.PREPARING_REBALANCE)])
def test_the_last_static_consumer_is_replaced(interval_ms: int, state: GroupState) -> None:
    bench = ConsumerBench(topics={"t1": 4}, assignment_interval_ms=interval_ms)
    bench.join("m1", "t1", instance_id="i1")
    bench.join_classic("c1", "t1", session_timeout_ms=100_000)
    reply = bench.join_classic("c2", "t1", member_id="", group_instance_id="i1")
    assert reply is not None
    assert (reply.error_code, bench.group.consumer, bench.group.state) == (Error.NONE, None, state)
    assert bench.group.generation_id == 3
    assert "c1" in bench.group.members


# ---------------------------------------------------------------- classic members: JoinGroup


@rule(
    "Classic members: refused by policy, size, type, and without a protocol in common",
    origin="testJoiningConsumerGroupThrowsExceptionIfGroupOverMaxSize "
    "testJoiningConsumerGroupThrowsExceptionIfProtocolIsNotSupported "
    "testClassicMemberJoinToConsumerGroupWithDisabledMigrationPolicy",
)
def test_refused_classic_members() -> None:
    inconsistent = Error.INCONSISTENT_GROUP_PROTOCOL

    def refused(bench: ConsumerBench, **said: Any) -> Error:
        reply = bench.join_classic("c9", "t1", **said)
        assert reply is not None
        response: Any = reply.response
        assert response.member_id == ""
        return reply.error_code

    bench = ConsumerBench(max_size=2)
    bench.join("m1", "t1")
    assert refused(bench, protocol_type="connect") is inconsistent
    assert refused(bench, protocols=[]) is inconsistent
    assert refused(bench, protocols=[JoinGroupProtocol(name="p", metadata=b"?")]) is Error.UNKNOWN_SERVER_ERROR
    bench.join_classic("c1", "t1")
    assert refused(bench) is Error.GROUP_MAX_SIZE_REACHED
    bench.set(max_size=9)
    metadata = bench.member("c1").classic.metadata  # type: ignore[union-attr]
    assert refused(bench, protocols=[JoinGroupProtocol(name="other", metadata=metadata)]) is inconsistent
    bench.set(migration_policy=MigrationPolicy.DISABLED)
    assert refused(bench, member_id="c1") is inconsistent
    bench.set(migration_policy=MigrationPolicy.BIDIRECTIONAL)
    reply = bench.join_classic("c1", session_timeout_ms=1)
    assert reply is not None
    assert reply.error_code is Error.INVALID_SESSION_TIMEOUT


@rule(
    "Classic members: a new one is told an id first, any id is taken, and the answer comes at once",
    origin="testJoiningConsumerGroupWithNewDynamicMember testJoiningConsumerGroupWithNewStaticMember",
)
def test_a_classic_client_joins() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    reply = bench.join_classic("c1", "t1", member_id="")
    assert reply is not None
    assert (reply.error_code, len(reply.member_id)) == (Error.MEMBER_ID_REQUIRED, 22)
    reply = bench.join_classic("c1", "t1")
    assert reply is not None
    response: Any = reply.response
    assert (reply.generation_id, response.leader, response.members) == (3, "", [])
    assert response.protocol_name == "range"
    assert [timer.deadline_ms for timer in bench.member("c1").timers.values()] == [30_000]
    static = bench.join_classic("c2", "t1", member_id="", group_instance_id="i2")
    assert static is not None
    assert (static.error_code, bench.consumer.static_member_id("i2")) == (Error.NONE, static.member_id)


@rule(
    "Classic members: static ones are replaced without an id, consumers too; with one their ids are checked",
    origin="testJoiningConsumerGroupReplacingExistingStaticMember "
    "testJoiningConsumerGroupWithExistingStaticMemberAndNewSubscription "
    "testStaticMemberJoiningConsumerGroupWithUnknownInstanceId "
    "testStaticMemberJoiningConsumerGroupWithUnmatchedMemberId",
)
def test_static_classic_members() -> None:
    bench = ConsumerBench(topics={"t1": 4, "t2": 4})
    bench.join("m1", "t1")
    bench.join("m2", "t1", instance_id="i2")
    epoch = bench.epoch
    same = bench.join_classic("c2", "t1", member_id="", group_instance_id="i2")
    assert same is not None
    assert (bench.epoch, "m2" in bench.consumer.members) == (epoch, False)
    bench.join_classic("c3", "t2", member_id="", group_instance_id="i2")
    assert bench.epoch == epoch + 1
    for instance_id, error in (("i9", Error.UNKNOWN_MEMBER_ID), ("i2", Error.FENCED_INSTANCE_ID)):
        reply = bench.join_classic("c4", "t1", member_id="c4", group_instance_id=instance_id)
        assert reply is not None
        assert reply.error_code is error


@rule(
    "Classic members: an eager client gives up at once, a cooperative one in a second round",
    origin="testReconciliationInJoiningConsumerGroupWithEagerProtocol "
    "testReconciliationInJoiningConsumerGroupWithCooperativeProtocol",
)
@pytest.mark.parametrize("is_cooperative", [False, True])
def test_rounds(is_cooperative: bool) -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m0", "t9")
    bench.join_classic("c1", "t1")
    assert bench.synced("c1") == {"t1": [0, 1, 2, 3]}
    bench.join("m1", "t1")
    assert bench.classic_heartbeat("c1") is Error.REBALANCE_IN_PROGRESS
    owned = {"t1": [0, 1, 2, 3]} if is_cooperative else None
    reply = bench.join_classic("c1", "t1", owned=owned)
    assert reply is not None
    kept = bench.targets()["c1"]
    assert bench.synced("c1") == kept
    assert bench.member("c1").state == ("unrevoked" if is_cooperative else "stable")
    if is_cooperative:
        assert bench.classic_heartbeat("c1") is Error.REBALANCE_IN_PROGRESS
        bench.join_classic("c1", "t1", owned=kept)
        assert bench.synced("c1") == kept
    assert bench.classic_heartbeat("c1") is Error.NONE


# ---------------------------------------------------------------- classic members: the rest


@rule(
    "Classic members: SyncGroup's checks in order",
    origin="testClassicGroupSyncToConsumerGroup… testClassicMembersSupportedProtocols",
)
def test_syncing() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    bench.join_classic("c1", "t1", member_id="", group_instance_id="i1")
    member_id = bench.consumer.static_member_id("i1")
    known = {"member_id": member_id, "generation_id": 3}
    assert bench.sync("c1", **known).error is Error.NONE
    assert bench.sync("c1", **known | {"protocol_type": None}).error is Error.INCONSISTENT_GROUP_PROTOCOL
    assert bench.sync("c1", **known | {"group_instance_id": "i9"}).error is Error.UNKNOWN_MEMBER_ID
    assert bench.sync("c1", **known | {"member_id": "x", "group_instance_id": "i1"}).error is Error.FENCED_INSTANCE_ID
    assert bench.sync("m1", generation_id=2).error is Error.UNKNOWN_MEMBER_ID
    assert bench.sync("c1", **known | {"generation_id": 2}).error is Error.ILLEGAL_GENERATION
    assert bench.sync("c1", **known | {"protocol_name": "p"}).error is Error.INCONSISTENT_GROUP_PROTOCOL
    bench.join("m2", "t1")
    assert bench.sync("c1", **known).error is Error.REBALANCE_IN_PROGRESS


@rule(
    "Classic members: Heartbeat keeps them alive, and asks them back where a JoinGroup would take them on",
    origin="testClassicGroupHeartbeatToConsumer… testWaitingOnUnreleasedPartition",
)
def test_heartbeats() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    bench.join_classic("c1", "t1")
    assert bench.at(4_000).classic_heartbeat("c1") is Error.NONE
    assert bench.member("c1").session_deadline_ms == 14_000
    assert bench.classic_heartbeat("m1", generation_id=2) is Error.UNKNOWN_MEMBER_ID
    assert bench.classic_heartbeat("c1", generation_id=9) is Error.ILLEGAL_GENERATION
    assert bench.classic_heartbeat("c1", group_instance_id="i9") is Error.UNKNOWN_MEMBER_ID
    bench.beat("m1")
    assert bench.classic_heartbeat("c1") is Error.NONE
    bench.beat("m1", {"t1": [0, 1]})
    assert bench.classic_heartbeat("c1") is Error.REBALANCE_IN_PROGRESS


@rule(
    "Classic members: within the assignment interval nobody asks them back",
    origin="testClassicGroupSyncToConsumerGroup… testClassicGroupHeartbeatToConsumer…",
)
def test_the_interval_asks_nobody_back() -> None:
    bench = ConsumerBench(topics={"t1": 4}, assignment_interval_ms=5_000)
    bench.join("m1", "t1")
    bench.at(5_000).join_classic("c1", "t1")
    bench.at(5_100).join("m2", "t1")
    assert bench.classic_heartbeat("c1") is Error.NONE
    assert bench.sync("c1").error is Error.NONE


@rule(
    "Classic members: removed by their own session timeout, and when they do not rejoin or sync in time",
    origin="testConsumerGroupMemberUsingClassicProtocolFencedWhenSessionTimeout "
    "testConsumerGroupMemberUsingClassicProtocolFencedWhenJoinTimeout",
)
def test_timers_of_classic_members() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    bench.join_classic("c1", "t1", session_timeout_ms=6_000)
    bench.join_classic("c2", "t1", session_timeout_ms=100_000, rebalance_timeout_ms=7_000)
    bench.tick(6_000)
    assert list(bench.consumer.members) == ["m1", "c2"]
    bench.tick(7_000)
    assert list(bench.consumer.members) == ["m1"]
    bench.join_classic("c3", "t1", session_timeout_ms=100_000, rebalance_timeout_ms=9_000)
    bench.sync("c3")
    bench.join("m2", "t1")
    bench.at(8_000).classic_heartbeat("c3")
    bench.at(12_000).classic_heartbeat("c3")
    bench.tick(16_999)
    assert "c3" in bench.consumer.members
    bench.tick(17_000)
    assert "c3" not in bench.consumer.members


@rule(
    "Classic members: LeaveGroup removes consumers too, each with its own error, and raises the epoch once at most",
    origin="testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroup "
    "testConsumerGroupMemberUsingClassicProtocolBatchLeaveGroupUpdatingSubscriptionMetadata "
    "testClassicGroupLeaveToConsumerGroupWithoutValidLeaveGroupMember",
)
def test_leaving_together() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    bench.join("m2", "t1", instance_id="i2")
    bench.join_classic("c1", "t1")
    epoch = bench.epoch
    assert bench.leave_classic(identity("x"), identity("x", "i2"), identity("m1", "i9")) == [
        Error.UNKNOWN_MEMBER_ID,
        Error.FENCED_INSTANCE_ID,
        Error.UNKNOWN_MEMBER_ID,
    ]
    assert bench.epoch == epoch
    assert bench.leave_classic(identity("c1"), identity("", "i2"), identity("c1")) == [Error.NONE] * 3
    assert (list(bench.consumer.members), bench.epoch) == (["m1"], epoch + 1)
