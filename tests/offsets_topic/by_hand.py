"""Records of one group, made one by one: what a test says that a broker wrote. Knows records; knows no fold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    ClassicMember,
    ConsumerGroupMetadataValue,
    CurrentMemberAssignmentValue,
    CurrentPartitions,
    GroupKey,
    GroupMetadataValue,
    MemberKey,
    MemberMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RecordKey,
    TargetAssignmentMetadataValue,
)
from rollcall.schemas.layout import LayoutShape
from tests.offsets_topic.folded import Folded
from tests.requests import assignment, flat, subscription

G, T = "orders-app", "T"
TOPIC_ID = "AQIDBAUGBwgJCgsMDQ4PEA"


def record(number: int, at_ms: int, key: RecordKey, value: LayoutShape | None) -> Record:
    return Record(0, 0, at_ms, number, key, value)


def generation(at_ms: int, number: int, *members: ClassicMember, protocol_type: str = "consumer") -> Record:
    """The record of a generation, its first member leading."""
    value = GroupMetadataValue(
        protocol_type=protocol_type if number else "",
        generation=number,
        protocol="range" if members else None,
        leader=members[0].member_id if members else None,
        current_state_timestamp=at_ms - 5 if number else at_ms,
        members=list(members),
    )
    return record(2, at_ms, GroupKey(group=G), value)


def classic(name: str, *partitions: int, topics: Sequence[str] = (T,), bytes_: bytes | None = None) -> ClassicMember:
    return ClassicMember(
        member_id=f"{name}-id",
        client_id=name,
        client_host="/h",
        session_timeout=45_000,
        rebalance_timeout=300_000,
        subscription=subscription(*topics) if bytes_ is None else bytes_,
        assignment=assignment(flat({T: partitions})) if bytes_ is None else bytes_,
    )


def member(
    at_ms: int, name: str, *topics: str, pattern: str = "", instance_id: str | None = None, vote: str | None = None
) -> Record:
    value = MemberMetadataValue(
        instance_id=instance_id,
        rack_id=None,
        client_id=name,
        client_host="/h",
        subscribed_topic_names=list(topics),
        subscribed_topic_regex=pattern,
        rebalance_timeout_ms=300_000,
        server_assignor=vote,
    )
    return record(5, at_ms, MemberKey(group=G, member_id=f"{name}-id"), value)


def epoch(at_ms: int, number: int, hash_: int = 7) -> Record:
    return record(3, at_ms, GroupKey(group=G), ConsumerGroupMetadataValue(epoch=number, metadata_hash=hash_))


def target_epoch(at_ms: int, number: int) -> Record:
    return record(6, at_ms, GroupKey(group=G), TargetAssignmentMetadataValue(assignment_epoch=number))


def step(at_ms: int, name: str, number: int, *partitions: int) -> Record:
    held = [CurrentPartitions(topic_id=TOPIC_ID, partitions=list(partitions))] if partitions else []
    value = CurrentMemberAssignmentValue(
        member_epoch=number,
        previous_member_epoch=0,
        state=0,
        assigned_partitions=held,
        partitions_pending_revocation=[],
    )
    return record(8, at_ms, MemberKey(group=G, member_id=f"{name}-id"), value)


def gone(at_ms: int, *names: str) -> list[Record]:
    keys = [MemberKey(group=G, member_id=f"{name}-id") for name in names]
    return [record(number, at_ms, key, None) for key in keys for number in (8, 7, 5)]


def without_epochs(at_ms: int) -> list[Record]:
    """The end of a consumer group's own records."""
    return [record(number, at_ms, GroupKey(group=G), None) for number in (6, 3)]


def commit(at_ms: int, partition: int, topic_id: str | None = None) -> Record:
    value = OffsetCommitValue(offset=5, metadata="", commit_timestamp=at_ms, topic_id=topic_id)
    return record(1, at_ms, OffsetCommitKey(group=G, topic=T, partition=partition), value)


def forming(at_ms: int, *names: str) -> list[Record]:
    """A consumer group from its first record on, its members at epochs 2, 3, ..., the first holding all."""
    found: list[Record] = []
    for place, name in enumerate(names):
        number, moment = place + 2, at_ms + 100 * place
        first = (0, 1) if place == 0 else ()
        found += [member(moment, name, T), epoch(moment, number), target_epoch(moment, number)]
        found.append(step(moment, name, number, *first))
        found += [
            step(moment + 10, before, number, *((0, 1) if before == names[0] else ())) for before in names[:place]
        ]
    return found


def last_cause(folded: Folded) -> Any:
    return folded.causes(G)[-1][2]
