"""Kafka's group messages: each request and response declared once, with the versions that carry each field.

A field is spelt as Kafka spells it, in snake_case; `Annotated[..., Since(5)]` says which versions carry it, no mark
means all. A request is also a row of the request stream: the envelope fields (who sent it, when it arrived) stand
beside the message's own. Requests that Kafka lets name many groups (DescribeGroups, DeleteGroups, OffsetFetch) name
exactly one by the time they reach a group: see `schemas.fan_out`.

This file gathers them and says which API has which; the shapes stand in the `*_messages` files beside it.

Knows no rule of the protocol, no Spark and no clock.
"""

from __future__ import annotations

from typing import NamedTuple

from schemas.admin_messages import (
    Coordinator,
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from schemas.consumer_group_messages import (
    ConsumerGroupAssignment,
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    DescribedAssignment,
    DescribedConsumerGroup,
    DescribedConsumerGroupMember,
    DescribedTopicPartitions,
)
from schemas.membership_messages import (
    HeartbeatRequest,
    HeartbeatResponse,
    HeartbeatRunRequest,
    HeartbeatRunResponse,
    JoinGroupProtocol,
    JoinGroupRequest,
    JoinGroupResponse,
    JoinGroupResponseMember,
    LeaveGroupRequest,
    LeaveGroupResponse,
    LeaveGroupResponseMember,
    MemberBeats,
    MemberIdentity,
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from schemas.observed_messages import (
    GoneMember,
    GroupObservedRequest,
    GroupObservedResponse,
    ObservedConsumer,
    ObservedMember,
    ObservedOffset,
)
from schemas.offset_messages import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from schemas.shapes import ENVELOPE_FIELDS, Request, Response, Shape, Since, Versions

__all__ = [
    "APIS",
    "ENVELOPE_FIELDS",
    "REPLAY_APIS",
    "RUN_APIS",
    "AnyRequest",
    "Api",
    "ClientGroupRequest",
    "ClientRequest",
    "ConsumerGroupAssignment",
    "ConsumerGroupDescribeRequest",
    "ConsumerGroupDescribeResponse",
    "ConsumerGroupHeartbeatRequest",
    "ConsumerGroupHeartbeatResponse",
    "ConsumerGroupTopicPartitions",
    "Coordinator",
    "DeletableGroupResult",
    "DeleteGroupsRequest",
    "DeleteGroupsResponse",
    "DescribeGroupsRequest",
    "DescribeGroupsResponse",
    "DescribedAssignment",
    "DescribedConsumerGroup",
    "DescribedConsumerGroupMember",
    "DescribedGroup",
    "DescribedGroupMember",
    "DescribedTopicPartitions",
    "FindCoordinatorRequest",
    "FindCoordinatorResponse",
    "GoneMember",
    "GroupObservedRequest",
    "GroupObservedResponse",
    "GroupRequest",
    "HeartbeatRequest",
    "HeartbeatResponse",
    "HeartbeatRunRequest",
    "HeartbeatRunResponse",
    "JoinGroupProtocol",
    "JoinGroupRequest",
    "JoinGroupResponse",
    "JoinGroupResponseMember",
    "LeaveGroupRequest",
    "LeaveGroupResponse",
    "LeaveGroupResponseMember",
    "ListGroupsRequest",
    "ListGroupsResponse",
    "ListedGroup",
    "MemberBeats",
    "MemberIdentity",
    "ObservedConsumer",
    "ObservedMember",
    "ObservedOffset",
    "OffsetCommitRequest",
    "OffsetCommitRequestPartition",
    "OffsetCommitRequestTopic",
    "OffsetCommitResponse",
    "OffsetCommitResponsePartition",
    "OffsetCommitResponseTopic",
    "OffsetDeleteRequest",
    "OffsetDeleteRequestPartition",
    "OffsetDeleteRequestTopic",
    "OffsetDeleteResponse",
    "OffsetDeleteResponsePartition",
    "OffsetDeleteResponseTopic",
    "OffsetFetchRequest",
    "OffsetFetchRequestGroup",
    "OffsetFetchRequestTopic",
    "OffsetFetchResponse",
    "OffsetFetchResponseGroup",
    "OffsetFetchResponsePartition",
    "OffsetFetchResponseTopic",
    "Request",
    "Response",
    "Shape",
    "Since",
    "StreamRequest",
    "SyncGroupAssignment",
    "SyncGroupRequest",
    "SyncGroupResponse",
    "Versions",
]

ClientGroupRequest = (
    JoinGroupRequest
    | SyncGroupRequest
    | HeartbeatRequest
    | LeaveGroupRequest
    | OffsetCommitRequest
    | OffsetFetchRequest
    | OffsetDeleteRequest
    | DescribeGroupsRequest
    | DeleteGroupsRequest
    | ConsumerGroupHeartbeatRequest
    | ConsumerGroupDescribeRequest
)
"""A client's request that one group answers."""

GroupRequest = ClientGroupRequest | GroupObservedRequest
"""What a group receives: clients' requests, and in a replay GroupObserved, which is not answered."""

StreamRequest = GroupRequest | HeartbeatRunRequest
"""What a row of the request stream holds."""

ClientRequest = ClientGroupRequest | ListGroupsRequest | FindCoordinatorRequest
"""Every request that a client may send."""

AnyRequest = GroupRequest | ListGroupsRequest | FindCoordinatorRequest


class Api(NamedTuple):
    """One Kafka API: its key on the wire, the versions answered, its request and its response."""

    key: int
    versions: Versions
    request: type[Request]
    response: type[Response]


APIS: dict[str, Api] = {
    "OffsetCommit": Api(8, Versions(2, 10), OffsetCommitRequest, OffsetCommitResponse),
    "OffsetFetch": Api(9, Versions(1, 10), OffsetFetchRequest, OffsetFetchResponse),
    "FindCoordinator": Api(10, Versions(0, 6), FindCoordinatorRequest, FindCoordinatorResponse),
    "JoinGroup": Api(11, Versions(0, 9), JoinGroupRequest, JoinGroupResponse),
    "Heartbeat": Api(12, Versions(0, 4), HeartbeatRequest, HeartbeatResponse),
    "LeaveGroup": Api(13, Versions(0, 5), LeaveGroupRequest, LeaveGroupResponse),
    "SyncGroup": Api(14, Versions(0, 5), SyncGroupRequest, SyncGroupResponse),
    "DescribeGroups": Api(15, Versions(0, 6), DescribeGroupsRequest, DescribeGroupsResponse),
    "ListGroups": Api(16, Versions(0, 5), ListGroupsRequest, ListGroupsResponse),
    "DeleteGroups": Api(42, Versions(0, 2), DeleteGroupsRequest, DeleteGroupsResponse),
    "OffsetDelete": Api(47, Versions(0, 0), OffsetDeleteRequest, OffsetDeleteResponse),
    "ConsumerGroupHeartbeat": Api(68, Versions(0, 1), ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
    "ConsumerGroupDescribe": Api(69, Versions(0, 1), ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
}

REPLAY_APIS: dict[str, Api] = {
    "GroupObserved": Api(-1, Versions(0, 0), GroupObservedRequest, GroupObservedResponse),
}
"""What a replay adds to recorded requests; without a key, since it is never sent over the wire."""

RUN_APIS: dict[str, Api] = {
    "HeartbeatRun": Api(-1, Versions(0, 0), HeartbeatRunRequest, HeartbeatRunResponse),
}
"""What gateways and importers make of clients' heartbeats; without a key, since it is never sent over the wire."""
