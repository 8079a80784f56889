"""Topic ids: OffsetCommit and OffsetFetch v10 and the newer group protocol name topics by id, a group by name.

The coordinator sees the name where the id stands and answers likewise; ids that are no topic's are answered here. A
member that joins a consumer group brings the topics that there are: their partitions are shared out by its coordinator.
Knows the messages; knows no socket.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from typing import TypeVar, assert_never

import msgspec

from coordinator_udfs.protocol.consumer.refusals import JOIN
from schemas.errors import Error
from schemas.messages import (
    ClientGroupRequest,
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    DeleteGroupsRequest,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedTopicPartitions,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Response,
    SyncGroupRequest,
)
from schemas.wire_fields import first_version

Asked = TypeVar("Asked", OffsetCommitRequestTopic, OffsetFetchRequestTopic, ConsumerGroupTopicPartitions)
Named = TypeVar("Named", ConsumerGroupTopicPartitions, DescribedTopicPartitions)
Topic = TypeVar("Topic", OffsetCommitResponseTopic, OffsetFetchResponseTopic)

_COMMIT_IDS_SINCE = first_version(OffsetCommitRequestTopic, "topic_id")
_FETCH_IDS_SINCE = first_version(OffsetFetchRequestTopic, "topic_id")
_NAMESPACE = uuid.UUID("5f0e2f0c-6f1c-5d0e-9a53-9d2b5f3f5c8e")


class TopicIds:
    """The ids of the topics there are; a topic has the same id in every gateway, at every start."""

    def __init__(self, topics: Mapping[str, int]) -> None:
        self._topics = dict(topics)
        self.by_name: Mapping[str, uuid.UUID] = {name: _id_of(name) for name in topics}
        self.name_by_id: Mapping[str, str] = {str(topic_id): name for name, topic_id in self.by_name.items()}

    def named(self, request: ClientGroupRequest) -> ClientGroupRequest:
        """The request with names where ids stand; topics of unknown id are left out."""
        match request:
            case OffsetCommitRequest() if _has_ids(request):
                return msgspec.structs.replace(request, topics=self._with_names(request.topics))
            case OffsetFetchRequest() if _has_ids(request) and request.groups[0].topics is not None:
                group = msgspec.structs.replace(request.groups[0], topics=self._with_names(request.groups[0].topics))
                return msgspec.structs.replace(request, groups=[group])
            case ConsumerGroupHeartbeatRequest():
                owned = request.topic_partitions
                return msgspec.structs.replace(
                    request,
                    topic_partitions=None if owned is None else self._with_names(owned),
                    cluster_topics=self._topics if self._topics and request.member_epoch == JOIN else None,
                )
        return request

    def answered(self, request: ClientGroupRequest, response: Response) -> Response:
        """The response to `named(request)` with ids again, and with what the unknown ids get."""
        match request, response:
            case OffsetCommitRequest(), OffsetCommitResponse() if _has_ids(request):
                return OffsetCommitResponse(
                    topics=[self._with_id(topic) for topic in response.topics] + self._unknown_committed(request)
                )
            case OffsetFetchRequest(), OffsetFetchResponse() if _has_ids(request):
                group = response.groups[0]
                known = [self._with_id(topic) for topic in group.topics if topic.topic_id in self.by_name]
                topics = known + self._unknown_fetched(request.groups[0].topics or [])
                return OffsetFetchResponse(groups=[msgspec.structs.replace(group, topics=topics)])
            case ConsumerGroupHeartbeatRequest(), ConsumerGroupHeartbeatResponse() if response.assignment is not None:
                given = [_renamed(topic) for topic in response.assignment.topic_partitions]
                return msgspec.structs.replace(response, assignment=ConsumerGroupAssignment(topic_partitions=given))
            case ConsumerGroupDescribeRequest(), ConsumerGroupDescribeResponse():
                return ConsumerGroupDescribeResponse(groups=[_described(group) for group in response.groups])
        return response

    def _with_names(self, topics: Sequence[Asked]) -> list[Asked]:
        return [
            msgspec.structs.replace(topic, topic_id=self.name_by_id[topic.topic_id])
            for topic in topics
            if topic.topic_id in self.name_by_id
        ]

    def _with_id(self, topic: Topic) -> Topic:
        return msgspec.structs.replace(topic, topic_id=str(self.by_name[topic.topic_id]))

    def _unknown_committed(self, request: OffsetCommitRequest) -> list[OffsetCommitResponseTopic]:
        return [
            OffsetCommitResponseTopic(
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(
                        partition_index=partition.partition_index, error_code=Error.UNKNOWN_TOPIC_ID
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
            if topic.topic_id not in self.name_by_id
        ]

    def _unknown_fetched(self, topics: list[OffsetFetchRequestTopic]) -> list[OffsetFetchResponseTopic]:
        return [
            OffsetFetchResponseTopic(
                topic_id=topic.topic_id,
                partitions=[
                    OffsetFetchResponsePartition(partition_index=partition, error_code=Error.UNKNOWN_TOPIC_ID)
                    for partition in topic.partition_indexes
                ],
            )
            for topic in topics
            if topic.topic_id not in self.name_by_id
        ]


def _id_of(name: str) -> uuid.UUID:
    return uuid.uuid5(_NAMESPACE, name)


def _renamed(topic: Named) -> Named:
    """With the id where its name stands."""
    return msgspec.structs.replace(topic, topic_id=str(_id_of(topic.topic_id)))


def _described(group: DescribedConsumerGroup) -> DescribedConsumerGroup:
    members = [
        msgspec.structs.replace(member, assignment=_shown(member.assignment), target_assignment=_shown(target))
        for member in group.members
        for target in (member.target_assignment,)
    ]
    return msgspec.structs.replace(group, members=members)


def _shown(assignment: DescribedAssignment) -> DescribedAssignment:
    return DescribedAssignment(topic_partitions=[_renamed(topic) for topic in assignment.topic_partitions])


def _has_ids(request: ClientGroupRequest) -> bool:
    """Whether the request names topics by id."""
    match request:
        case OffsetCommitRequest():
            return request.api_version >= _COMMIT_IDS_SINCE
        case OffsetFetchRequest():
            return request.api_version >= _FETCH_IDS_SINCE
        case (
            OffsetDeleteRequest()
            | JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | LeaveGroupRequest()
            | DescribeGroupsRequest()
            | DeleteGroupsRequest()
            | ConsumerGroupHeartbeatRequest()
            | ConsumerGroupDescribeRequest()
        ):
            return False
        case _:
            assert_never(request)
