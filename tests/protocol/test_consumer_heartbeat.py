"""ConsumerGroupHeartbeat: what is refused and why, which fields its rebalance has, and what needs none."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import TargetAssigned
from rollcall.schemas.effects import RebalanceEnded, RebalanceStarted
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

INVALID = Error.INVALID_REQUEST


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


@rule("Consumer heartbeat: who unsubscribes and subscribes again has come only once")
@pytest.mark.parametrize("topics", [[], ["t1"]])
def test_a_member_that_subscribes_again_at_once_joins_once(topics: list[str]) -> None:
    bench = ConsumerBench().with_members("m1")
    bench.join("m2", *topics)
    for said in (["t1"], [], ["t1"]):
        bench.beat("m2", subscribed_topic_names=said)
    kinds = [began.cause.kind for began in bench.of(RebalanceStarted)]
    assert kinds.count(CauseKind.MEMBER_JOINED) == 2
    assert bench.of(RebalanceStarted)[-1].members_before == 2
    assert bench.of(RebalanceEnded)[-1].members_after == 2


@rule("Consumer heartbeat: rack and timeout of a member, and a vote that decides nothing, change without a new epoch")
@pytest.mark.parametrize("said", [{"server_assignor": "uniform"}, {"rack_id": "r"}, {"rebalance_timeout_ms": 7}])
def test_what_is_no_cause_of_a_rebalance(said: dict[str, Any]) -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.beat("m1", **said).epoch == 2
    name, value = next(iter(said.items()))
    assert getattr(bench.member("m1"), name) == value


@rule("Consumer heartbeat: a full group takes nobody", origin="testNewMemberIsRejectedWithMaximumMembersIsReached")
def test_a_full_group_is_full() -> None:
    bench = ConsumerBench(max_size=1)
    bench.join("m1", "t1", instance_id="i1")
    assert bench.heartbeat("m2", 9).error is Error.GROUP_MAX_SIZE_REACHED
    bench.leave("m1", -2, instance_id="i1")
    assert bench.join("m1", "t1", instance_id="i1").error is Error.NONE


@rule("Consumer group: each epoch is one rebalance, reported with its cause", origin="testConsumerGroupRebalanceSensor")
def test_each_epoch_is_a_rebalance() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    bench.at(100).beat("m1")
    bench.at(300).settle()
    reported = [(ended.to_generation_id, ended.outcome, ended.cause.client_id) for ended in bench.of(RebalanceEnded)]
    assert reported == [(2, "completed", "m1"), (3, "completed", "m2")]
    last = bench.of(RebalanceEnded)[-1]
    assert (last.slowest_client_id, last.slowest_wait_ms, last.joined) == ("m1", 300, ["m2"])


@rule("Consumer group: settings are read at each request", origin="testDynamicBrokerAndGroupConfigs "
      "testConsumerGroupDynamicConfigs")  # fmt: skip
def test_settings_take_effect_at_the_next_heartbeat() -> None:
    bench = ConsumerBench().with_members("m1")
    bench.set(session_timeout_ms=50_000, heartbeat_interval_ms=7_000)
    assert bench.at(1000).beat("m1").response.heartbeat_interval_ms == 7_000
    assert bench.member("m1").session_deadline_ms == 51_000
