"""Topic ids: OffsetCommit and OffsetFetch v10 name topics by id, a group remembers them by name.

The coordinator sees the name where the id stands and answers likewise; ids that are no topic's are answered here.
Knows the messages; knows no socket.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar, assert_never

import msgspec

from schemas.errors import Error
from schemas.messages import (
    ClientGroupRequest,
    DeleteGroupsRequest,
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

Asked = TypeVar("Asked", OffsetCommitRequestTopic, OffsetFetchRequestTopic)
Topic = TypeVar("Topic", OffsetCommitResponseTopic, OffsetFetchResponseTopic)

_COMMIT_IDS_SINCE = first_version(OffsetCommitRequestTopic, "topic_id")
_FETCH_IDS_SINCE = first_version(OffsetFetchRequestTopic, "topic_id")
_NAMESPACE = uuid.UUID("5f0e2f0c-6f1c-5d0e-9a53-9d2b5f3f5c8e")


class TopicIds:
    """The ids of the topics there are; a topic has the same id in every gateway, at every start."""

    def __init__(self, names: Iterable[str]) -> None:
        self.by_name: Mapping[str, uuid.UUID] = {name: uuid.uuid5(_NAMESPACE, name) for name in names}
        self.name_by_id: Mapping[str, str] = {str(topic_id): name for name, topic_id in self.by_name.items()}

    def named(self, request: ClientGroupRequest) -> ClientGroupRequest:
        """The request with names where ids stand; topics of unknown id are left out."""
        match request:
            case OffsetCommitRequest() if _has_ids(request):
                return msgspec.structs.replace(request, topics=self._with_names(request.topics))
            case OffsetFetchRequest() if _has_ids(request) and request.groups[0].topics is not None:
                group = msgspec.structs.replace(request.groups[0], topics=self._with_names(request.groups[0].topics))
                return msgspec.structs.replace(request, groups=[group])
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
        ):
            return False
        case _:
            assert_never(request)
