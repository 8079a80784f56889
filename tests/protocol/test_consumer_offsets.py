"""Offsets of a consumer group: who may commit and fetch them by which epoch, delete them, and when they expire."""

from __future__ import annotations

from rollcall.schemas.errors import Error
from tests.protocol.consumer_bench import ConsumerBench
from tests.protocol.rules import rule

NONE, STALE, UNKNOWN = Error.NONE, Error.STALE_MEMBER_EPOCH, Error.UNKNOWN_MEMBER_ID


def group() -> ConsumerBench:
    """m1 has t1-0 and t1-1 since epoch 2, m2 the others since epoch 3."""
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    bench.settle()
    return bench


@rule(
    "Consumer offsets: without members anybody commits, with members nobody but they",
    origin="testValidateOffsetCommit testConsumerGroupOffsetCommitFromAdminClient",
)
def test_an_administrator_commits_into_an_empty_group() -> None:
    bench = ConsumerBench().with_members("m1")
    assert bench.commit("", -1) == [UNKNOWN]
    bench.leave("m1")
    assert bench.commit("", -1) == [NONE]
    assert bench.commit("", 5) == [UNKNOWN]
    assert bench.state == "Empty"


@rule("Consumer offsets: a consumer commits from v9 on")
def test_an_old_commit_of_a_consumer_is_refused() -> None:
    assert group().commit("m1", 3, v=8) == [Error.UNSUPPORTED_VERSION]


@rule("Consumer offsets: what is being given up may be committed still")
def test_pending_partitions_may_be_committed() -> None:
    bench = ConsumerBench(topics={"t1": 4}).with_members("m1")
    bench.set_topics(t1=5)
    bench.beat("m1")
    bench.join("m2", "t1")
    bench.beat("m1")
    pending = next(iter(bench.member("m1").pending_revocation["t1"]))
    assert bench.commit("m1", 2, ("t1", pending)) == [NONE if pending < 4 else STALE]


@rule(
    "Consumer offsets: too large a metadata is that partition's own error, and not held against the member",
    origin="testConsumerGroupOffsetCommitWithOffsetMetadataTooLarge",
)
def test_large_metadata() -> None:
    bench = group()
    large = "x" * 5000
    assert bench.commit("m1", 3, ("t1", 0), metadata=large) == [Error.OFFSET_METADATA_TOO_LARGE]
    assert bench.commit("m1", 2, ("t1", 3), metadata=large) == [Error.OFFSET_METADATA_TOO_LARGE]


@rule("Consumer offsets: after a static member's return its old epochs commit nothing")
def test_an_old_life_commits_nothing() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1", instance_id="i1")
    bench.leave("m1", -2, instance_id="i1")
    assert bench.commit("m1", 2) == [STALE]
    bench.join("m2", "t1", instance_id="i1")
    assert bench.commit("m1", 2) == [UNKNOWN]


@rule(
    "Consumer offsets: a classic member is answered ILLEGAL_GENERATION",
    origin="testValidateOffsetCommitWithClassicProtocolMember testConsumerGroupOffsetCommitWithIllegalGenerationId "
    "testConsumerGroupOffsetFetchWithIllegalGenerationId",
)
def test_classic_members_and_their_generations() -> None:
    bench = group()
    bench.join_classic("c1", "t1")
    assert bench.commit("c1", 9) == [Error.ILLEGAL_GENERATION]
    assert bench.commit("c1", bench.epochs["c1"], v=8) == [NONE]
    assert bench.fetch("c1", 1) is Error.ILLEGAL_GENERATION


@rule(
    "Consumer offsets: they expire by their commit's age once nobody subscribes; an Empty group without any goes too",
    origin="testOffsetExpirationCondition testCleanupExpiredOffsets testCleanupGroupMetadataForConsumerGroup",
)
def test_offsets_expire() -> None:
    bench = ConsumerBench(
        topics={"t1": 1, "t2": 1}, offsets_retention_minutes=1, offsets_retention_check_interval_ms=20_000
    )
    bench.join("m1", "t1")
    bench.commit("m1", 2, ("t1", 0), ("t2", 0))
    bench.at(40_000).beat("m1")
    bench.tick(60_000)
    assert bench.group.offsets.keys() == {("t1", 0)}
    bench.leave("m1")
    bench.tick(80_000)
    assert not bench.group.is_known
    assert bench.join("m1", "t1").epoch == 2


# ---------------------------------------------------------------- administration


@rule(
    "Consumer groups: described with epochs, members, and what they own until they let go",
    origin="testConsumerGroupDescribeNoErrors testConsumerGroupDescribeWithErrors "
    "testConsumerGroupDescribeBeforeAndAfterCommittingOffset testAsDescribedGroup "
    "testAsConsumerGroupDescribe…",
)
def test_describing() -> None:
    bench = ConsumerBench(topics={"t1": 4})
    assert bench.describe().error_code is Error.GROUP_ID_NOT_FOUND
    bench.join("m1", "t1", rack_id="r1")
    bench.join("m2", "t1")
    bench.beat("m1")
    described = bench.describe()
    assert (described.group_state, described.group_epoch, described.assignment_epoch) == ("Reconciling", 3, 3)
    first = described.members[0]
    assert [t.partitions for t in first.assignment.topic_partitions] == [[0, 1, 2, 3]]
    assert [t.partitions for t in first.target_assignment.topic_partitions] == [[0, 1]]
    assert (first.rack_id, first.member_epoch, first.subscribed_topic_names, first.member_type) == ("r1", 2, ["t1"], 1)
    bench.set_topics(t1=0)
    assert bench.describe().members[0].assignment.topic_partitions == []


@rule("Consumer groups: the empty group id is INVALID_GROUP_ID", origin="testConsumerGroupDescribeInvalidGroupId")
def test_describing_the_empty_id() -> None:
    bench = ConsumerBench()
    bench.group.group_id = ""
    assert bench.describe().error_code is Error.INVALID_GROUP_ID
