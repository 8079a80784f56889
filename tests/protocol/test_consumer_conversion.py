"""Groups that change their protocol: upgraded while they go on, downgraded when the last consumer goes, or Empty."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.coordinator_udfs.protocol.config import MigrationPolicy
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import RebalanceStarted
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench, identity
from tests.protocol.mixed_groups import classic, mixed
from tests.protocol.rules import rule
from tests.requests import assignment, flat

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
    assert (reply.response.generation_id, bench.state, list(bench.group.offsets)) == (
        1,
        "CompletingRebalance",
        [("t1", 0)],
    )
    assert [(change.from_type, change.to_type, change.why) for change in bench.of(GroupTypeChanged)] == [
        ("classic", "consumer", "replaced"),
        ("consumer", "classic", "replaced"),
    ]


@rule("Conversion: a member id for an Empty consumer group is UNKNOWN_MEMBER_ID, and the group stays")
def test_an_id_for_an_empty_group_is_unknown() -> None:
    bench = ConsumerBench().with_members("m1")
    bench.leave("m1")
    reply = bench.join_classic("c1")
    assert (reply.error, bench.state, bench.epoch) == (Error.UNKNOWN_MEMBER_ID, "Empty", 3)


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
    change = bench.of(GroupTypeChanged)[-1]
    assert (change.why, change.generation_id, change.client_id) == ("upgraded", 1, "m1")
    assert [m.member_type for m in bench.describe().members] == [0, 1]


@rule("Upgrade: in the very first join phase too, at epoch 1, by what each member names first")
def test_a_group_that_never_had_a_generation_is_upgraded() -> None:
    bench = ConsumerBench(topics={"t1": 4}, group_initial_rebalance_delay_ms=3000)
    assert bench.join_classic("c1", "t1", member_id="", v=3).is_parked
    answer = bench.join("m1", "t1")
    assert (answer.error, answer.epoch, bench.state) == (Error.NONE, 2, "Reconciling")
    assert {m.member_epoch for m in bench.consumer.members.values()} == {1, 2}


@rule("Upgrade: of a group that all left in its first join phase nobody is told epoch 0 (KAFKA-21581, KAFKA-21584)")
@pytest.mark.parametrize("wanted", [{"subscribed_topic_names": []}, {"subscribed_topic_regex": "t.*"}])
def test_a_group_that_nobody_is_left_in_is_upgraded(wanted: dict[str, Any]) -> None:
    """The same requests had Kafka 4.4.0 answer epoch 0."""
    bench = ConsumerBench(topics={"t1": 4}, group_initial_rebalance_delay_ms=3000)
    given = bench.join_classic("c1", "t1", member_id="", v=9)
    assert bench.join_classic("c1", "t1", member_id=given.response.member_id, v=9).is_parked
    bench.at(100).leave_classic(identity(given.response.member_id))
    answer = bench.at(200).join("m1", **wanted)
    assert (answer.error, answer.epoch > 0) == (Error.NONE, True)


@rule("Upgrade: in the first join phase a static member that comes back as a consumer is never told epoch 0")
def test_a_static_member_of_no_generation_comes_back_as_a_consumer() -> None:
    bench = ConsumerBench(topics={"t1": 4}, group_initial_rebalance_delay_ms=3000)
    assert bench.join_classic("c1", "t1", member_id="", v=9, group_instance_id="i1").is_parked
    answer = bench.join("m1", "t1", instance_id="i1")
    assert (answer.error, answer.epoch, bench.state) == (Error.NONE, 2, "Stable")
    assert bench.member("m1").assigned == {"t1": dict.fromkeys(range(4), 2)}


@rule("Upgrade: a rebalance that it breaks off is done, also if the consumer changes nothing (KAFKA-21582)")
def test_an_upgrade_during_a_rebalance_leaves_no_old_target() -> None:
    """The same requests had Kafka 4.4.0 answer epoch 1 for good, and c2 had no partition."""
    bench = ConsumerBench(topics={"t1": 4})
    first = bench.join_classic("c1", "t1", member_id="", v=9, group_instance_id="i1")
    owned = assignment(flat({"t1": range(4)}))
    bench.sync("c1", member_id=first.response.member_id, generation_id=1, assigned={first.response.member_id: owned})
    assert bench.join_classic("c2", "t1", member_id="", v=3).is_parked, "it waits for c1"
    answer = bench.join("m1", "t1", instance_id="i1")
    assert (answer.error, bench.epoch, bench.consumer.target_epoch) == (Error.NONE, 2, 2)
    assert sorted(len((member.target or {}).get("t1", ())) for member in bench.consumer.members.values()) == [2, 2]
    broken_off, is_ongoing = bench.of(RebalanceStarted)[-2:]
    assert is_ongoing.cause == broken_off.cause


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
    answer = bench.join("m1", "t1")
    assert (answer.error, answer.response.error_message.partition("because ")[2]) == (Error.GROUP_ID_NOT_FOUND, why)
    assert (bench.state, bench.group.generation_id) == ("Stable", 1)
    assert bench.heartbeat("m1", 1).response.error_message == "Group g is not a consumer group."


@rule(
    "Upgrade: refused where an assignment carries an assignor's own data, or cannot be read",
    origin="testConsumerGroupHeartbeatWithCustomAssignorClassicGroup",
)
def test_custom_assignors_are_not_upgraded() -> None:
    bench = ConsumerBench()
    classic(bench, user_data=b"mine")
    answer = bench.join("m1", "t1")
    assert answer.error is Error.GROUP_ID_NOT_FOUND
    assert "custom assignor" in answer.response.error_message
    bench = ConsumerBench()
    bench.join_classic("c1", member_id="", v=3, protocols={"p": b"?"})
    assert "malformed" in bench.join("m1", "t1").response.error_message


@rule("Upgrade: who waited and was answered although it was refused has a session again, and expires by it")
def test_a_refused_upgrade_leaves_no_member_that_cannot_expire() -> None:
    bench = ConsumerBench()
    malformed = {"p": b"?"}
    newcomer: dict[str, Any] = {"member_id": "", "v": 5, "protocols": malformed, "session_timeout_ms": 300_000}
    bench.join_classic("c1", group_instance_id="i1", **(newcomer | {"session_timeout_ms": 6_000}))
    first = next(iter(bench.group.members))
    again = newcomer | {"member_id": first, "session_timeout_ms": 6_000}
    bench.join_classic("c2", group_instance_id="i2", **newcomer)
    bench.join_classic("c1", group_instance_id="i1", **again)
    bench.join_classic("c3", group_instance_id="i3", **newcomer)
    bench.join_classic("c1", group_instance_id="i1", **again)
    assert bench.at(15_000).group.members[first].session_deadline_ms is None, "it waits for c2"
    assert bench.join("m1", "t1").error is Error.GROUP_ID_NOT_FOUND
    assert bench.group.members[first].session_deadline_ms == 21_000
    assert first not in bench.at(21_001).group.members


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
    assert (reply.response.generation_id, bench.state) == (3, "CompletingRebalance")


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
    bench = ConsumerBench(topics={"t1": 4}, **settings).with_members("m1")
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
    assert (reply.error, bench.group.consumer, bench.group.state) == (Error.NONE, None, state)
    assert bench.group.generation_id == 3
    assert "c1" in bench.group.members
