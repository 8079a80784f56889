"""OffsetFetch (key 9, v1-10): what a group has committed, whatever its state.

v2 null topics mean all, v5 leader epochs, v7 require_stable (no transactions here, so nothing is ever unstable),
v8 several groups in one message, v10 topic ids. Source: OffsetMetadataManager.fetchOffsets, fetchAllOffsets.
"""

from __future__ import annotations

from copy import copy

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.offsets import refusal_of_fetch
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.members import size_of_text
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import names_many_groups
from rollcall.schemas.makers import by_topic
from rollcall.schemas.messages import (
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from rollcall.schemas.refusals import refusal

_PARTITION_BYTES = 120
"""Bytes of the answer for a partition, without its metadata."""


def offset_fetch(group: Group, request: OffsetFetchRequest, turn: Turn) -> None:
    """Every partition asked for, -1 where nothing is committed; an unknown group has committed nothing.

    Errors: in a consumer group UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH or ILLEGAL_GENERATION for the group, to a member
    that names another epoch than its own; UNKNOWN_SERVER_ERROR where the answer would be longer than what a group's
    members may take; UNKNOWN_TOPIC_ID (v10) per partition.
    """
    is_grouped = names_many_groups(request)
    if is_grouped and group.consumer is not None:
        error = refusal_of_fetch(group.consumer, request.groups[0])
        if error is not None:
            return _refuse(group, request, error, turn)
    asked = request.groups[0].topics if is_grouped else request.topics
    if asked is not None and _is_too_long(group, asked, turn.config):
        return _refuse(group, request, Error.UNKNOWN_SERVER_ERROR, turn)
    topics = _all_topics(group) if asked is None else [_topic(group, topic, turn.config) for topic in asked]
    if is_grouped:
        response = OffsetFetchResponse(groups=[OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)])
    else:
        response = OffsetFetchResponse(topics=topics)
    member_id = (request.groups[0].member_id or "") if is_grouped else ""
    return answer(request, "OffsetFetch", Error.NONE, response, turn, member_id=member_id)


def _refuse(group: Group, request: OffsetFetchRequest, error: Error, turn: Turn) -> None:
    """The error stands on top from v2 to v7, with the group from v8; v1 has it with each topic's first partition."""
    member_id = (request.groups[0].member_id or "") if names_many_groups(request) else ""
    short = copy(request)
    short.topics = [
        OffsetFetchRequestTopic(name=topic.name, partition_indexes=topic.partition_indexes[:1])
        for topic in request.topics or ()
    ]
    answer(request, "OffsetFetch", error, refusal(short, error), turn, member_id=member_id)


def _is_too_long(group: Group, asked: list[OffsetFetchRequestTopic], config: GroupConfig) -> bool:
    most = config.members_max_bytes
    if most >= INT32_MAX:
        return False
    size = _PARTITION_BYTES * sum(len(topic.partition_indexes) for topic in asked)
    if size > most:
        return True
    # Each partition may be asked for many times, and is answered as often.
    for topic in asked:
        name = topic.topic
        stored = (group.offsets.get((name, partition)) for partition in topic.partition_indexes)
        size += sum(size_of_text(offset.metadata) for offset in stored if offset is not None and offset.metadata)
    return size > most


def _all_topics(group: Group) -> list[OffsetFetchResponseTopic]:
    return [
        OffsetFetchResponseTopic(
            name=each.topic, partitions=[_partition(group, each.topic, p) for p in each.partitions]
        )
        for each in by_topic(group.offsets)
    ]


def _topic(group: Group, topic: OffsetFetchRequestTopic, config: GroupConfig) -> OffsetFetchResponseTopic:
    name = topic.topic
    partitions = [_partition(group, name, partition) for partition in topic.partition_indexes]
    if topic.topic_id and config.topics is not None and name not in config.topics:
        for partition in partitions:
            partition.error_code = Error.UNKNOWN_TOPIC_ID
    return OffsetFetchResponseTopic(name=topic.name, topic_id=topic.topic_id, partitions=partitions)


def _partition(group: Group, topic: str, partition: int) -> OffsetFetchResponsePartition:
    offset = group.offsets.get((topic, partition))
    if offset is None:
        return OffsetFetchResponsePartition(partition_index=partition)
    return OffsetFetchResponsePartition(
        partition_index=partition,
        committed_offset=offset.committed_offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )
