"""DescribeConfigs, AlterConfigs, IncrementalAlterConfigs and ListConfigResources, of groups: what an administrator sets
for a single group (KIP-848, KIP-1142).

A resource is named by its type and name; only those of type GROUP are for a group to answer, by the id that is the
resource's name. See `rollcall.schemas.messages`.
"""

from __future__ import annotations

from typing import Annotated

from rollcall.schemas.errors import Error
from rollcall.schemas.shapes import Int8, Int32, Request, Response, Shape, Since

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
