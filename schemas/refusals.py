"""The response that tells of one error, for each group API: where an error stands differs from API to API.

Knows the messages; knows no reason to refuse. Source: the getErrorResponse methods of Kafka's requests.
"""

from __future__ import annotations

from typing import assert_never

from schemas.errors import Error
from schemas.messages import (
    ClientRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    Coordinator,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    LeaveGroupResponse,
    ListGroupsRequest,
    ListGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteResponse,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Response,
    SyncGroupRequest,
    SyncGroupResponse,
)
from schemas.wire_fields import first_version

_MANY_KEYS_SINCE = first_version(FindCoordinatorResponse, "coordinators")
_FETCH_ERROR_ON_TOP_SINCE = first_version(OffsetFetchResponse, "error_code")
_MANY_GROUPS_SINCE = first_version(OffsetFetchResponse, "groups")


def refusal(request: ClientRequest, error: Error) -> Response:
    """The response to a request that gets nothing but this error, for every group and partition it names."""
    match request:
        case FindCoordinatorRequest():
            return _find_coordinator(request, error)
        case JoinGroupRequest():
            return JoinGroupResponse(error_code=error)
        case SyncGroupRequest():
            return SyncGroupResponse(error_code=error)
        case HeartbeatRequest():
            return HeartbeatResponse(error_code=error)
        case LeaveGroupRequest():
            return LeaveGroupResponse(error_code=error)
        case OffsetCommitRequest():
            return _offset_commit(request, error)
        case OffsetFetchRequest():
            return _offset_fetch(request, error)
        case OffsetDeleteRequest():
            return OffsetDeleteResponse(error_code=error)
        case DescribeGroupsRequest() | DeleteGroupsRequest() | ConsumerGroupDescribeRequest():
            return _many_groups(request, error)
        case ListGroupsRequest():
            return ListGroupsResponse(error_code=error)
        case ConsumerGroupHeartbeatRequest():
            return ConsumerGroupHeartbeatResponse(error_code=error)
        case _:
            assert_never(request)


def _many_groups(
    request: DescribeGroupsRequest | DeleteGroupsRequest | ConsumerGroupDescribeRequest, error: Error
) -> Response:
    match request:
        case DescribeGroupsRequest():
            groups = [DescribedGroup(group_id=name, group_state="", error_code=error) for name in request.groups]
            return DescribeGroupsResponse(groups=groups)
        case DeleteGroupsRequest():
            results = [DeletableGroupResult(group_id=name, error_code=error) for name in request.groups_names]
            return DeleteGroupsResponse(results=results)
        case ConsumerGroupDescribeRequest():
            described = [DescribedConsumerGroup(group_id=name, error_code=error) for name in request.group_ids]
            return ConsumerGroupDescribeResponse(groups=described)
        case _:
            assert_never(request)


def _offset_commit(request: OffsetCommitRequest, error: Error) -> OffsetCommitResponse:
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=error)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _offset_fetch(request: OffsetFetchRequest, error: Error) -> OffsetFetchResponse:
    if request.api_version >= _MANY_GROUPS_SINCE:
        return OffsetFetchResponse(
            groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=error) for group in request.groups]
        )
    if request.api_version >= _FETCH_ERROR_ON_TOP_SINCE:
        return OffsetFetchResponse(error_code=error)
    return OffsetFetchResponse(topics=[_fetched_topic(topic, error) for topic in request.topics or []])


def _fetched_topic(topic: OffsetFetchRequestTopic, error: Error) -> OffsetFetchResponseTopic:
    return OffsetFetchResponseTopic(
        name=topic.name,
        partitions=[
            OffsetFetchResponsePartition(partition_index=partition, error_code=error)
            for partition in topic.partition_indexes
        ],
    )


def _find_coordinator(request: FindCoordinatorRequest, error: Error) -> FindCoordinatorResponse:
    if request.api_version < _MANY_KEYS_SINCE:
        return FindCoordinatorResponse(error_code=error)
    return FindCoordinatorResponse(
        coordinators=[Coordinator(key=key, error_code=error) for key in request.coordinator_keys]
    )
