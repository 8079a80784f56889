"""A member's way to its target: what it keeps, gives up, waits for and is given, and when its group looks at topics."""

from __future__ import annotations

from rollcall.schemas.causes import CauseKind
from rollcall.schemas.consumer_effects import MemberProgressed, TopicsSeen
from rollcall.schemas.effects import Assigned, RebalanceStarted, TopicPartitions
from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule


def two_members() -> ConsumerBench:
    """m1 has t1 and is to give half of it to m2, which waits."""
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    return bench


@rule(
    "Reconciliation: who shows that it has given up already is never asked to",
    origin="testStableToUnreleasedPartitionsWithOwnedPartitionsNotHavingRevokedPartitions",
)
def test_giving_up_can_be_shown_at_once() -> None:
    answer = (bench := two_members()).beat("m1", {"t1": [0, 1]})
    assert (answer.epoch, answer.assigned, bench.member("m1").state) == (3, {"t1": [0, 1]}, "stable")


@rule(
    "Reconciliation: after the acknowledgement a member goes to the latest target, which may take more",
    origin="testUnrevokedPartitionsToUnrevokedPartitions testUnrevokedPartitionsToUnreleasedPartitions "
    "testUnreleasedPartitionsToUnrevokedPartitions testUnreleasedPartitionsToStable "
    "testUnreleasedPartitionsToStableWithNewPartitions testUnreleasedPartitionsToUnreleasedPartitions",
)
def test_newer_targets_are_followed() -> None:
    bench = ConsumerBench(topics={"t1": 6}).with_members("m1", "m2")
    bench.beat("m1")
    bench.join("m3", "t1")
    kept = [p for p in (0, 1, 2) if p in bench.targets()["m1"]["t1"]]
    answer = bench.beat("m1", {"t1": [0, 1, 2]})
    assert (answer.epoch, answer.assigned, bench.member("m1").state) == (2, {"t1": kept}, "unrevoked")
    assert bench.beat("m1", {"t1": kept}).epoch == 4
    bench.settle()
    assert {m: len(member.assigned["t1"]) for m, member in bench.consumer.members.items()} == dict.fromkeys(
        ("m1", "m2", "m3"), 2
    )


@rule(
    "Reconciliation: a pending partition that the target gives back is given with the new epoch",
    origin="testUnrevokedPartitionsToStableWithReturnedPartitionsPendingRevocation",
)
def test_a_pending_partition_comes_back() -> None:
    bench = two_members()
    bench.beat("m1")
    bench.leave("m2")
    answer = bench.beat("m1", {"t1": [0, 1]})
    assert (answer.epoch, answer.assigned) == (4, {"t1": [0, 1, 2, 3]})
    assert bench.member("m1").assigned == {"t1": {0: 2, 1: 2, 2: 4, 3: 4}}


@rule(
    "Reconciliation: what a member subscribes to no longer is taken before a new target says so",
    origin="testStableToStableWithAssignmentTopicsNoLongerInSubscription "
    "testStableToUnrevokedPartitionsWithAssignmentTopicsNoLongerInSubscription "
    "testRemainsInUnrevokedPartitionsWithAssignmentTopicsNoLongerInSubscription",
)
def test_a_dropped_topic_is_taken_at_once() -> None:
    bench = ConsumerBench(topics={"t1": 1, "t2": 1}, assignment_interval_ms=1000)
    bench.join("m1", "t1", "t2")
    answer = bench.at(100).beat("m1", subscribed_topic_names=["t1"])
    assert (answer.epoch, answer.assigned, bench.member("m1").state) == (2, {"t1": [0]}, "unrevoked")
    assert bench.consumer.target_epoch == 2
    assert bench.beat("m1", subscribed_topic_names=[]).assigned == {}
    assert bench.member("m1").previous_epoch == 2


@rule(
    "Reconciliation: a partition is one member's at any time, also when moves are heard in another order",
    origin="testUpdateInvertedAssignment testUpdatingMemberUpdatesPartitionEpoch testAddPartitionEpochs "
    "testRemovePartitionEpochs testDeletingMemberRemovesPartitionEpoch "
    "testUpdatingMemberUpdatesPartitionEpochWhenPartitionIsReassignedBeforeBeingRevoked",
)
def test_owners() -> None:
    bench = two_members()
    owner = bench.consumer.owner_of
    assert [owner("t1", p) for p in range(4)] == ["m1"] * 4
    bench.beat("m1")
    assert [owner("t1", p) for p in range(4)] == ["m1"] * 4
    bench.beat("m1", {"t1": [0, 1]})
    assert [owner("t1", p) for p in range(4)] == ["m1", "m1", None, None]
    bench.beat("m2")
    bench.leave("m1")
    assert [owner("t1", p) for p in range(4)] == [None, None, "m2", "m2"]


@rule("Reconciliation: each step is reported, and what a member owns until it lets go")
def test_the_story_of_a_move() -> None:
    bench = two_members()
    bench.beat("m1")
    step = bench.of(MemberProgressed)[-1]
    assert (step.member_id, step.state, step.generation_id, step.target_epoch) == ("m1", "unrevoked", 2, 3)
    assert step.to_revoke == [TopicPartitions(topic="t1", partitions=[2, 3])]
    assert [assigned.member_id for assigned in bench.of(Assigned)] == ["m1"]
    bench.beat("m1", {"t1": [0, 1]})
    assert bench.of(Assigned)[-1].partitions == [TopicPartitions(topic="t1", partitions=[0, 1])]


# ---------------------------------------------------------------- topics


@rule(
    "Topics: a subscribed topic that grows, comes or goes raises the epoch at the next heartbeat of anybody",
    origin="testOnMetadataUpdate testMetadataRefreshDeadline testComputeMetadataHash",
)
def test_topics_that_change() -> None:
    bench = ConsumerBench(topics={"t1": 2})
    assert bench.join("m1", "t1", "t3").assigned == {"t1": [0, 1]}
    bench.set_topics(t1=3)
    assert bench.beat("m1").assigned == {"t1": [0, 1, 2]}
    bench.set_topics(t3=1)
    assert bench.beat("m1").assigned == {"t1": [0, 1, 2], "t3": [0]}
    bench.set_topics(t1=0)
    answer = bench.beat("m1")
    assert (answer.assigned, bench.member("m1").state, bench.epoch) == ({"t3": [0]}, "unrevoked", 5)
    causes = [(started.cause.kind, started.cause.client_id) for started in bench.of(RebalanceStarted)]
    assert causes == [(CauseKind.MEMBER_JOINED, "m1")] + [(CauseKind.METADATA_CHANGED, "")] * 3
    assert [len(seen.topics) for seen in bench.of(TopicsSeen)] == [1, 1, 2, 1]


@rule(
    "Topics: a topic that nobody subscribes to, or that does not exist, changes nothing",
    origin="testOnMetadataUpdateWithEmptyDelta testGroupIdsByTopics "
    "testComputeMetadataHashIgnoreTopicHashIfItIsNotInMetadataImage",
)
def test_other_topics_do_not_matter() -> None:
    bench = ConsumerBench(topics={"t1": 2})
    bench.join("m1", "t1", "missing")
    bench.set_topics(other=9)
    assert bench.beat("m1").epoch == 2
    assert bench.consumer.topics == {"t1": 2}


@rule(
    "Topics: after a load the first heartbeat looks again",
    origin="testSubscriptionMetadataRefreshedAfterGroupIsLoaded testMetadataRefreshDeadline",
)
def test_topics_are_looked_at_after_a_load() -> None:
    bench = ConsumerBench(topics={"t1": 2}).with_members("m1")
    bench.load()
    assert bench.beat("m1").epoch == 2
    bench.set_topics(t1=3)
    bench.load()
    assert bench.beat("m1").epoch == 3


@rule("Topics: where nobody knows how many partitions there are, nobody is given any")
def test_without_topics_there_is_nothing_to_give() -> None:
    bench = ConsumerBench()
    bench.config = type(bench.config)(consumer=bench.config.consumer)
    answer = bench.join("m1", "t1")
    assert (answer.error, answer.assigned) == (Error.NONE, {})
