"""Each fact names a record of its group that says it, in every dump that the tests keep."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from rollcall.inputs.offsets_topic import name_of_record, record_in
from rollcall.inputs.offsets_topic.history.consumer import AWAY_EPOCH
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    ConsumerGroupMetadataValue,
    CurrentMemberAssignmentValue,
    GroupKey,
    GroupMetadataValue,
    MemberKey,
    MemberMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    RegularExpressionKey,
    TargetAssignmentMetadataValue,
)
from rollcall.schemas.consumer_effects import (
    GroupTypeChanged,
    MemberLeftForNow,
    MemberProgressed,
    MemberSubscribed,
    PatternsResolved,
    TargetAssigned,
)
from rollcall.schemas.effects import (
    Assigned,
    CauseFound,
    Effect,
    GroupCreated,
    GroupFound,
    GroupNotCovered,
    GroupRemoved,
    JoinPhaseEnded,
    MemberJoined,
    MemberRemoved,
    MemberUpdated,
    OffsetsCommitted,
    OffsetsRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)
from tests.offsets_topic.by_hand import G, T, classic, epoch, generation, member, record
from tests.offsets_topic.folded import CAPTURES, OF_SESSIONS, Folded, decoded, fold, read_dump

DUMPS = [*sorted(CAPTURES.glob("*/offsets-topic*.jsonl.gz")), *sorted(OF_SESSIONS.glob("*.dump.gz"))]
GROUP, EPOCH, MEMBER = 2, 3, 5
"""Types of records whose tombstones say that a group or a member is gone."""


@cache
def folded_of(path: Path) -> Folded:
    return fold(decoded(read_dump(path)))


@pytest.mark.parametrize("path", DUMPS, ids=lambda path: f"{path.parent.name}-{path.name.partition('.')[0]}")
def test_each_fact_names_a_record_that_says_it(path: Path) -> None:
    folded = folded_of(path)
    records = {name_of_record(one.partition, one.offset): one for one in folded.records}
    assert len(records) == len(folded.records)
    facts = [(group, *shown) for group, of in folded.shown.items() for shown in of]
    assert facts
    for group, effect, shown_by in facts:
        said = records[shown_by]
        assert said.group_id == group
        assert says(said, effect), (effect, said)


def test_a_member_that_an_upgraded_group_lacks_names_no_record() -> None:
    """The records of an upgrade are of those that it has: none says who went meanwhile."""
    written = [
        generation(0, 0),
        generation(9_000, 1, classic("a", 0), classic("b", 1)),
        record(GROUP, 20_000, GroupKey(group=G), None),
        member(20_000, "a", T),
        epoch(20_000, 2),
    ]
    folded = fold([one._replace(offset=place) for place, one in enumerate(written)])
    assert [one.effect for one in folded.shown[G] if not one.shown_by] == folded.of(G, MemberRemoved)
    assert [one.member_id for one in folded.of(G, MemberRemoved)] == ["b-id"]


def test_a_record_is_found_in_what_shows_a_fact() -> None:
    assert record_in("__consumer_offsets-7@1234") == "__consumer_offsets-7@1234"
    assert record_in("__consumer_offsets-7@1234, server.log:12") == "__consumer_offsets-7@1234"
    assert record_in("server.log:12") == record_in("") == record_in("__consumer_offsets-7@1234.log:3") == ""


def says(record: Record, effect: Effect) -> bool:
    """Whether a record says what a fact does."""
    match effect:
        case OffsetsCommitted() | OffsetsRemoved():
            return _says_offsets(record, effect)
        case GroupNotCovered():
            return not record.is_covered
        case GroupRemoved():
            return record.value is None and record.type in (GROUP, EPOCH)
        case PatternsResolved():
            key = record.key
            return isinstance(key, RegularExpressionKey) and key.regular_expression == effect.patterns[0].pattern
        case MemberRemoved():
            return _says_end(record, effect)
        case MemberJoined() | MemberUpdated() | MemberSubscribed() | CauseFound():
            return (effect.member_id, effect.client_id) in set(_members(record))
        case Assigned() | MemberProgressed() | MemberLeftForNow():
            return effect.member_id in _stepped(record)
        case _:
            return _says_of_group(record, effect)


def _says_offsets(record: Record, effect: OffsetsCommitted | OffsetsRemoved) -> bool:
    key, value = record.key, record.value
    if not isinstance(key, OffsetCommitKey) or record.timestamp_ms != effect.at_ms:
        return False
    if isinstance(effect, OffsetsRemoved):
        return value is None and any(
            one.topic == key.topic and key.partition in one.partitions for one in effect.offsets
        )
    one = effect.offsets[0]
    offset = (one.topic, one.partition, one.committed_offset)
    return isinstance(value, OffsetCommitValue) and offset == (key.topic, key.partition, value.offset)


def _says_end(record: Record, effect: MemberRemoved) -> bool:
    """It is gone by its own tombstone or its group's, is in a generation no more, or another one has its instance."""
    match record.key, record.value:
        case MemberKey(member_id=member_id), None:
            return record.type == MEMBER and member_id == effect.member_id
        case MemberKey(member_id=member_id), MemberMetadataValue(instance_id=instance_id):
            return member_id == effect.replaced_by_member_id and instance_id == effect.group_instance_id
        case _, GroupMetadataValue(members=members):
            return effect.member_id not in {one.member_id for one in members}
        case _, None:
            return record.type in (GROUP, EPOCH)
        case _:
            return False


def _members(record: Record) -> Iterator[tuple[str, str]]:
    match record.key, record.value:
        case MemberKey(member_id=member_id), MemberMetadataValue(client_id=client_id):
            yield member_id, client_id
        case _, GroupMetadataValue(members=members):
            yield from ((one.member_id, one.client_id) for one in members)
        case _:
            pass


def _stepped(record: Record) -> set[str]:
    """The members of which a record says what they hold."""
    match record.key, record.value:
        case MemberKey(member_id=member_id), CurrentMemberAssignmentValue():
            return {member_id}
        case _, GroupMetadataValue(members=members):
            return {one.member_id for one in members}
        case _:
            return set()


def _says_of_group(record: Record, effect: Effect) -> bool:
    """The generation or epoch of a record is that of the fact, or a member is away, or gone that others waited for."""
    match record.value:
        case GroupMetadataValue(generation=number):
            pass
        case ConsumerGroupMetadataValue(epoch=number):
            pass
        case TargetAssignmentMetadataValue(assignment_epoch=number):
            pass
        case CurrentMemberAssignmentValue(member_epoch=number):
            if number == AWAY_EPOCH and isinstance(effect, StateChanged):
                return True
        case MemberMetadataValue():
            return isinstance(effect, GroupCreated | GroupTypeChanged)
        case _:
            is_of_member = record.value is None and record.type == MEMBER
            return is_of_member and isinstance(effect, StateChanged | RebalanceEnded)
    match effect:
        case RebalanceStarted():
            return number == effect.from_generation_id + 1
        case RebalanceEnded():
            return number == effect.to_generation_id + (effect.outcome == "superseded")
        case StateChanged() | JoinPhaseEnded() | GroupFound() | TargetAssigned() | GroupTypeChanged():
            return number == effect.generation_id
        case GroupCreated():
            return number == 0
        case _:
            return False
