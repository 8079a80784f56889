"""The facts in offsets' records: commits with the partitions' owners, and removed offsets.

Knows who owns what. Must not know a generation or an epoch. The rules stand in docs/offsets-topic.md under "Commits".
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.inputs.offsets_topic.history.state import Member
from rollcall.inputs.offsets_topic.history.story import Story
from rollcall.inputs.offsets_topic.records.shapes import OffsetCommitKey, OffsetCommitValue
from rollcall.schemas.effects import OffsetCommitted, OffsetsCommitted, OffsetsRemoved, TopicPartitions

LEAST_RETENTION_MS = 60_000
"""offsets.retention.minutes is at least 1, so an offset removed sooner did not expire."""


def emit_commit(key: OffsetCommitKey, value: OffsetCommitValue, at_ms: int, story: Story) -> None:
    """An offset was committed; commits of one owner at one time are one fact."""
    history = story.history
    owner = _owner_of(story, key.topic, value.topic_id, key.partition)
    if owner is not None:
        _note(owner, at_ms)
    history.last_commit_ms.setdefault(key.topic, {})[key.partition] = at_ms
    offset = OffsetCommitted(
        topic=key.topic,
        partition=key.partition,
        committed_offset=value.offset,
        leader_epoch=value.leader_epoch,
        metadata=value.metadata,
        commit_timestamp_ms=value.commit_timestamp,
    )
    member_id = "" if owner is None else owner.member_id
    last = story.list_of(OffsetsCommitted, at_ms)
    if last is not None and last.member_id == member_id:
        last.offsets.append(offset)
        return
    story.emit(
        OffsetsCommitted(
            at_ms=at_ms, request_id="", member_id=member_id, generation_id=-1, offsets=[offset], is_inferred=True
        )
    )


def emit_removal(key: OffsetCommitKey, at_ms: int, story: Story) -> None:
    """A stored offset was removed: deleted if it was younger than any retention, otherwise it is unknown why."""
    history = story.history
    of_topic = history.last_commit_ms.get(key.topic, {})
    committed_ms = of_topic.pop(key.partition, None)
    if not of_topic:
        history.last_commit_ms.pop(key.topic, None)
    why = why_gone(at_ms, committed_ms)
    last = story.list_of(OffsetsRemoved, at_ms)
    if last is not None and last.why == why:
        same = next((one for one in last.offsets if one.topic == key.topic), None)
        if same is None:
            last.offsets.append(TopicPartitions(topic=key.topic, partitions=[key.partition]))
        else:
            same.partitions.append(key.partition)
        return
    gone = TopicPartitions(topic=key.topic, partitions=[key.partition])
    story.emit(OffsetsRemoved(at_ms=at_ms, why=why, offsets=[gone]))


def why_gone(at_ms: int, since_ms: int | None) -> str:
    """Why something last written at since_ms was removed: deleted if no retention can have run out."""
    if since_ms is not None and at_ms - since_ms < LEAST_RETENTION_MS:
        return "deleted"
    return "unknown"


def _owner_of(story: Story, topic: str, topic_id: str | None, partition: int) -> Member | None:
    """The owner of a partition; None if there is none, or two for the moment."""
    members = story.history.members.values()
    name = topic_id if story.history.group_type is GroupType.CONSUMER else topic
    if name is None:
        found = [one for one in members if story.holds(one, topic, partition)]
    else:
        found = [one for one in members if partition in one.held.get(name, ())]
    return found[0] if len(found) == 1 else None


def _note(member: Member, at_ms: int) -> None:
    """A commit on a member's partition; several at one time are one."""
    commits = member.commits
    if commits.last_ms is None:
        commits.count = 1
    elif at_ms > commits.last_ms:
        commits.count += 1
        commits.longest_gap_ms = max(commits.longest_gap_ms, at_ms - commits.last_ms)
    commits.last_ms = max(at_ms, commits.last_ms or at_ms)
