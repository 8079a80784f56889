"""ListGroups (key 16, v0-5), ListConfigResources (key 74, v0-1) and FindCoordinator (key 10, v0-6): no single group's.

The first two are answered by whoever knows all groups; FindCoordinator needs none. ListConfigResources v0 asks only for
client metrics, and there are none. FindCoordinator: v1 adds the key type, v4 several keys. Source: Group.isInStates,
KIP-518, KafkaApis.handleListConfigResources, KafkaApis.handleFindCoordinatorRequest.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    CLIENT_METRICS_RESOURCE,
    GROUP_RESOURCE,
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
    ListedConfigResource,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
)
from rollcall.schemas.wire_fields import first_version

_TYPES = frozenset({2, 4, 8, CLIENT_METRICS_RESOURCE, GROUP_RESOURCE})
"""The types that Kafka lists: topics, brokers, their loggers, client metrics, groups."""
_TYPES_SINCE = first_version(ListConfigResourcesRequest, "resource_types")
KEYS_SINCE = first_version(FindCoordinatorRequest, "coordinator_keys")
SHARE_SINCE = 6
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_PARTITION = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


def list_groups(groups: Iterable[tuple[str, str, str, str]], request: ListGroupsRequest) -> ListGroupsResponse:
    """Filters ignore case, those of states also surrounding blanks; an unknown name matches no group.

    groups: of each its id, protocol type ("" for none), state and type.
    """
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state, group_type=kind)
            for group_id, protocol_type, state, kind in groups
            if (not states or state.lower() in states) and (not types or kind in types)
        ]
    )


def list_config_resources(group_ids: Iterable[str], request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    """No type named: all of them. Error: UNSUPPORTED_VERSION, a type that is not listed."""
    if not _TYPES.issuperset(request.resource_types):
        return ListConfigResourcesResponse(error_code=Error.UNSUPPORTED_VERSION)
    is_asked = not request.resource_types or GROUP_RESOURCE in request.resource_types
    listed = group_ids if is_asked and request.api_version >= _TYPES_SINCE else ()
    return ListConfigResourcesResponse(config_resources=[ListedConfigResource(resource_name=each) for each in listed])


def find_coordinator(request: FindCoordinatorRequest, node_id: int, host: str, port: int) -> FindCoordinatorResponse:
    """Answers this node for every key, also "" and repeated ones.

    Error: INVALID_REQUEST for an unknown key type, for share before v6, and for a share key that is malformed.
    """
    has_keys = request.api_version >= KEYS_SINCE
    keys = request.coordinator_keys if has_keys else [request.key]
    found = [_found(request, key, node_id, host, port) for key in keys]
    if has_keys:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message or Error.NONE,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _found(request: FindCoordinatorRequest, key: str, node_id: int, host: str, port: int) -> Coordinator:
    refusal = _refusal(request, key)
    if refusal:
        return Coordinator(key=key, error_code=Error.INVALID_REQUEST, error_message=refusal)
    return Coordinator(key=key, node_id=node_id, host=host, port=port)


def _refusal(request: FindCoordinatorRequest, key: str) -> str:
    """What is wrong with a key; "" if nothing is. The text is our own: Kafka has none or refers to its log."""
    match request.key_type:
        case 0 | 1:
            return ""
        case 2 if request.api_version < SHARE_SINCE:
            return f"key_type: share (2) came with v{SHARE_SINCE}, this is v{request.api_version}"
        case 2:
            return "" if is_share_key(key) else f"key: {key!r} is not of the form group:topic id:partition"
        case _:
            return f"key_type: {request.key_type} is not one of group (0), transaction (1), share (2)"


def is_share_key(key: str) -> bool:
    """`group:topic id:partition`, the topic id in base64; a group may hold colons. Source: SharePartitionKey."""
    match key.rsplit(":", 2):
        case [group_id, topic_id, partition]:
            return bool(group_id.strip() and _TOPIC_ID.fullmatch(topic_id) and _PARTITION.fullmatch(partition))
    return False
