"""Members of the classic protocol in a consumer group: JoinGroup, SyncGroup, Heartbeat, LeaveGroup, their timers."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.config import MigrationPolicy
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench, identity
from tests.protocol.rules import rule

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
        assert reply.response.member_id == ""
        return reply.error

    bench = ConsumerBench(max_size=2).with_members("m1")
    assert refused(bench, protocol_type="connect") is inconsistent
    assert refused(bench, protocols={}) is inconsistent
    assert refused(bench, protocols={"p": b"?"}) is inconsistent
    bench.join_classic("c1", "t1")
    assert refused(bench) is Error.GROUP_MAX_SIZE_REACHED
    bench.set(max_size=9)
    metadata = bench.member("c1").classic.metadata  # type: ignore[union-attr]
    assert refused(bench, protocols={"other": metadata}) is inconsistent
    bench.set(migration_policy=MigrationPolicy.DISABLED)
    assert refused(bench, member_id="c1") is inconsistent
    bench.set(migration_policy=MigrationPolicy.BIDIRECTIONAL)
    reply = bench.join_classic("c1", session_timeout_ms=1)
    assert reply.error is Error.INVALID_SESSION_TIMEOUT


@rule(
    "Classic members: a new one is given an id first, any id is taken, and the answer comes at once",
    origin="testJoiningConsumerGroupWithNewDynamicMember testJoiningConsumerGroupWithNewStaticMember",
)
def test_a_classic_client_joins() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
    reply = bench.join_classic("c1", "t1", member_id="")
    assert (reply.error, len(reply.response.member_id)) == (Error.MEMBER_ID_REQUIRED, 22)
    reply = bench.join_classic("c1", "t1")
    assert (reply.response.generation_id, reply.response.leader, reply.response.members) == (3, "", [])
    assert reply.response.protocol_name == "range"
    assert [timer.deadline_ms for timer in bench.member("c1").timers.values()] == [30_000]
    static = bench.join_classic("c2", "t1", member_id="", group_instance_id="i2")
    assert (static.error, bench.consumer.static_member_id("i2")) == (Error.NONE, static.response.member_id)


@rule(
    "Classic members: static ones are replaced without an id, consumers too; with one their ids are checked",
    origin="testJoiningConsumerGroupReplacingExistingStaticMember "
    "testJoiningConsumerGroupWithExistingStaticMemberAndNewSubscription "
    "testStaticMemberJoiningConsumerGroupWithUnknownInstanceId "
    "testStaticMemberJoiningConsumerGroupWithUnmatchedMemberId",
)
def test_static_classic_members() -> None:
    bench = ConsumerBench(topics={"t1": 4, "t2": 4}).with_members("m1")
    bench.join("m2", "t1", instance_id="i2")
    epoch = bench.epoch
    bench.join_classic("c2", "t1", member_id="", group_instance_id="i2")
    assert (bench.epoch, "m2" in bench.consumer.members) == (epoch, False)
    bench.join_classic("c3", "t2", member_id="", group_instance_id="i2")
    assert bench.epoch == epoch + 1
    for instance_id, error in (("i9", Error.UNKNOWN_MEMBER_ID), ("i2", Error.FENCED_INSTANCE_ID)):
        reply = bench.join_classic("c4", "t1", member_id="c4", group_instance_id=instance_id)
        assert reply.error is error


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
    bench.join_classic("c1", "t1", owned=owned)
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
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
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
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
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
    bench = ConsumerBench(topics={"t1": 4}, assignment_interval_ms=5_000).with_members("m1")
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
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
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
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
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
