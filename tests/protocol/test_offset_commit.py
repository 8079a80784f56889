"""OffsetCommit: how partitions are named, the order of its checks, what is stored, and how much."""

from __future__ import annotations

import pytest

from rollcall.schemas.effects import OffsetsCommitted
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import OffsetCommitRequest, OffsetCommitRequestTopic
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

T1 = ("t1", 0)

# ---------------------------------------------------------------- partitions


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


# ---------------------------------------------------------------- whose


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
