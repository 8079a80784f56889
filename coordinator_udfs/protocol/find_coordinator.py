"""FindCoordinator (key 10, v0-6): which broker coordinates a group.

It needs no group. v1 adds the key type, v4 several keys. Source: KafkaApis.handleFindCoordinatorRequest.
"""

from __future__ import annotations

import re

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from rollcall.schemas.wire_fields import first_version

KEYS_SINCE = first_version(FindCoordinatorRequest, "coordinator_keys")
SHARE_SINCE = 6
_TOPIC_ID = re.compile(r"[A-Za-z0-9_-]{22}")
_PARTITION = re.compile(r"[+-]?[0-9]{1,10}", re.ASCII)


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
