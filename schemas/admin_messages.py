"""The messages of tools and of a client's start, and those by which an administrator sets configs of single groups.

DescribeGroups, ListGroups, DeleteGroups, FindCoordinator; DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and
ListConfigResources (KIP-848, KIP-1142). A resource is named by its type and name; only those of type GROUP are for a
group to answer, by the id that is the resource's name. See `rollcall.schemas.messages`.
"""

from __future__ import annotations

from typing import Annotated

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Int8, Int32, Request, Response, Shape, Since, Versions

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


GROUP_RESOURCE = 32
"""The type of a resource that is a group (org.apache.kafka.common.config.ConfigResource.Type)."""
CLIENT_METRICS_RESOURCE = 16
SET, DELETE_CONFIG, APPEND, SUBTRACT = range(4)
"""What IncrementalAlterConfigs does with one key (org.apache.kafka.clients.admin.AlterConfigOp.OpType)."""


class _Resource(Shape, kw_only=True):
    resource_type: Int8 = GROUP_RESOURCE
    resource_name: str

    @property
    def group_id(self) -> str:
        """The group, where the resource is one."""
        return self.resource_name


class _ConfigsResult(_Resource, kw_only=True):
    error_code: Error = Error.NONE
    error_message: str | None = None


# ---------------------------------------------------------------- DescribeConfigs (key 32)


class DescribeConfigsResource(_Resource, kw_only=True):
    configuration_keys: list[str] | None = None
    """Null or empty: all."""


class DescribeConfigsRequest(Request, tag="DescribeConfigs", kw_only=True):
    """DescribeConfigs v1-4."""

    resources: list[DescribeConfigsResource]
    include_synonyms: bool = False
    include_documentation: Annotated[bool, Since(3)] = False


class DescribeConfigsSynonym(Shape, kw_only=True):
    name: str
    value: str | None = None
    source: Int8 = 0


class DescribedConfig(Shape, kw_only=True):
    name: str
    value: str | None = None
    read_only: bool = False
    config_source: Int8 = -1
    is_sensitive: bool = False
    synonyms: list[DescribeConfigsSynonym] = []
    config_type: Annotated[Int8, Since(3)] = 0
    documentation: Annotated[str | None, Since(3)] = None


class DescribeConfigsResult(_ConfigsResult, kw_only=True):
    configs: list[DescribedConfig] = []


class DescribeConfigsResponse(Response, kw_only=True):
    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = []


# ---------------------------------------------------------------- AlterConfigs (33), IncrementalAlterConfigs (44)


class AlteredConfig(Shape, kw_only=True):
    name: str
    value: str | None = None


class AlterConfigsResource(_Resource, kw_only=True):
    configs: list[AlteredConfig] = []


class AlterConfigsRequest(Request, tag="AlterConfigs", kw_only=True):
    """AlterConfigs v0-2: what it does not name is removed."""

    resources: list[AlterConfigsResource]
    validate_only: bool = False


class IncrementallyAlteredConfig(AlteredConfig, kw_only=True):
    config_operation: Int8 = SET


class IncrementalAlterConfigsResource(_Resource, kw_only=True):
    configs: list[IncrementallyAlteredConfig] = []


class IncrementalAlterConfigsRequest(Request, tag="IncrementalAlterConfigs", kw_only=True):
    """IncrementalAlterConfigs v0-1."""

    resources: list[IncrementalAlterConfigsResource]
    validate_only: bool = False


class AlterConfigsResult(_ConfigsResult, kw_only=True):
    """What became of one resource."""


class AlterConfigsResponse(Response, kw_only=True):
    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResult] = []


class IncrementalAlterConfigsResponse(AlterConfigsResponse, kw_only=True):
    """The same as of AlterConfigs."""


# ---------------------------------------------------------------- ListConfigResources (key 74)


class ListConfigResourcesRequest(Request, tag="ListConfigResources", kw_only=True):
    """ListConfigResources v0-1: which resources have configs; v0 only knows those of client metrics."""

    resource_types: Annotated[list[Int8], Since(1)] = []


class ListedConfigResource(Shape, kw_only=True):
    resource_name: str
    resource_type: Annotated[Int8, Since(1)] = GROUP_RESOURCE


class ListConfigResourcesResponse(Response, kw_only=True):
    throttle_time_ms: Int32 = 0
    error_code: Error = Error.NONE
    config_resources: list[ListedConfigResource] = []


ConfigsRequest = DescribeConfigsRequest | AlterConfigsRequest | IncrementalAlterConfigsRequest
"""A request about configs, each of whose resources may be a group."""
