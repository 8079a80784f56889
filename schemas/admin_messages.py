"""DescribeGroups, ListGroups, DeleteGroups and FindCoordinator: the messages of tools and of a client's start.

See `rollcall.schemas.messages`.
"""

from __future__ import annotations

from typing import Annotated

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Int32, Request, Response, Shape, Since, Versions

# ---------------------------------------------------------------- DescribeGroups (key 15)


class DescribeGroupsRequest(Request, tag="DescribeGroups", kw_only=True):
    """DescribeGroups v0-6."""

    groups: list[str]
    include_authorized_operations: Annotated[bool, Since(3)] = False


class DescribedGroupMember(Shape, kw_only=True):
    member_id: str
    group_instance_id: Annotated[str | None, Since(4)] = None
    client_id: str
    client_host: str
    member_metadata: bytes = b""
    member_assignment: bytes = b""


class DescribedGroup(Shape, kw_only=True):
    error_code: Error = Error.NONE
    error_message: Annotated[str | None, Since(6)] = None
    group_id: str
    group_state: str
    protocol_type: str = ""
    protocol_data: str = ""
    members: list[DescribedGroupMember] = []
    authorized_operations: Annotated[Int32, Since(3)] = -2147483648


class DescribeGroupsResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    groups: list[DescribedGroup] = []


# ---------------------------------------------------------------- ListGroups (key 16)


class ListGroupsRequest(Request, tag="ListGroups", kw_only=True):
    """ListGroups v0-5."""

    states_filter: Annotated[list[str], Since(4)] = []
    types_filter: Annotated[list[str], Since(5)] = []


class ListedGroup(Shape, kw_only=True):
    group_id: str
    protocol_type: str = ""
    group_state: Annotated[str, Since(4)] = ""
    group_type: Annotated[str, Since(5)] = "classic"


class ListGroupsResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Error = Error.NONE
    groups: list[ListedGroup] = []


# ---------------------------------------------------------------- DeleteGroups (key 42)


class DeleteGroupsRequest(Request, tag="DeleteGroups", kw_only=True):
    """DeleteGroups v0-2."""

    groups_names: list[str]


class DeletableGroupResult(Shape, kw_only=True):
    group_id: str
    error_code: Error = Error.NONE


class DeleteGroupsResponse(Response, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: list[DeletableGroupResult] = []


# ---------------------------------------------------------------- FindCoordinator (key 10)


class FindCoordinatorRequest(Request, tag="FindCoordinator", kw_only=True):
    """FindCoordinator v0-6: one key up to v3, a list of keys from v4."""

    key: Annotated[str, Versions(0, 3)] = ""
    key_type: Annotated[Int32, Since(1)] = 0
    coordinator_keys: Annotated[list[str], Since(4)] = []


class Coordinator(Shape, kw_only=True):
    key: str
    node_id: Int32 = -1
    host: str = ""
    port: Int32 = -1
    error_code: Error = Error.NONE
    error_message: str | None = ""


class FindCoordinatorResponse(Response, kw_only=True):
    throttle_time_ms: Annotated[Int32, Since(1)] = 0
    error_code: Annotated[Error, Versions(0, 3)] = Error.NONE
    error_message: Annotated[str | None, Versions(1, 3)] = None
    node_id: Annotated[Int32, Versions(0, 3)] = -1
    host: Annotated[str, Versions(0, 3)] = ""
    port: Annotated[Int32, Versions(0, 3)] = -1
    coordinators: Annotated[list[Coordinator], Since(4)] = []
