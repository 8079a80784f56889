"""OffsetDelete (key 47, v0): an administrator deletes committed offsets.

Source: OffsetMetadataManager.deleteOffsets, ClassicGroup.validateOffsetDelete, isSubscribedToTopic.
"""

from __future__ import annotations

from collections.abc import Container

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.consumer.subscription import subscribed_topics
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.offset_expiry import remove_offsets
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)


def offset_delete(group: Group, request: OffsetDeleteRequest, turn: Turn) -> None:
    """Deletes the offset of each partition that is named; a partition without one also gets NONE.

    Errors in the order checked, on top with no topics: INVALID_GROUP_ID, GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP (members
    of another protocol type than consumer). Per partition: UNKNOWN_TOPIC_OR_PARTITION, GROUP_SUBSCRIBED_TO_TOPIC.
    """
    error = _refusal(group, request)
    if error is not None:
        return answer(request, "OffsetDelete", error, OffsetDeleteResponse(error_code=error), turn)
    deleted: dict[tuple[str, int], None] = {}
    subscribed = _subscribed(group)
    topics = []
    for topic in (topic for topic in request.topics if topic.partitions):
        partitions = []
        for partition in topic.partitions:
            key = (topic.name, partition.partition_index)
            error = _partition_error(key, subscribed, turn)
            if error is Error.NONE and key in group.offsets:
                deleted[key] = None
            partitions.append(
                OffsetDeleteResponsePartition(partition_index=partition.partition_index, error_code=error)
            )
        topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    remove_offsets(group, deleted, "deleted", turn)
    return answer(request, "OffsetDelete", Error.NONE, OffsetDeleteResponse(topics=topics), turn)


def _refusal(group: Group, request: OffsetDeleteRequest) -> Error | None:
    if not request.group_id:
        return Error.INVALID_GROUP_ID
    if not group.is_known or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    if not group.is_empty and group.protocol_type != "consumer":
        return Error.NON_EMPTY_GROUP
    return None


def _partition_error(key: tuple[str, int], subscribed: Container[str] | None, turn: Turn) -> Error:
    topic, partition = key
    if not turn.config.has_partition(topic, partition):
        return Error.UNKNOWN_TOPIC_OR_PARTITION
    if subscribed is None or topic in subscribed:
        return Error.GROUP_SUBSCRIBED_TO_TOPIC
    return Error.NONE


def _subscribed(group: Group) -> Container[str] | None:
    """The topics that the group subscribes to; None where that is unknown, which counts as all."""
    if group.consumer is not None:
        return subscribed_topics(group.consumer)
    if group.subscribed_topics is not None:
        return group.subscribed_topics
    return None if group.protocol_type == "consumer" else ()
