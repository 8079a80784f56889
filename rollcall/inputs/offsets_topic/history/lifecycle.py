"""The end of a group or of its kind: deleted, expired, upgraded or downgraded. A group's record is removed in each
case, and only the next records of the same time show which it is. Knows the rules of docs/offsets-topic.md under "A
group's end". Must not know a generation's or an epoch's rules.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.offsets_topic.history.commits import why_gone
from rollcall.inputs.offsets_topic.history.departures import Verdict
from rollcall.inputs.offsets_topic.history.state import NO_RECORD, Operation
from rollcall.inputs.offsets_topic.history.story import Story
from rollcall.schemas.causes import EndCause
from rollcall.schemas.effects import GroupRemoved

_NOT_REPORTED = Verdict(EndCause.UNKNOWN, is_inferred=False)


def emit_classic_gone(at_ms: int, story: Story) -> None:
    """A classic group's record was removed: with members it becomes a consumer group, without any it is gone."""
    history = story.history
    if history.group_type is GroupType.CONSUMER:
        return
    history.end_shown_at = story.offset
    if history.members:
        history.converting, history.converted_at_ms, history.members = history.members, at_ms, {}
        return
    history.ending_at_ms = at_ms


def emit_consumer_gone(at_ms: int, story: Story) -> None:
    """A consumer group's record was removed: with members at the same time it becomes a classic group, otherwise it is
    gone.
    """
    history = story.history
    operation = history.operation
    if history.group_type is GroupType.CLASSIC:
        return
    history.end_shown_at = story.offset
    if operation.at_ms == at_ms and operation.gone:
        history.converting = {member.member_id: member for member in operation.gone}
        history.converted_at_ms = at_ms
        history.operation = Operation(at_ms=at_ms, returned=operation.returned)
        return
    history.ending_at_ms = at_ms


def end_before(at_ms: int, story: Story) -> None:
    """The second half of a possible conversion never came, or was compacted away: the group has ended."""
    if story.history.converting and story.history.converted_at_ms != at_ms:
        end_conversion(story)
    if story.history.ending_at_ms not in (-1, at_ms):
        end_group(story)


def end_group(story: Story) -> None:
    """Ends a group without members whose record was removed, if it did not continue as the other kind."""
    if story.history.ending_at_ms != -1:
        with story.shown_at(story.history.end_shown_at):
            _emit_removed(story.history.ending_at_ms, story)


def end_conversion(story: Story) -> None:
    """Removes the members of a group that ended as one kind and never came as the other."""
    history = story.history
    if not history.converting:
        return
    at_ms = history.converted_at_ms
    with story.shown_at(history.end_shown_at):
        for member in history.converting.values():
            story.removed(member, at_ms, _NOT_REPORTED)
        history.converting = {}
        _emit_removed(at_ms, story)


def _emit_removed(at_ms: int, story: Story) -> None:
    """The group is unknown again: deleted, if nothing of it can have expired; otherwise it is unknown how it ended."""
    history = story.history
    for member in history.members.values():
        story.removed(member, at_ms, _NOT_REPORTED)
    touched = [history.empty_since_ms, *(ms for of in history.last_commit_ms.values() for ms in of.values())]
    since_ms = max((ms for ms in touched if ms is not None), default=None)
    story.emit(GroupRemoved(at_ms=at_ms, why=why_gone(at_ms, since_ms), generation_id=history.generation_id))
    history.group_type, history.state, history.generation_id = None, "", 0
    history.members, history.rebalance, history.empty_since_ms = {}, None, None
    history.protocol_type, history.protocol_name, history.leader_id = None, None, None
    history.metadata_hash, history.target_epoch = None, -1
    history.converted_at_ms = history.ending_at_ms = -1
    history.end_shown_at = NO_RECORD
    history.partition_counts, history.is_followup_due, history.departures = {}, False, []
    history.downgrade_cause = None
