"""The offset sweep: every offsets.retention.check.interval.ms, old offsets are removed, and then groups with nothing
left.

Source: OffsetMetadataManager.cleanupExpiredOffsets, ClassicGroup.offsetExpirationCondition.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_udfs.protocol.consumer.subscription import subscribed_topics
from coordinator_udfs.protocol.deadlines import arm_sweep
from coordinator_udfs.protocol.effects import GroupRemoved, OffsetsRemoved, TopicPartitions
from coordinator_udfs.protocol.group import CommittedOffset, Group
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.turn import Turn


def sweep_offsets(group: Group, turn: Turn) -> None:
    """Removes expired offsets; an Empty group without any offset is removed as well."""
    expired = [key for key, offset in group.offsets.items() if _is_expired(group, key[0], offset, turn)]
    remove_offsets(group, expired, "expired", turn)
    if group.is_empty and not group.offsets:
        remove_group(group, "expired", turn)
        return
    arm_sweep(group, turn)


def _is_expired(group: Group, topic: str, offset: CommittedOffset, turn: Turn) -> bool:
    """The age counts from when the group became Empty, or from the commit where the group's members do not protect the
    offset.

    A group with a protocol type, in any state but Empty and (for type consumer) Stable, keeps everything; under the
    newer protocol every topic that nobody subscribes to is measured from the commit.
    """
    if group.consumer is not None:
        if topic in subscribed_topics(group.consumer):
            return False
        base_ms = offset.commit_timestamp_ms
    elif group.protocol_type is None:
        base_ms = offset.commit_timestamp_ms
    elif group.state is GroupState.EMPTY:
        base_ms = group.state_timestamp_ms
    elif group.protocol_type == "consumer" and group.state is GroupState.STABLE and group.subscribed_topics is not None:
        if topic in group.subscribed_topics:
            return False
        base_ms = offset.commit_timestamp_ms
    else:
        return False
    if offset.expire_timestamp_ms is not None:
        return offset.expire_timestamp_ms <= turn.now_ms
    return turn.now_ms - base_ms >= turn.config.offsets_retention_ms


def remove_offsets(group: Group, keys: Iterable[tuple[str, int]], why: str, turn: Turn) -> None:
    """Removes stored offsets and emits it, if there are any."""
    topics: dict[str, list[int]] = {}
    for topic, partition in keys:
        del group.offsets[topic, partition]
        topics.setdefault(topic, []).append(partition)
    if topics:
        removed = [
            TopicPartitions(topic=topic, partitions=sorted(partitions)) for topic, partitions in sorted(topics.items())
        ]
        turn.emit(OffsetsRemoved(at_ms=turn.now_ms, why=why, offsets=removed))


def remove_group(group: Group, why: str, turn: Turn) -> None:
    """Makes the group unknown again, and forgets the ids given out."""
    remove_offsets(group, list(group.offsets), "group_removed", turn)
    turn.emit(GroupRemoved(at_ms=turn.now_ms, why=why, generation_id=group.generation_id))
    group.forget()
