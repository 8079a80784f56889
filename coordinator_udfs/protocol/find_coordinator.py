"""FindCoordinator (key 10, v0-6): which broker coordinates a group.

No group answers this. v1 adds the key type, v4 several keys. Source: KafkaApis.handleFindCoordinatorRequest,
GroupCoordinatorService.partitionFor.
"""

from __future__ import annotations

from coordinator_udfs.protocol.java_strings import hash_code
from schemas.errors import Error
from schemas.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

KEYS_SINCE = 4
SHARE_SINCE = 6
GROUP, TRANSACTION, SHARE = 0, 1, 2
INT32_MIN = -(1 << 31)


def partition_of(group_id: str, num_partitions: int) -> int:
    """The offsets-topic partition that holds a group: abs(hashCode) mod partitions; abs of the least int is 0."""
    code = hash_code(group_id)
    return 0 if code == INT32_MIN else abs(code) % num_partitions


def find_coordinator(request: FindCoordinatorRequest, node_id: int, host: str, port: int) -> FindCoordinatorResponse:
    """This node for every key, "" and repeated ones too; an unknown key type (share before v6) is INVALID_REQUEST."""
    known = request.key_type in (GROUP, TRANSACTION) or (
        request.key_type == SHARE and request.api_version >= SHARE_SINCE
    )
    keys = request.coordinator_keys if request.api_version >= KEYS_SINCE else [request.key]
    found = [_found(key, node_id, host, port) if known else _refused(key, request.key_type) for key in keys]
    if request.api_version >= KEYS_SINCE:
        return FindCoordinatorResponse(coordinators=found)
    only = found[0]
    return FindCoordinatorResponse(
        error_code=only.error_code,
        error_message=only.error_message,
        node_id=only.node_id,
        host=only.host,
        port=only.port,
    )


def _found(key: str, node_id: int, host: str, port: int) -> Coordinator:
    return Coordinator(key=key, node_id=node_id, host=host, port=port)


def _refused(key: str, key_type: int) -> Coordinator:
    return Coordinator(key=key, error_code=Error.INVALID_REQUEST, error_message=f"key type {key_type} is unknown")
