"""ListConfigResources (key 74, v0-1): for which groups something is set.

Answered by whoever knows all groups. v0 asks only for client metrics, and there are none.
Source: KafkaApis.handleListConfigResources.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
)
from rollcall.schemas.wire_fields import first_version

_TYPES = frozenset({2, 4, 8, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE})
"""The types that Kafka lists: topics, brokers, their loggers, client metrics, groups."""
_TYPES_SINCE = first_version(ListConfigResourcesRequest, "resource_types")


def list_config_resources(group_ids: Iterable[str], request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """No type named: all of them. Error: UNSUPPORTED_VERSION, a type that is not listed."""
    if not _TYPES.issuperset(request.resource_types):
        return ListConfigResourcesResponse(error_code=Error.UNSUPPORTED_VERSION)
    is_asked = not request.resource_types or GROUP_RESOURCE in request.resource_types
    listed = group_ids if is_asked and request.api_version >= _TYPES_SINCE else ()
    return ListConfigResourcesResponse(config_resources=[ListedConfigResource(resource_name=each) for each in listed])
