"""OffsetCommit (key 8, v2-10): a member, or a consumer that assigns its own partitions, stores its offsets.

v2-4 may name a retention of their own, v7 adds the instance id, v9 the error GROUP_ID_NOT_FOUND, v10 topic ids.
Source: OffsetMetadataManager.commitOffset, ClassicGroup.validateOffsetCommit.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.offsets import refusal_of_commit
from rollcall.coordinator_udfs.protocol.group import CommittedOffset, Group, GroupView
from rollcall.coordinator_udfs.protocol.group_room import OffsetsRoom
from rollcall.coordinator_udfs.protocol.lifecycle import create_group
from rollcall.coordinator_udfs.protocol.membership import keep_alive, refusal_of_member
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.effects import OffsetCommitted, OffsetsCommitted
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from rollcall.schemas.wire_fields import carries

GROUP_ID_NOT_FOUND_SINCE = 9


def offset_commit(group: Group, request: OffsetCommitRequest, turn: Turn) -> None:
    """Stores the offsets of partitions that exist. If there are any, the group's checks follow; their error goes to all
    of these.

    Errors in the order checked: UNKNOWN_TOPIC_OR_PARTITION (v10, unknown topic: UNKNOWN_TOPIC_ID) per partition; for
    the group GROUP_ID_NOT_FOUND (before v9 ILLEGAL_GENERATION), COORDINATOR_NOT_AVAILABLE, UNKNOWN_MEMBER_ID,
    FENCED_INSTANCE_ID, ILLEGAL_GENERATION, REBALANCE_IN_PROGRESS; last OFFSET_METADATA_TOO_LARGE and, in a group
    without room for more offsets, INVALID_COMMIT_OFFSET_SIZE per partition. For a consumer group see
    `consumer.offsets`. For a commit that a gateway has acknowledged only the group's checks are made.
    """
    has_any = any(_existence_error(turn.config, request, t, p) is None for t in request.topics for p in t.partitions)
    group_error = _refusal(group, request, turn.config) if has_any else None
    if has_any and group_error is None:
        if not group.is_known:
            create_group(group, turn)
        member = group.members.get(request.member_id)
        if member is not None and request.generation_id_or_member_epoch >= 0:
            keep_alive(group, member, turn)
    stored: dict[tuple[str, int], OffsetCommitted] = {}
    room = OffsetsRoom(group, turn.config.offsets_max_bytes)
    topics = [
        _commit_topic(group, topic, group_error, request, stored, room, turn)
        for topic in request.topics
        if topic.partitions
    ]
    if stored:
        turn.emit(
            OffsetsCommitted(
                at_ms=turn.now_ms,
                request_id=request.request_id,
                member_id=request.member_id,
                generation_id=request.generation_id_or_member_epoch,
                offsets=list(stored.values()),
            )
        )
    worst = next((p.error_code for t in topics for p in t.partitions if p.error_code is not Error.NONE), Error.NONE)
    answer(
        request,
        "OffsetCommit",
        worst,
        OffsetCommitResponse(topics=topics),
        turn,
        member_id=request.member_id,
        generation_id=request.generation_id_or_member_epoch,
    )


def _existence_error(
    config: GroupConfig,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    partition: OffsetCommitRequestPartition,
) -> Error | None:
    if request.is_acknowledged:
        # The partition existed when the gateway acknowledged the commit.
        return None
    if topic.topic_id and config.topics is not None and topic.topic not in config.topics:
        return Error.UNKNOWN_TOPIC_ID
    if not config.has_partition(topic.topic, partition.partition_index):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    return None


def _refusal(group: Group, request: OffsetCommitRequest, config: GroupConfig) -> Error | None:
    generation_id = request.generation_id_or_member_epoch
    if group.consumer is not None:
        named = ((topic, partition) for topic in request.topics for partition in topic.partitions)
        storable = ((t.topic, p.partition_index) for t, p in named if not refusal_of_partition(config, request, t, p))
        return refusal_of_commit(group.consumer, request, storable)
    if not group.is_known and generation_id < 0:
        return None
    return error_of_commit(group, request)


def error_of_commit(group: GroupView, request: OffsetCommitRequest) -> Error | None:
    """Why a classic group stores nothing of a commit; changes nothing."""
    generation_id = request.generation_id_or_member_epoch
    if not group.is_known:
        return Error.GROUP_ID_NOT_FOUND if request.api_version >= GROUP_ID_NOT_FOUND_SINCE else Error.ILLEGAL_GENERATION
    if group.state == GroupState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    if generation_id < 0 and group.state == GroupState.EMPTY:
        return None
    if generation_id >= 0 or request.member_id or request.group_instance_id is not None:
        refusal = refusal_of_member(group, request.member_id, request.group_instance_id)
        if refusal is not None:
            return refusal
        if generation_id != group.generation_id:
            return Error.ILLEGAL_GENERATION
    else:
        return Error.UNKNOWN_MEMBER_ID
    return Error.REBALANCE_IN_PROGRESS if group.state == GroupState.COMPLETING_REBALANCE else None


def utf16_length(text: str) -> int:
    """String.length(): the number of UTF-16 units; a character outside the basic plane counts as two."""
    return len(text) if text.isascii() else len(text.encode("utf-16-be", "surrogatepass")) // 2


def refusal_of_partition(
    config: GroupConfig,
    request: OffsetCommitRequest,
    topic: OffsetCommitRequestTopic,
    partition: OffsetCommitRequestPartition,
) -> Error | None:
    """Why a partition's offset is not stored, whatever group commits it: it does not exist, or the metadata is long."""
    error = _existence_error(config, request, topic, partition)
    metadata = partition.committed_metadata
    if error is not None or metadata is None or request.is_acknowledged:
        return error
    return Error.OFFSET_METADATA_TOO_LARGE if utf16_length(metadata) > config.offset_metadata_max_bytes else None


def _commit_topic(
    group: Group,
    topic: OffsetCommitRequestTopic,
    group_error: Error | None,
    request: OffsetCommitRequest,
    stored: dict[tuple[str, int], OffsetCommitted],
    room: OffsetsRoom,
    turn: Turn,
) -> OffsetCommitResponseTopic:
    partitions = []
    for partition in topic.partitions:
        error = refusal_of_partition(turn.config, request, topic, partition)
        if error in (None, Error.OFFSET_METADATA_TOO_LARGE):
            error = group_error or error
        name, metadata = topic.topic, partition.committed_metadata or ""
        has_room = request.is_acknowledged or room.takes(name, partition.partition_index, metadata)
        if error is None and not has_room:
            error = Error.INVALID_COMMIT_OFFSET_SIZE
        if error is None:
            stored[name, partition.partition_index] = _store(group, name, partition, request, turn)
        partitions.append(
            OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error or Error.NONE)
        )
    return OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _store(
    group: Group, topic: str, partition: OffsetCommitRequestPartition, request: OffsetCommitRequest, turn: Turn
) -> OffsetCommitted:
    names_retention = request.retention_time_ms != -1 and carries(
        OffsetCommitRequest, "retention_time_ms", request.api_version
    )
    offset = CommittedOffset(
        committed_offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp_ms=turn.now_ms,
        expire_timestamp_ms=turn.now_ms + request.retention_time_ms if names_retention else None,
    )
    group.offsets[topic, partition.partition_index] = offset
    return OffsetCommitted(
        topic=topic,
        partition=partition.partition_index,
        committed_offset=offset.committed_offset,
        leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
        commit_timestamp_ms=offset.commit_timestamp_ms,
    )
