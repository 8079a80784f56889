"""Kafka's group messages: each request and response declared once, with the versions that carry each field.

A field is spelt as Kafka spells it, in snake_case; `Annotated[..., Since(5)]` says which versions carry it, no mark
means all. A request is also a row of the request stream: the envelope fields (who sent it, when it arrived) stand
beside the message's own. Requests that Kafka lets name many groups (DescribeGroups, DeleteGroups, OffsetFetch) name
exactly one by the time they reach a group: see `rollcall.schemas.fan_out`.

The shapes stand in the `*_messages` files, all of whose names are this file's too. Other differences between APIs stand
in a row of APIS: a test holds each row to its shapes.

Knows no rule of the protocol, no Spark and no clock.
"""

# Each name of the files with the shapes is one of this file; mypy knows them all.
# ruff: noqa: F403, F405

from __future__ import annotations

from enum import Enum, StrEnum
from typing import NamedTuple

from rollcall.schemas.admin_messages import *
from rollcall.schemas.consumer_group_messages import *
from rollcall.schemas.membership_messages import *
from rollcall.schemas.observed_messages import *
from rollcall.schemas.offset_messages import *
from rollcall.schemas.shapes import *

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
    | DescribeConfigsRequest
    | AlterConfigsRequest
    | IncrementalAlterConfigsRequest
)
"""A client's request that one group answers."""

GroupRequest = ClientGroupRequest | GroupObservedRequest
"""What a group receives: clients' requests, and in a replay GroupObserved, which is not answered."""

StreamRequest = GroupRequest | HeartbeatRunRequest
"""What a row of the request stream holds."""

ClientRequest = ClientGroupRequest | ListGroupsRequest | FindCoordinatorRequest | ListConfigResourcesRequest
"""Every request that a client may send."""

AnyRequest = GroupRequest | ListGroupsRequest | FindCoordinatorRequest | ListConfigResourcesRequest


class Operation(StrEnum):
    """What can be done with a group."""

    READ = "READ"
    DESCRIBE = "DESCRIBE"
    DELETE = "DELETE"
    DESCRIBE_CONFIGS = "DESCRIBE_CONFIGS"
    ALTER_CONFIGS = "ALTER_CONFIGS"


class Changes(Enum):
    """What of its group a request may change."""

    NOTHING = "nothing"
    DATA = "offsets or configs"
    MEMBERS = "its state or members"


class Api(NamedTuple):
    """One Kafka API: what whoever passes a request on, refuses it or reads its answer must know of it."""

    key: int
    versions: Versions
    request: type[Request]
    response: type[Response]
    operation: Operation = Operation.READ
    """The right on its group that a client needs."""
    groups: str = ""
    """The field of the request that lists groups, by id or as shapes with a group_id; empty: it names one group."""
    answers: str = ""
    """The field of the response that has an answer, with a group_id, for each of these groups."""
    answers_each_mention: bool = True
    """Whether a group that is listed twice is answered twice."""
    errors: tuple[str, ...] = ("error_code",)
    """Where errors stand in the response, the first that counts first."""
    generation: str = ""
    """The field of the request that names a generation; empty: none does."""
    holds: bool = False
    """Its answer may be withheld for minutes, or be long, so the requests behind it on its connection wait."""
    names_partitions: bool = False
    """Its request names partitions or members, possibly many."""
    changes: Changes = Changes.NOTHING


READ, DESCRIBE, DELETE, DESCRIBE_CONFIGS, ALTER_CONFIGS = Operation
_OF_GROUPS = ("groups.error_code",)

APIS: dict[str, Api] = {
    "OffsetCommit": Api(
        *(8, Versions(2, 10), OffsetCommitRequest, OffsetCommitResponse),
        errors=("topics.partitions.error_code",),
        generation="generation_id_or_member_epoch",
        names_partitions=True,
        changes=Changes.DATA,
    ),
    "OffsetFetch": Api(
        *(9, Versions(1, 10), OffsetFetchRequest, OffsetFetchResponse, DESCRIBE, "groups", "groups"),
        errors=("error_code", "groups.error_code"),
        holds=True,
        names_partitions=True,
    ),
    "FindCoordinator": Api(10, Versions(0, 6), FindCoordinatorRequest, FindCoordinatorResponse, DESCRIBE),
    "JoinGroup": Api(11, Versions(0, 9), JoinGroupRequest, JoinGroupResponse, holds=True, changes=Changes.MEMBERS),
    "Heartbeat": Api(12, Versions(0, 4), HeartbeatRequest, HeartbeatResponse, generation="generation_id"),
    "LeaveGroup": Api(13, Versions(0, 5), LeaveGroupRequest, LeaveGroupResponse, changes=Changes.MEMBERS),
    "SyncGroup": Api(
        *(14, Versions(0, 5), SyncGroupRequest, SyncGroupResponse),
        generation="generation_id",
        holds=True,
        names_partitions=True,
        changes=Changes.MEMBERS,
    ),
    "DescribeGroups": Api(
        *(15, Versions(0, 6), DescribeGroupsRequest, DescribeGroupsResponse, DESCRIBE, "groups", "groups"),
        errors=_OF_GROUPS,
        holds=True,
    ),
    "ListGroups": Api(16, Versions(0, 5), ListGroupsRequest, ListGroupsResponse, DESCRIBE, holds=True),
    "DeleteGroups": Api(
        *(42, Versions(0, 2), DeleteGroupsRequest, DeleteGroupsResponse, DELETE, "groups_names", "results"),
        answers_each_mention=False,
        errors=("results.error_code",),
        holds=True,
        changes=Changes.MEMBERS,
    ),
    "OffsetDelete": Api(
        *(47, Versions(0, 0), OffsetDeleteRequest, OffsetDeleteResponse, DELETE),
        names_partitions=True,
        changes=Changes.DATA,
    ),
    "ConsumerGroupHeartbeat": Api(
        *(68, Versions(0, 1), ConsumerGroupHeartbeatRequest, ConsumerGroupHeartbeatResponse),
        names_partitions=True,
        changes=Changes.MEMBERS,
    ),
    "ConsumerGroupDescribe": Api(
        *(69, Versions(0, 1), ConsumerGroupDescribeRequest, ConsumerGroupDescribeResponse),
        *(DESCRIBE, "group_ids", "groups"),
        errors=_OF_GROUPS,
        holds=True,
    ),
    "DescribeConfigs": Api(
        *(32, Versions(1, 4), DescribeConfigsRequest, DescribeConfigsResponse),
        *(DESCRIBE_CONFIGS, "resources", "results"),
        answers_each_mention=False,
        errors=("results.error_code",),
        holds=True,
    ),
    "AlterConfigs": Api(
        *(33, Versions(0, 2), AlterConfigsRequest, AlterConfigsResponse, ALTER_CONFIGS, "resources", "responses"),
        answers_each_mention=False,
        errors=("responses.error_code",),
        holds=True,
        changes=Changes.DATA,
    ),
    "IncrementalAlterConfigs": Api(
        *(44, Versions(0, 1), IncrementalAlterConfigsRequest, IncrementalAlterConfigsResponse),
        *(ALTER_CONFIGS, "resources", "responses"),
        answers_each_mention=False,
        errors=("responses.error_code",),
        holds=True,
        changes=Changes.DATA,
    ),
    "ListConfigResources": Api(
        *(74, Versions(0, 1), ListConfigResourcesRequest, ListConfigResourcesResponse, DESCRIBE_CONFIGS),
        holds=True,
    ),
}

REPLAY_APIS: dict[str, Api] = {
    "GroupObserved": Api(-1, Versions(0, 0), GroupObservedRequest, GroupObservedResponse, errors=()),
}
"""What a replay adds to recorded requests; without a key, since it is never sent over the wire."""

RUN_APIS: dict[str, Api] = {
    "HeartbeatRun": Api(-1, Versions(0, 0), HeartbeatRunRequest, HeartbeatRunResponse, errors=()),
}
"""What gateways and importers make of clients' heartbeats; without a key, since it is never sent over the wire."""

API_OF: dict[type[Request], Api] = {api.request: api for api in (APIS | REPLAY_APIS | RUN_APIS).values()}
"""The row of each request's API."""
READERS = tuple(api.request for api in APIS.values() if api.changes is Changes.NOTHING)
"""The requests that change nothing."""
CHANGE_MEMBERS = tuple(api.request for api in APIS.values() if api.changes is Changes.MEMBERS)
"""The requests that may change a group's state or members."""
