"""The response with one error, for each group API: the place of the error differs from API to API.

Knows the messages; knows no reason to refuse. Source: the getErrorResponse methods of Kafka's requests.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import groups_named, listed_in
from rollcall.schemas.messages import (
    API_OF,
    AlterConfigsRequest,
    AlterConfigsResult,
    ClientRequest,
    ConsumerGroupDescribeRequest,
    Coordinator,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResult,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsRequest,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    IncrementalAlterConfigsRequest,
    ListConfigResourcesRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
    Request,
    Response,
    Shape,
)
from rollcall.schemas.wire_fields import first_version


def _of_resource(answer: Callable[..., Shape]) -> Callable[..., Shape]:
    return lambda group_id, error_code: answer(resource_name=group_id, error_code=error_code)


_MANY_KEYS_SINCE = first_version(FindCoordinatorResponse, "coordinators")
_FETCH_ERROR_ON_TOP_SINCE = first_version(OffsetFetchResponse, "error_code")
_ANSWER_OF: dict[type[Request], Callable[..., Shape]] = {
    DescribeGroupsRequest: partial(DescribedGroup, group_state=""),
    DeleteGroupsRequest: DeletableGroupResult,
    ConsumerGroupDescribeRequest: DescribedConsumerGroup,
    OffsetFetchRequest: OffsetFetchResponseGroup,
    DescribeConfigsRequest: _of_resource(DescribeConfigsResult),
    AlterConfigsRequest: _of_resource(AlterConfigsResult),
    IncrementalAlterConfigsRequest: _of_resource(AlterConfigsResult),
}
"""The part of a response about one of several groups, with its group_id and error_code."""


def refusal(request: ClientRequest, error: Error) -> Response:
    """The response to a request that gets nothing but this error, for every group and partition it names."""
    api = API_OF[type(request)]
    match request:
        case FindCoordinatorRequest():
            return _find_coordinator(request, error)
        case OffsetCommitRequest():
            return _offset_commit(request, error)
        case OffsetFetchRequest() if request.api_version < _FETCH_ERROR_ON_TOP_SINCE:
            return OffsetFetchResponse(topics=[fetched_topic(topic, error) for topic in request.topics or []])
        case ListGroupsRequest() | ListConfigResourcesRequest():
            return api.response(error_code=error)
    if not listed_in(request):
        return api.response(error_code=error)
    refused = [_ANSWER_OF[type(request)](group_id=group_id, error_code=error) for group_id in groups_named(request)]
    return api.response(**{api.answers: refused})


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


def fetched_topic(topic: OffsetFetchRequestTopic, error: Error) -> OffsetFetchResponseTopic:
    """A topic of an OffsetFetch with this error for each of its partitions."""
    return OffsetFetchResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
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
