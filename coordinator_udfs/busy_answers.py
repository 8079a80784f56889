"""What a request is answered that a group has no room to put off: that its coordinator is busy, so that it comes again.

Kafka's word for it is COORDINATOR_LOAD_IN_PROGRESS, which every client takes as: wait, and ask again. Knows the shapes
of answers; knows no group.
"""

from __future__ import annotations

from coordinator_udfs.protocol.effects import Reply
from coordinator_udfs.protocol.offset_fetch import refused_fetch
from schemas.errors import Error
from schemas.messages import (
    APIS,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedConsumerGroup,
    DescribedGroup,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetFetchRequest,
    Response,
    StreamRequest,
)

BUSY = Error.COORDINATOR_LOAD_IN_PROGRESS
THROTTLE_MS = 1000
"""How long a client is told to wait whose request was put off, or refused for that."""


def busy_reply(group_id: str, request: StreamRequest, at_ms: int) -> Reply:
    """The reply to a request that is not taken; at_ms: when it is answered."""
    response = _response(group_id, request)
    throttle(response)
    return Reply(
        at_ms=at_ms,
        request_id=request.request_id,
        api=str(type(request).__struct_config__.tag),
        api_version=request.api_version,
        error_code=BUSY,
        member_id=getattr(request, "member_id", ""),
        client_id=request.client_id,
        generation_id=-1,
        received_at_ms=at_ms,
        response=response,
    )


def throttle(response: Response) -> None:
    """The client is to wait before it asks again."""
    if "throttle_time_ms" in response.__struct_fields__:
        response.throttle_time_ms = THROTTLE_MS  # type: ignore[attr-defined]


def _response(group_id: str, request: StreamRequest) -> Response:
    match request:
        case OffsetCommitRequest():
            return OffsetCommitResponse(topics=_committed(request))
        case OffsetFetchRequest():
            return refused_fetch(group_id, request, BUSY)
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(groups=[DescribedGroup(group_id=group_id, group_state="", error_code=BUSY)])
        case ConsumerGroupDescribeRequest():
            return ConsumerGroupDescribeResponse(groups=[DescribedConsumerGroup(group_id=group_id, error_code=BUSY)])
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=group_id, error_code=BUSY)])
    bare: Response = APIS[str(type(request).__struct_config__.tag)].response(error_code=BUSY)
    return bare


def _committed(request: OffsetCommitRequest) -> list[OffsetCommitResponseTopic]:
    return [
        OffsetCommitResponseTopic(
            name=topic.name,
            topic_id=topic.topic_id,
            partitions=[
                OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=BUSY)
                for each in topic.partitions
            ],
        )
        for topic in request.topics
    ]
