"""What one request about offsets may cost: each partition is stored, reported and compared once."""

from __future__ import annotations

import msgspec
import pytest

from rollcall.schemas.effects import OffsetsCommitted, OffsetsRemoved
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import OffsetCommitRequest, OffsetCommitRequestPartition, OffsetCommitRequestTopic
from tests.protocol.bench import Bench
from tests.protocol.rules import rule

ROOM = 20_000


class Partition(int):
    """A partition that counts how often it is compared."""

    compared = 0

    def __eq__(self, other: object) -> bool:
        Partition.compared += 1
        return int(self) == other

    __hash__ = int.__hash__


@rule("OffsetCommit: a partition that is named several times is stored and reported once, as it is named last")
def test_a_repeated_partition_is_reported_once() -> None:
    bench = Bench(topics=None, offsets_max_bytes=ROOM)
    topic = "t" * 1_000
    named = [OffsetCommitRequestPartition(partition_index=0, committed_offset=offset) for offset in range(500)]
    call = bench.send(
        OffsetCommitRequest,
        8,
        "admin",
        group_id="g",
        generation_id_or_member_epoch=-1,
        topics=[OffsetCommitRequestTopic(name=topic, partitions=named)],
    )
    assert [p.error_code for p in call.response.topics[0].partitions] == [Error.NONE] * 500
    (reported,) = bench.last(OffsetsCommitted).offsets
    assert (reported.partition, reported.committed_offset) == (0, 499)
    assert bench.group.offsets[topic, 0].committed_offset == 499


@rule("OffsetCommit: room is counted as JSON writes it")
def test_what_json_escapes_takes_more_room() -> None:
    bench = Bench(topics={"t1": 100}, offsets_max_bytes=ROOM, offset_metadata_max_bytes=4_096)
    errors = bench.commit(offsets={("t1", p): 1 for p in range(5)}, metadata="\x01" * 1_000).partition_errors
    assert list(errors.values()) == [Error.NONE] * 3 + [Error.INVALID_COMMIT_OFFSET_SIZE] * 2
    assert len(msgspec.json.encode(bench.last(OffsetsCommitted))) < ROOM


@rule("OffsetDelete: costs by the partitions that it names")
def test_deleting_compares_each_partition_a_few_times() -> None:
    bench = Bench(topics={"t1": 1_000})
    bench.commit(offsets={("t1", p): 1 for p in range(1_000)})
    Partition.compared = 0
    bench.delete_offsets({"t1": [Partition(p) for p in range(1_000)] * 2})
    assert bench.last(OffsetsRemoved).offsets[0].partitions == list(range(1_000))
    assert Partition.compared < 20_000


@rule("OffsetFetch: an answer that would be longer than what a group's members may take is refused")
@pytest.mark.parametrize("v", [1, 7, 9])
def test_an_answer_that_would_be_too_long_is_not_built(v: int) -> None:
    bench = Bench(members_max_bytes=ROOM, offset_metadata_max_bytes=4_096)
    bench.commit(metadata="x" * 1_000)
    few, many, long = (
        bench.fetch({"t1": [1] * 100}, v=v),
        bench.fetch({"t1": [1] * 200}, v=v),
        bench.fetch({"t1": [0] * 50}, v=v),
    )
    assert few.error is Error.NONE
    for refused in (many, long):
        assert refused.error is Error.UNKNOWN_SERVER_ERROR
        raw = msgspec.json.encode(refused.response)
        assert b"UNKNOWN_SERVER_ERROR" in raw
        assert len(raw) < 1_000
    assert bench.fetch({"t1": [0]}, v=v).error is Error.NONE
