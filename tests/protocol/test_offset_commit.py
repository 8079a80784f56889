"""OffsetCommit: which partitions, whose commits, in which states, and what is stored."""

from __future__ import annotations

import pytest

from coordinator_udfs.protocol.states import GroupState
from schemas.effects import GroupCreated, OffsetsCommitted
from schemas.errors import Error
from schemas.messages import OffsetCommitRequest, OffsetCommitRequestTopic
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

T1 = ("t1", 0)

# ---------------------------------------------------------------- partitions


@rule("OffsetCommit: a topic or partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION, the others are stored")
def test_unknown_partitions_are_refused_one_by_one() -> None:
    bench = Bench(topics={"t1": 4})
    sent = bench.commit(offsets={T1: 1, ("t1", 4): 2, ("t1", -1): 3, ("nope", 0): 4})
    assert sent.partition_errors == {
        T1: Error.NONE,
        ("t1", 4): Error.UNKNOWN_TOPIC_OR_PARTITION,
        ("t1", -1): Error.UNKNOWN_TOPIC_OR_PARTITION,
        ("nope", 0): Error.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert list(bench.group.offsets) == [T1]


@rule("OffsetCommit: with no partition left the group is not looked at")
def test_a_commit_of_nothing_known_leaves_the_group_alone() -> None:
    bench = Bench(topics={"t1": 4})
    sent = bench.commit("m1", 99, {("nope", 0): 1})
    assert sent.partition_errors == {("nope", 0): Error.UNKNOWN_TOPIC_OR_PARTITION}
    assert not bench.group.is_known
    bench.stable("m1")
    bench.at(4_000)
    bench.commit("m1", offsets={("nope", 0): 1})
    assert bench.deadlines()["m1"] == 10_000


@rule("OffsetCommit: a group's refusal stands on every partition that exists")
def test_the_groups_refusal_is_repeated() -> None:
    bench = Bench(topics={"t1": 4}).stable("m1")
    sent = bench.commit("stranger", offsets={T1: 1, ("t1", 1): 2, ("nope", 0): 3})
    assert sent.partition_errors == {
        T1: Error.UNKNOWN_MEMBER_ID,
        ("t1", 1): Error.UNKNOWN_MEMBER_ID,
        ("nope", 0): Error.UNKNOWN_TOPIC_OR_PARTITION,
    }


@rule("OffsetCommit: v10 names topics by id; an unknown one is UNKNOWN_TOPIC_ID")
def test_topics_may_be_named_by_id() -> None:
    bench = Bench(topics={"uuid-1": 4})
    sent = bench.commit(v=10, offsets={("uuid-1", 0): 1, ("uuid-9", 0): 2, ("uuid-1", 4): 3})
    assert [(topic.topic_id, [p.error_code for p in topic.partitions]) for topic in sent.response.topics] == [
        ("uuid-1", [Error.NONE, Error.UNKNOWN_TOPIC_OR_PARTITION]),
        ("uuid-9", [Error.UNKNOWN_TOPIC_ID]),
    ]


@rule("OffsetCommit: topics without partitions are left out of the answer")
def test_a_topic_without_partitions_is_not_answered() -> None:
    bench = Bench()
    topics = [OffsetCommitRequestTopic(name="t1", partitions=[])]
    assert bench.send(OffsetCommitRequest, 9, "admin", group_id="g", topics=topics).response.topics == []
    assert not bench.group.is_known


@rule(
    "OffsetCommit: metadata above the limit is OFFSET_METADATA_TOO_LARGE on that partition, counted in UTF-16 units",
)
@pytest.mark.parametrize(
    ("metadata", "error"),
    [
        ("x" * 4096, Error.NONE),
        ("é" * 4096, Error.NONE),
        ("😀" * 2048, Error.NONE),
        ("x" * 4097, Error.OFFSET_METADATA_TOO_LARGE),
        ("😀" * 2048 + "x", Error.OFFSET_METADATA_TOO_LARGE),
        (None, Error.NONE),
    ],
)
def test_metadata_has_a_limit(metadata: str | None, error: Error) -> None:
    bench = Bench()
    assert bench.commit(metadata=metadata).error is error
    assert (T1 in bench.group.offsets) is (error is Error.NONE)


@rule("OffsetCommit: metadata is checked last, so the group is created and the session renewed all the same")
def test_too_large_metadata_still_proves_its_member_alive() -> None:
    bench = Bench()
    bench.commit(metadata="x" * 4097)
    assert bench.group.is_known
    bench.stable("m1")
    bench.at(4_000)
    bench.commit("m1", metadata="x" * 4097)
    assert bench.deadlines()["m1"] == 14_000


# ---------------------------------------------------------------- whose


@rule(
    "OffsetCommit: without a generation it creates a simple group, whatever ids it names",
    origin="testSimpleGroupOffsetCommit testSimpleGroupOffsetCommitWithInstanceId",
)
@pytest.mark.parametrize(("generation", "member_id", "instance_id"), [(-1, "", None), (-1, "x", "i"), (-2, "", None)])
def test_a_simple_commit_creates_a_group(generation: int, member_id: str, instance_id: str | None) -> None:
    bench = Bench()
    assert bench.commit("admin", generation, member_id=member_id, instance_id=instance_id).error is Error.NONE
    assert (bench.state, bench.group.protocol_type, len(bench.of(GroupCreated))) == (GroupState.EMPTY, None, 1)


@rule(
    "OffsetCommit: an unknown group with a generation is GROUP_ID_NOT_FOUND from v9, before that ILLEGAL_GENERATION",
    origin="testOffsetCommitWithUnknownGroup",
)
@pytest.mark.parametrize(
    ("v", "error"), [(2, Error.ILLEGAL_GENERATION), (8, Error.ILLEGAL_GENERATION), (9, Error.GROUP_ID_NOT_FOUND)]
)
def test_an_unknown_group_has_no_generation(v: int, error: Error) -> None:
    bench = Bench()
    assert bench.commit("m1", 0, v=v).error is error
    assert not bench.group.is_known


@rule("OffsetCommit: Dead is COORDINATOR_NOT_AVAILABLE", origin="testGenericGroupOffsetCommitWithDeadGroup")
def test_a_dead_group_stores_nothing() -> None:
    bench = Bench().stable("m1").unload()
    assert bench.commit("m1").error is Error.COORDINATOR_NOT_AVAILABLE


@rule(
    "OffsetCommit: without a generation into an Empty group no id is checked",
    origin="testManualCommitOffsetShouldNotValidateMemberIdAndInstanceId testCommitOffsetsAfterGroupIsEmpty",
)
def test_an_empty_group_takes_offsets_from_anybody() -> None:
    bench = Bench().empty()
    assert bench.commit("admin", -1, member_id="gone", instance_id="gone").error is Error.NONE


@rule("OffsetCommit: a generation into an Empty group is UNKNOWN_MEMBER_ID")
@pytest.mark.parametrize("generation", [0, 2])
def test_an_empty_group_has_no_member_of_any_generation(generation: int) -> None:
    assert Bench().empty().commit("gone", generation).error is Error.UNKNOWN_MEMBER_ID


@rule(
    "OffsetCommit: an unknown member is UNKNOWN_MEMBER_ID",
    origin="testGenericGroupOffsetCommitWithUnknownMemberId testCommitOffsetInCompletingRebalanceFromUnknownMemberId",
)
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_a_stranger_commits_nothing(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    assert bench.commit("stranger").error is Error.UNKNOWN_MEMBER_ID


@rule(
    "OffsetCommit: another generation is ILLEGAL_GENERATION",
    origin="testGenericGroupOffsetCommitWithIllegalGeneration"
    " testCommitOffsetInCompletingRebalanceFromIllegalGeneration",
)
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
@pytest.mark.parametrize("generation", [-1, 0, 3])
def test_another_generation_commits_nothing_and_keeps_nobody_alive(state: str, generation: int) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    bench.at(4_000)
    assert bench.commit("m1", generation).error is Error.ILLEGAL_GENERATION
    assert bench.deadlines()["m1"] == 10_000


@rule(
    "OffsetCommit: without ids into a living group is UNKNOWN_MEMBER_ID",
    origin="testGenericGroupOffsetCommitWithoutMemberIdAndGeneration",
)
@pytest.mark.parametrize("state", ["preparing", "completing", "stable"])
def test_a_living_group_takes_no_simple_commits(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    assert bench.commit().error is Error.UNKNOWN_MEMBER_ID


@rule("OffsetCommit: an unknown instance id", origin="testGenericGroupOffsetCommitWithUnknownInstanceId")
@rule("OffsetCommit: a fenced instance id", origin="testGenericGroupOffsetCommitWithFencedInstanceId")
@rule(
    "OffsetCommit: instance id, member id, generation and state are checked in this order",
    origin="testValidateOffsetCommit",
)
@pytest.mark.parametrize(
    ("member_id", "instance_id", "generation", "error"),
    [
        ("stranger", "nobody", 99, Error.UNKNOWN_MEMBER_ID),
        ("stranger", "i2", 99, Error.FENCED_INSTANCE_ID),
        ("m1", "i2", 99, Error.FENCED_INSTANCE_ID),
        ("stranger", None, 99, Error.UNKNOWN_MEMBER_ID),
        ("m2", "i2", 99, Error.ILLEGAL_GENERATION),
        ("m2", None, -1, Error.ILLEGAL_GENERATION),
        ("", "i2", -1, Error.FENCED_INSTANCE_ID),
        ("", None, -1, Error.UNKNOWN_MEMBER_ID),
        ("m2", "i2", 2, Error.REBALANCE_IN_PROGRESS),
    ],
)
def test_the_checks_come_in_kafkas_order(
    member_id: str, instance_id: str | None, generation: int, error: Error
) -> None:
    bench = Bench().static("m2").completing("m1", "m2")
    sent = bench.commit("anyone", generation, member_id=bench.id_of(member_id), instance_id=instance_id)
    assert sent.error is error


# ---------------------------------------------------------------- when


@rule(
    "OffsetCommit: CompletingRebalance is REBALANCE_IN_PROGRESS",
    origin="testGenericGroupOffsetCommitWhileInCompletingRebalanceState testCommitOffsetInCompletingRebalance",
)
def test_between_two_generations_nobody_commits() -> None:
    bench = Bench().completing("m1", "m2")
    bench.at(4_000)
    assert bench.commit("m1").error is Error.REBALANCE_IN_PROGRESS
    assert bench.deadlines()["m1"] == 10_000


@rule(
    "OffsetCommit: in PreparingRebalance and Stable it is stored, and renews the session",
    origin="testGenericGroupOffsetCommitMaintainsSession testCommitMaintainsSession",
)
@pytest.mark.parametrize("state", ["preparing", "stable"])
def test_a_members_commit_keeps_it_alive(state: str) -> None:
    bench = getattr(Bench(), state)("m1", "m2")
    bench.at(4_000)
    assert bench.commit("m2", offsets={T1: 42}).error is Error.NONE
    assert (bench.group.offsets[T1].committed_offset, bench.deadlines()["m2"]) == (42, 14_000)


@rule("OffsetCommit: a newcomer that waits may commit with the current generation, and is then held to its session")
def test_a_newcomer_commits_before_it_is_in_a_generation() -> None:
    bench = Bench().stable("m1")
    bench.enter("m2", session_ms=2_000)
    bench.at(1_000)
    assert bench.commit("m2", 1).error is Error.NONE
    assert bench.deadlines()["m2"] == 3_000


# ---------------------------------------------------------------- what


@rule("OffsetCommit: the last of several for one partition stays; epochs, metadata and time are kept")
def test_what_is_stored() -> None:
    bench = Bench()
    bench.commit(offsets={T1: 1}, metadata="first")
    bench.at(700)
    bench.commit(offsets={T1: 2}, metadata=None, leader_epoch=5)
    stored = bench.group.offsets[T1]
    assert (stored.committed_offset, stored.leader_epoch, stored.metadata) == (2, 5, "")
    assert (stored.commit_timestamp_ms, stored.expire_timestamp_ms) == (700, None)
    reported = bench.last(OffsetsCommitted).offsets[0]
    assert (reported.topic, reported.partition, reported.committed_offset, reported.leader_epoch) == ("t1", 0, 2, 5)


@rule(
    "OffsetCommit: v2 to v4 may name a retention of their own, -1 names none",
    origin="testGenericGroupOffsetCommitWithRetentionTime",
)
@pytest.mark.parametrize(("v", "retention_ms", "expires_ms"), [(2, 500, 1_200), (4, 0, 700), (4, -1, None)])
def test_old_clients_name_their_retention(v: int, retention_ms: int, expires_ms: int | None) -> None:
    bench = Bench().at(700)
    bench.commit(v=v, retention_ms=retention_ms)
    assert bench.group.offsets[T1].expire_timestamp_ms == expires_ms


# ---------------------------------------------------------------- how many


@rule("OffsetCommit: a group takes no more offsets than it has room for, Kafka any number")
def test_a_group_without_room_takes_no_new_offset_and_goes_on_with_those_it_has() -> None:
    bench = Bench(topics={"t1": 100}, offsets_max_bytes=3 * 102)
    assert set(bench.commit(offsets={("t1", p): 1 for p in range(3)}).partition_errors.values()) == {Error.NONE}
    sent = bench.commit(offsets={("t1", 0): 2, ("t1", 3): 2, ("t1", 4): 2})
    assert sent.partition_errors == {
        ("t1", 0): Error.NONE,
        ("t1", 3): Error.INVALID_COMMIT_OFFSET_SIZE,
        ("t1", 4): Error.INVALID_COMMIT_OFFSET_SIZE,
    }
    assert [offset.committed_offset for offset in bench.group.offsets.values()] == [2, 1, 1]


@rule("OffsetCommit: metadata takes room as well")
def test_longer_metadata_needs_room() -> None:
    bench = Bench(topics={"t1": 100}, offsets_max_bytes=102 + 10)
    for metadata, error in (("x" * 10, Error.NONE), ("x" * 11, Error.INVALID_COMMIT_OFFSET_SIZE), ("", Error.NONE)):
        assert bench.commit(offsets={T1: 1}, metadata=metadata).partition_errors == {T1: error}
