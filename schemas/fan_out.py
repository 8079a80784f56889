"""Splits a request that names many groups into requests that name one each, and joins their answers.

Kafka's DescribeGroups, ConsumerGroupDescribe, DeleteGroups and OffsetFetch (v8+) name several groups in one message;
each group answers for itself, so a gateway (or the trace) splits the request and joins the responses in the order
asked.

Knows the messages; knows no rule of the protocol.
"""

from __future__ import annotations

from typing import TypeVar, assert_never

import msgspec

from schemas.messages import (
    AnyGroupRequest,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    GroupObservedRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchResponse,
    Response,
    SyncGroupRequest,
)
from schemas.wire_fields import first_version

AGroupRequest = TypeVar("AGroupRequest", bound=AnyGroupRequest)

_GROUPS_SINCE = first_version(OffsetFetchRequest, "groups")


def names_many_groups(request: OffsetFetchRequest) -> bool:
    """Whether an OffsetFetch is of a version that lists groups; an older one names one group, beside its topics."""
    return request.api_version >= _GROUPS_SINCE


def group_id_of(request: AnyGroupRequest) -> str:
    """The group a request that names exactly one group is for."""
    match request:
        case DescribeGroupsRequest():
            return request.groups[0]
        case DeleteGroupsRequest():
            return request.groups_names[0]
        case ConsumerGroupDescribeRequest():
            return request.group_ids[0]
        case OffsetFetchRequest() if names_many_groups(request):
            return request.groups[0].group_id
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | LeaveGroupRequest()
            | OffsetCommitRequest()
            | OffsetFetchRequest()
            | OffsetDeleteRequest()
            | GroupObservedRequest()
            | ConsumerGroupHeartbeatRequest()
        ):
            return request.group_id
        case _:
            assert_never(request)


def split(request: AGroupRequest) -> list[AGroupRequest]:
    """A request for each group that it names, in order; DeleteGroups only one for a group that is named twice."""
    match request:
        case DescribeGroupsRequest():
            return [msgspec.structs.replace(request, groups=[group_id]) for group_id in request.groups]
        case ConsumerGroupDescribeRequest():
            return [msgspec.structs.replace(request, group_ids=[group_id]) for group_id in request.group_ids]
        case DeleteGroupsRequest():
            return [
                msgspec.structs.replace(request, groups_names=[name]) for name in dict.fromkeys(request.groups_names)
            ]
        case OffsetFetchRequest() if names_many_groups(request):
            return [msgspec.structs.replace(request, groups=[group]) for group in request.groups]
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | LeaveGroupRequest()
            | OffsetCommitRequest()
            | OffsetFetchRequest()
            | OffsetDeleteRequest()
            | GroupObservedRequest()
            | ConsumerGroupHeartbeatRequest()
        ):
            return [request]
        case _:
            assert_never(request)


def join(request: AnyGroupRequest, responses: list[Response]) -> Response:
    """The responses to `split(request)`, in its order, as the one response the client asked for."""
    match request:
        case DescribeGroupsRequest():
            return DescribeGroupsResponse(groups=[group for r in responses for group in r.groups])  # type: ignore[attr-defined]
        case ConsumerGroupDescribeRequest():
            return ConsumerGroupDescribeResponse(groups=[group for r in responses for group in r.groups])  # type: ignore[attr-defined]
        case DeleteGroupsRequest():
            return DeleteGroupsResponse(results=[result for r in responses for result in r.results])  # type: ignore[attr-defined]
        case OffsetFetchRequest() if names_many_groups(request):
            return OffsetFetchResponse(groups=[group for r in responses for group in r.groups])  # type: ignore[attr-defined]
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | LeaveGroupRequest()
            | OffsetCommitRequest()
            | OffsetFetchRequest()
            | OffsetDeleteRequest()
            | GroupObservedRequest()
            | ConsumerGroupHeartbeatRequest()
        ):
            return responses[0]
        case _:
            assert_never(request)


def is_for_one_group(request: object) -> bool:
    """Whether groups answer the request: not ListGroups and FindCoordinator."""
    return not isinstance(request, ListGroupsRequest | FindCoordinatorRequest)
