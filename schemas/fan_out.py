"""Splits a request that names many groups into requests that name one each, and joins their answers.

Kafka's DescribeGroups, ConsumerGroupDescribe, DeleteGroups and OffsetFetch (v8+) name several groups in one message;
each group answers for itself, so a gateway (or the trace) splits the request and joins the responses in the order
asked.

Knows the messages; knows no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, assert_never

import msgspec

from schemas.messages import (
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
    HeartbeatRunRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    Response,
    StreamRequest,
    SyncGroupRequest,
)
from schemas.wire_fields import first_version

AGroupRequest = TypeVar("AGroupRequest", bound=StreamRequest)

_encoder = msgspec.msgpack.Encoder()
_GROUPS_SINCE = first_version(OffsetFetchRequest, "groups")


def names_many_groups(request: OffsetFetchRequest) -> bool:
    """Whether an OffsetFetch is of a version that lists groups; an older one names one group, beside its topics."""
    return request.api_version >= _GROUPS_SINCE


def group_id_of(request: StreamRequest) -> str:
    """The group a request that names exactly one group is for."""
    return groups_named(request)[0]


def groups_named(request: StreamRequest) -> list[str]:
    """Every group that the request names, as often as it lists it."""
    match request:
        case DescribeGroupsRequest():
            return request.groups
        case DeleteGroupsRequest():
            return request.groups_names
        case ConsumerGroupDescribeRequest():
            return request.group_ids
        case OffsetFetchRequest() if names_many_groups(request):
            return [group.group_id for group in request.groups]
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | HeartbeatRunRequest()
            | LeaveGroupRequest()
            | OffsetCommitRequest()
            | OffsetFetchRequest()
            | OffsetDeleteRequest()
            | GroupObservedRequest()
            | ConsumerGroupHeartbeatRequest()
        ):
            return [request.group_id]
        case _:
            assert_never(request)


def each_once(request: AGroupRequest) -> AGroupRequest:
    """The request with each group that it describes, fetches or deletes listed once, where it is first mentioned.

    An OffsetFetch that lists a group several times asks it for everything together, each partition once; who asks is
    what the first mention says.
    """
    match request:
        case DescribeGroupsRequest():
            return msgspec.structs.replace(request, groups=list(dict.fromkeys(request.groups)))
        case ConsumerGroupDescribeRequest():
            return msgspec.structs.replace(request, group_ids=list(dict.fromkeys(request.group_ids)))
        case DeleteGroupsRequest():
            return msgspec.structs.replace(request, groups_names=list(dict.fromkeys(request.groups_names)))
        case OffsetFetchRequest() if names_many_groups(request):
            mentions: dict[str, list[OffsetFetchRequestGroup]] = {}
            for group in request.groups:
                mentions.setdefault(group.group_id, []).append(group)
            return msgspec.structs.replace(request, groups=[_together(groups) for groups in mentions.values()])
        case OffsetFetchRequest() if request.topics is not None:
            return msgspec.structs.replace(request, topics=_topics_once(request.topics))
    return request


def _together(mentions: list[OffsetFetchRequestGroup]) -> OffsetFetchRequestGroup:
    asked = [group.topics for group in mentions]
    listed = [topics for topics in asked if topics is not None]
    # One mention that asks for all topics asks for the others' as well.
    together = None if len(listed) < len(asked) else _topics_once(topic for topics in listed for topic in topics)
    return msgspec.structs.replace(mentions[0], topics=together)


def _topics_once(topics: Iterable[OffsetFetchRequestTopic]) -> list[OffsetFetchRequestTopic]:
    once: dict[tuple[str, str], dict[int, None]] = {}
    for topic in topics:
        once.setdefault((topic.name, topic.topic_id), {}).update(dict.fromkeys(topic.partition_indexes))
    return [
        OffsetFetchRequestTopic(name=name, topic_id=topic_id, partition_indexes=list(partitions))
        for (name, topic_id), partitions in once.items()
    ]


def split(request: AGroupRequest) -> list[AGroupRequest]:
    """A request for each group that it names, in order, however often a group is listed.

    An OffsetFetch may ask one group twice for different topics, and is then split into both.
    """
    match request:
        case DescribeGroupsRequest():
            return [msgspec.structs.replace(request, groups=[name]) for name in dict.fromkeys(request.groups)]
        case ConsumerGroupDescribeRequest():
            return [msgspec.structs.replace(request, group_ids=[name]) for name in dict.fromkeys(request.group_ids)]
        case DeleteGroupsRequest():
            return [
                msgspec.structs.replace(request, groups_names=[name]) for name in dict.fromkeys(request.groups_names)
            ]
        case OffsetFetchRequest() if names_many_groups(request):
            once = dict(zip(_keys(request), request.groups, strict=True))
            return [msgspec.structs.replace(request, groups=[group]) for group in once.values()]
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | HeartbeatRunRequest()
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


def _keys(request: OffsetFetchRequest) -> list[bytes]:
    """What each of its groups is asked, as something to compare."""
    return [_encoder.encode(group) for group in request.groups]


def join(request: StreamRequest, responses: list[Response]) -> Response:
    """The responses to `split(request)`, in its order, as the one response the client asked for.

    As with Kafka, a group that a request describes or fetches twice is told of twice; DeleteGroups tells once. The
    client waits as long as the group that tells it to wait longest.
    """
    wait_ms = max((response.wait_ms for response in responses), default=0)
    match request:
        case DescribeGroupsRequest():
            told = dict(zip(dict.fromkeys(request.groups), responses, strict=True))
            described = [g for name in request.groups for g in told[name].groups]  # type: ignore[attr-defined]
            return DescribeGroupsResponse(throttle_time_ms=wait_ms, groups=described)
        case ConsumerGroupDescribeRequest():
            told = dict(zip(dict.fromkeys(request.group_ids), responses, strict=True))
            shown = [g for name in request.group_ids for g in told[name].groups]  # type: ignore[attr-defined]
            return ConsumerGroupDescribeResponse(throttle_time_ms=wait_ms, groups=shown)
        case DeleteGroupsRequest():
            results = [result for response in responses for result in response.results]  # type: ignore[attr-defined]
            return DeleteGroupsResponse(throttle_time_ms=wait_ms, results=results)
        case OffsetFetchRequest() if names_many_groups(request):
            fetched = dict(zip(dict.fromkeys(_keys(request)), responses, strict=True))
            groups = [g for key in _keys(request) for g in fetched[key].groups]  # type: ignore[attr-defined]
            return OffsetFetchResponse(throttle_time_ms=wait_ms, groups=groups)
        case (
            JoinGroupRequest()
            | SyncGroupRequest()
            | HeartbeatRequest()
            | HeartbeatRunRequest()
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
