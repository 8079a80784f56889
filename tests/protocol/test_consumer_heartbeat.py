"""ConsumerGroupHeartbeat: its checks in order, what joining does, which epoch follows from what, and what is told."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.causes import CauseKind
from schemas.consumer_effects import TargetAssigned
from schemas.effects import RebalanceEnded, RebalanceStarted
from schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

UNKNOWN, FENCED, INVALID = Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH, Error.INVALID_REQUEST


@rule("Consumer heartbeat: what is wrong with the request itself", origin="testConsumerHeartbeatRequestValidation")
@pytest.mark.parametrize(
    ("epoch", "said", "message"),
    [
        (0, {"member_id": " "}, "MemberId can't be empty."),
        (-1, {"member_id": "", "v": 0}, "MemberId can't be empty."),
        (1, {"member_id": "", "v": 0}, "MemberId can't be empty."),
        (0, {"group_id": " "}, "GroupId can't be empty."),
        (0, {"instance_id": ""}, "InstanceId can't be empty."),
        (0, {"rack_id": ""}, "RackId can't be empty."),
        (0, {"rebalance_timeout_ms": -1}, "RebalanceTimeoutMs must be provided in first request."),
        (0, {"owned": None}, "TopicPartitions must be empty when (re-)joining."),
        (0, {"owned": {"t1": [0]}}, "TopicPartitions must be empty when (re-)joining."),
        (0, {"subscribed_topic_names": None}, "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null"),
        (-2, {"instance_id": None}, "InstanceId can't be null."),
        (-3, {}, "MemberEpoch is invalid."),
    ],
)
def test_a_malformed_request_is_refused_by_name(epoch: int, said: dict[str, Any], message: str) -> None:
    bench = ConsumerBench()
    usual: dict[str, Any] = {"rebalance_timeout_ms": 500, "subscribed_topic_names": ["t1"], "owned": {}}
    answer = bench.heartbeat("m1", epoch, **(usual | said))
    assert (answer.error, answer.response.error_message[: len(message)]) == (INVALID, message)
    assert not bench.group.is_known


@rule("Consumer heartbeat: an assignor that is not configured is refused, in a leave too")
@pytest.mark.parametrize("epoch", [0, 1, -1])
def test_an_unknown_assignor_is_refused(epoch: int) -> None:
    answer = ConsumerBench().join("m1", "t1", server_assignor="") if epoch == 0 else None
    answer = answer or ConsumerBench().heartbeat("m1", epoch, server_assignor="sticky")
    assert answer.error is Error.UNSUPPORTED_ASSIGNOR
    assert answer.response.error_message.endswith("Supported assignors: uniform, range.")


@rule("Consumer heartbeat: v0 may leave its id to the coordinator", origin="testMemberIdGeneration")
def test_a_member_without_an_id_is_given_one() -> None:
    bench = ConsumerBench()
    answer = bench.join("m1", "t1", member_id="", v=0)
    assert (answer.error, answer.epoch, len(answer.response.member_id)) == (Error.NONE, 2, 22)
    assert list(bench.consumer.members) == [answer.response.member_id]


@rule("Consumer heartbeat: an unknown group is GROUP_ID_NOT_FOUND unless it is joined", origin="testUnknownGroupId")
@pytest.mark.parametrize("epoch", [1, -1])
def test_an_unknown_group_can_only_be_joined(epoch: int) -> None:
    assert ConsumerBench().heartbeat("m1", epoch).error is Error.GROUP_ID_NOT_FOUND


@rule("Consumer heartbeat: an unknown member is UNKNOWN_MEMBER_ID", origin="testUnknownMemberIdJoinsConsumerGroup")
@pytest.mark.parametrize("epoch", [1, -1])
def test_a_stranger_with_an_epoch_is_unknown(epoch: int) -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.heartbeat("m2", epoch).error is UNKNOWN


@rule(
    "Consumer heartbeat: another epoch is fenced, but the one before of a member that owns no more than it may",
    origin="testConsumerGroupMemberEpochValidation",
)
def test_epochs_are_fenced() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    bench.beat("m1")
    bench.beat("m1", {"t1": [0, 1]})
    assert (bench.epochs["m1"], bench.member("m1").previous_epoch) == (3, 2)
    assert bench.heartbeat("m1", 4).error is FENCED
    assert bench.heartbeat("m1", 1, {}).error is FENCED
    assert bench.heartbeat("m1", 2).error is FENCED
    assert bench.heartbeat("m1", 2, {"t1": [0, 1, 2]}).error is FENCED
    assert bench.heartbeat("m1", 2, {"t1": [1]}).epoch == 3
    assert bench.heartbeat("m1", 2, {}).epoch == 3
    assert "m1" in bench.consumer.members


@rule(
    "Consumer heartbeat: epoch 0 of a member is never fenced, raises no epoch, and acknowledges all it was to give up",
    origin="testMemberCanRejoinWithEpochZeroInStableState testMemberCanRejoinWithEpochZeroInUnrevokedPartitionsState "
    "testMemberCanRejoinWithEpochZeroInUnreleasedPartitionsState",
)
def test_a_member_rejoins_in_every_state() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
    assert bench.join("m1", "t1").assigned == {"t1": [0, 1, 2, 3]}
    assert bench.join("m2", "t1").assigned == {}
    assert bench.join("m2", "t1").assigned == {}
    bench.beat("m1")
    rejoined = bench.join("m1", "t1")
    assert (rejoined.epoch, rejoined.assigned) == (3, {"t1": [0, 1]})
    assert bench.epoch == 3
    assert bench.beat("m2").assigned == {"t1": [2, 3]}


@rule(
    "Consumer heartbeat: a request that comes twice is answered the same and changes nothing",
    origin="testDuplicateFullHeartbeatInStableState testDuplicateFullHeartbeatInUnrevokedPartitionsState "
    "testDuplicateFullHeartbeatInUnreleasedPartitionsState testDuplicateFullHeartbeatWithRevocationAck",
)
def test_a_repeated_request_is_answered_alike() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    full = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t1"]}
    bench.join("m1", "t1")
    assert bench.beat("m1", {"t1": [0, 1, 2, 3]}, **full).assigned == {"t1": [0, 1, 2, 3]}
    bench.join("m2", "t1")
    for _ in range(2):
        assert bench.beat("m1", {"t1": [0, 1, 2, 3]}, **full).assigned == {"t1": [0, 1]}
    for _ in range(2):
        answer = bench.heartbeat("m1", 2, {"t1": [0, 1]}, **full)
        assert (answer.epoch, answer.assigned) == (3, {"t1": [0, 1]})
    assert bench.epoch == 3


@rule("Consumer heartbeat: the first member of a new group has epoch 2", origin="testMemberJoinsEmptyConsumerGroup")
def test_the_first_member_is_given_everything() -> None:
    bench = ConsumerBench(topics={"t1": 2})
    answer = bench.join("m1", "t1")
    assert (answer.epoch, answer.assigned, answer.response.heartbeat_interval_ms) == (2, {"t1": [0, 1]}, 5000)
    assert (bench.state, bench.epoch) == ("Stable", 2)


@rule("Consumer heartbeat: who subscribes to nothing raises no epoch")
@pytest.mark.parametrize("said", [{}, {"subscribed_topic_names": None, "subscribed_topic_regex": ""}])
def test_a_member_without_topics_joins_at_the_current_epoch(said: dict[str, Any]) -> None:
    bench = ConsumerBench()
    assert (bench.join("m1", **said).epoch, bench.epoch, bench.state) == (1, 1, "Stable")
    assert bench.of(RebalanceStarted) == []


@rule(
    "Consumer heartbeat: a newcomer raises the epoch, is at it at once, and waits",
    origin="testNewJoiningMemberTriggersNewTargetAssignment",
)
def test_a_newcomer_brings_a_new_target() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
    answer = bench.join("m2", "t1")
    assert (answer.epoch, answer.assigned, bench.member("m2").state) == (3, {}, "unreleased")
    assert bench.targets() == {"m1": {"t1": [0, 1]}, "m2": {"t1": [2, 3]}}
    assert {target.member_id for target in bench.of(TargetAssigned)[-1].targets} == {"m1", "m2"}


@rule(
    "Consumer heartbeat: another set of names raises the epoch, the same set in another order does not",
    origin="testUpdatingSubscriptionTriggersNewTargetAssignment",
)
def test_subscriptions_are_sets() -> None:
    bench = ConsumerBench()
    bench.join("m1", "t1", "t2")
    assert bench.beat("m1", subscribed_topic_names=["t2", "t1", "t2"]).epoch == 2
    assert bench.beat("m1", {"t1": [0, 1, 2, 3]}, subscribed_topic_names=["t1"]).epoch == 3
    assert bench.of(RebalanceStarted)[-1].cause.kind is CauseKind.SUBSCRIPTION_CHANGED


@rule("Consumer heartbeat: the first subscription of a member that joined without one is part of its coming")
@pytest.mark.parametrize(
    ("after_ms", "kind", "joined"), [(300, "member_joined", 1), (6_000, "subscription_changed", 0)]
)
def test_a_member_that_joined_before_it_knew_its_topics_sets_off_a_rebalance_by_coming(
    after_ms: int, kind: str, joined: int
) -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.join("m2").epoch == 2
    bench.at(bench.now_ms + after_ms)
    assert bench.beat("m2", subscribed_topic_names=["t1"]).epoch == 3
    began = bench.of(RebalanceStarted)[-1]
    assert (began.cause.kind, began.cause.member_id, began.members_before) == (kind, "m2", 2 - joined)


@rule("Consumer heartbeat: assignor, rack and timeout of a member change without a new epoch")
@pytest.mark.parametrize("said", [{"server_assignor": "range"}, {"rack_id": "r"}, {"rebalance_timeout_ms": 7}])
def test_what_is_no_cause_of_a_rebalance(said: dict[str, Any]) -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.beat("m1", **said).epoch == 2
    name, value = next(iter(said.items()))
    assert getattr(bench.member("m1"), name) == value


@rule(
    "Consumer heartbeat: the assignment is told at epoch 0, when it changed, and in answer to a full request",
    origin="testConsumerGroupHeartbeatFullResponse",
)
def test_the_assignment_is_answered_where_it_may_be_news() -> None:
    bench = ConsumerBench(topics={"t1": 1}).with_members("m1")
    owned, names = {"t1": [0]}, ["t1"]
    assert bench.beat("m1").assigned is None
    assert bench.beat("m1", owned).assigned is None
    assert bench.beat("m1", owned, rebalance_timeout_ms=5).assigned is None
    assert bench.beat("m1", owned, subscribed_topic_names=names).assigned is None
    assert bench.beat("m1", rebalance_timeout_ms=5, subscribed_topic_names=names).assigned is None
    assert bench.beat("m1", owned, rebalance_timeout_ms=5, subscribed_topic_names=names).assigned == owned


@rule("Consumer heartbeat: a full group takes nobody", origin="testNewMemberIsRejectedWithMaximumMembersIsReached")
def test_a_full_group_is_full() -> None:
    bench = ConsumerBench(max_size=1)
    bench.join("m1", "t1", instance_id="i1")
    assert bench.heartbeat("m2", 9).error is Error.GROUP_MAX_SIZE_REACHED
    bench.leave("m1", -2, instance_id="i1")
    assert bench.join("m2", "t1", instance_id="i1").error is Error.GROUP_MAX_SIZE_REACHED
    assert bench.join("m1", "t1", instance_id="i1").error is Error.NONE


@rule("Consumer group: its state follows from epochs and members", origin="testConsumerGroupStates testGroupState")
def test_states() -> None:
    bench = ConsumerBench(topics={"t1": 4}, assignment_interval_ms=1000).with_members("m1")
    assert bench.state == "Stable"
    bench.join("m2", "t1")
    assert bench.state == "Assigning"
    bench.at(1000).beat("m1")
    assert bench.state == "Reconciling"
    bench.settle()
    bench.leave("m1")
    assert bench.state == "Assigning"
    bench.leave("m2")
    assert (bench.state, bench.epoch, bench.consumer.target_epoch) == ("Empty", 5, 3)


@rule("Consumer group: each epoch is one rebalance, told with its cause", origin="testConsumerGroupRebalanceSensor")
def test_each_epoch_is_a_rebalance() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    bench.at(100).beat("m1")
    bench.at(300).settle()
    reported = [(ended.to_generation_id, ended.outcome, ended.cause.client_id) for ended in bench.of(RebalanceEnded)]
    assert reported == [(2, "completed", "m1"), (3, "completed", "m2")]
    last = bench.of(RebalanceEnded)[-1]
    assert (last.slowest_client_id, last.slowest_wait_ms, last.joined) == ("m1", 300, ["m2"])


@rule(
    "Consumer group: within the assignment interval a newcomer has the old epoch and nothing; the first heartbeat "
    "after it assigns for all that changed",
    origin="testConsumerGroupAssignmentInterval testCanComputeNextTargetAssignment "
    "testCanComputeNextTargetAssignmentWithNoPreviousAssignmentTimestamp "
    "testCanComputeNextTargetAssignmentWithZeroAssignmentIntervalMs",
)
def test_the_assignment_interval() -> None:
    bench = ConsumerBench(topics={"t1": 4}, assignment_interval_ms=1000)
    assert bench.at(500).join("m1", "t1").assigned == {"t1": [0, 1, 2, 3]}
    answer = bench.at(600).join("m2", "t1")
    assert (answer.epoch, answer.assigned, bench.state) == (2, {}, "Assigning")
    bench.at(700).join("m3", "t1")
    assert bench.at(1499).beat("m1").epoch == 2
    assert bench.consumer.target_epoch == 2
    assert bench.at(1500).beat("m3").epoch == 4
    assert bench.consumer.target_epoch == 4


@rule("Consumer group: settings are read at each request", origin="testDynamicBrokerAndGroupConfigs "
      "testConsumerGroupDynamicConfigs")  # fmt: skip
def test_settings_take_effect_at_the_next_heartbeat() -> None:
    bench = ConsumerBench().with_members("m1")
    bench.set(session_timeout_ms=50_000, heartbeat_interval_ms=7_000)
    assert bench.at(1000).beat("m1").response.heartbeat_interval_ms == 7_000
    assert bench.member("m1").session_deadline_ms == 51_000
