"""One group's records in order, each turned into the facts that it proves or suggests. Pure.

`apply` takes the records one by one, with the group's history; `finish` is called when none follows for now.
Knows which record belongs to whom. The rules stand in docs/offsets-topic.md.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rollcall.inputs.offsets_topic.history import classic, commits, consumer, lifecycle
from rollcall.inputs.offsets_topic.history.state import History
from rollcall.inputs.offsets_topic.history.story import Story
from rollcall.inputs.offsets_topic.records.decoding import Record
from rollcall.inputs.offsets_topic.records.shapes import (
    RECORD_TYPES,
    ConsumerGroupMetadataValue,
    CurrentMemberAssignmentValue,
    GroupMetadataValue,
    MemberKey,
    MemberMetadataValue,
    OffsetCommitKey,
    OffsetCommitValue,
    PartitionMetadataValue,
    RegularExpressionKey,
    RegularExpressionValue,
    TargetAssignmentMemberValue,
    TargetAssignmentMetadataValue,
)
from rollcall.schemas.effects import GroupNotCovered
from rollcall.schemas.shown_effects import ShownEffect

COMMITS, GROUP, EPOCH, MEMBER = (0, 1), 2, 3, 5
"""Record types that the fold distinguishes; see RECORD_TYPES."""


def apply(history: History, records: Iterable[Record], names: Mapping[str, str]) -> list[ShownEffect]:
    """The facts that records of one group lead to, in order, each with its record; changes the history.

    names: topic names by id.

    Facts that the rest of a request's records may change are held back (`History.is_held_back`) until the next record
    of another time, or `finish`.
    """
    story, given = Story(history, names), list(records)
    # A topic name in a later record of the batch holds for the whole batch.
    for record in given:
        if isinstance(record.value, OffsetCommitValue) and record.value.topic_id is not None:
            assert isinstance(record.key, OffsetCommitKey)
            history.topic_names[record.value.topic_id] = record.key.topic
    for record in given:
        _tell(record, story)
    return story.facts


def finish(history: History, names: Mapping[str, str]) -> list[ShownEffect]:
    """The facts that were held back, once it is known that nothing follows."""
    story = Story(history, names)
    story.end_list()
    consumer.end_operation(story)
    lifecycle.end_conversion(story)
    lifecycle.end_group(story)
    return story.facts


def _tell(record: Record, story: Story) -> None:
    story.end_list_before(record.timestamp_ms)
    story.history.partition = record.partition
    if not record.is_covered:
        story.offset = record.offset
        if story.history.is_covered:
            story.history.is_covered = False
            why = RECORD_TYPES[record.type].name.removesuffix(" group")
            story.emit(GroupNotCovered(at_ms=record.timestamp_ms, why=why))
        return
    at_ms = record.timestamp_ms
    if record.type not in COMMITS:
        consumer.end_operation_before(at_ms, story)
    lifecycle.end_before(at_ms, story)
    story.offset = record.offset
    if record.value is None:
        _emit_tombstone(record, at_ms, story)
    else:
        _emit_value(record, at_ms, story)


def _emit_value(record: Record, at_ms: int, story: Story) -> None:
    key, value = record.key, record.value
    match value:
        case OffsetCommitValue():
            assert isinstance(key, OffsetCommitKey)
            commits.emit_commit(key, value, at_ms, story)
        case GroupMetadataValue():
            classic.emit_group(value, at_ms, story)
        case ConsumerGroupMetadataValue():
            consumer.emit_epoch(value, at_ms, story)
        case MemberMetadataValue():
            assert isinstance(key, MemberKey)
            consumer.emit_member(key.member_id, value, at_ms, story)
        case TargetAssignmentMetadataValue():
            consumer.emit_target_epoch(value, at_ms, story)
        case TargetAssignmentMemberValue():
            assert isinstance(key, MemberKey)
            consumer.emit_target(key.member_id, value, at_ms, story)
        case CurrentMemberAssignmentValue():
            assert isinstance(key, MemberKey)
            consumer.emit_current(key.member_id, value, at_ms, story)
        case RegularExpressionValue():
            assert isinstance(key, RegularExpressionKey)
            consumer.emit_pattern(key.regular_expression, value, at_ms, story)
        case PartitionMetadataValue():
            # The topics that Kafka 4.0 wrote down with a group.
            names = {topic.topic_id: topic.topic_name for topic in value.topics if topic.topic_id is not None}
            story.history.topic_names.update(names)
        case _:
            raise AssertionError(f"{type(value).__name__} is not covered")


def _emit_tombstone(record: Record, at_ms: int, story: Story) -> None:
    key = record.key
    match key:
        case OffsetCommitKey():
            commits.emit_removal(key, at_ms, story)
        case MemberKey() if record.type == MEMBER:
            consumer.emit_member_gone(key.member_id, at_ms, story)
        case _ if record.type == GROUP:
            lifecycle.emit_classic_gone(at_ms, story)
        case _ if record.type == EPOCH:
            lifecycle.emit_consumer_gone(at_ms, story)
        case _:
            # A target or an assignment is removed with its member, a pattern or a target's epoch with the group.
            pass
