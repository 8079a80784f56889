"""A scenario's step as the line that the trace reads: Kafka's field names, and only what its version carries.

Knows the fields of each request; must not know a rule of the protocol.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

Step = dict[str, Any]
ToBytes = Callable[[Any], bytes]
DEFAULT_VERSIONS = {
    "JoinGroup": 9,
    "SyncGroup": 5,
    "Heartbeat": 4,
    "LeaveGroup": 5,
    "OffsetCommit": 9,
    "OffsetFetch": 9,
    "OffsetDelete": 0,
    "DescribeGroups": 5,
    "ListGroups": 5,
    "DeleteGroups": 2,
    "FindCoordinator": 4,
}


def line_of(number: int, step: Step, to_bytes: ToBytes) -> dict[str, Any]:
    """The line of the step with this number, which is its request id."""
    version = step.get("v", DEFAULT_VERSIONS[step["api"]])
    line = {
        "at_ms": step["at_ms"],
        "request_id": str(number),
        "api": step["api"],
        "api_version": version,
        "client_id": f"client-{step['member']}",
        "client_host": "/127.0.0.1",
        **_FIELDS[step["api"]](step, version, to_bytes),
    }
    return line | {"bind": step["bind"]} if "bind" in step else line


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _group(step: Step) -> dict[str, Any]:
    return {"group_id": step.get("group", "g")}


def _instance(step: Step, version: int, since: int) -> dict[str, Any]:
    return {"group_instance_id": step.get("instance_id")} if version >= since else {}


def _join(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    fields = {
        "member_id": step["member_id"],
        "session_timeout_ms": step["session_timeout_ms"],
        "protocol_type": step["protocol_type"],
        "protocols": [{"name": p["name"], "metadata": _base64(to_bytes(p["metadata"]))} for p in step["protocols"]],
    }
    if version >= 1:
        fields["rebalance_timeout_ms"] = step["rebalance_timeout_ms"]
    if version >= 8:
        fields["reason"] = step.get("reason")
    return _group(step) | fields | _instance(step, version, 5)


def _sync(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "generation_id": step["generation"],
        "member_id": step["member_id"],
        "assignments": [
            {"member_id": member, "assignment": _base64(to_bytes(assignment))}
            for member, assignment in step.get("assignments", {}).items()
        ],
    }
    if version >= 5:
        fields |= {name: step.get(name) for name in ("protocol_type", "protocol_name")}
    return _group(step) | fields | _instance(step, version, 3)


def _heartbeat(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    fields = {"generation_id": step["generation"], "member_id": step["member_id"]}
    return _group(step) | fields | _instance(step, version, 3)


def _leave(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    if version < 3:
        return _group(step) | {"member_id": step["member_id"]}
    members = [{"member_id": m["member_id"], "group_instance_id": m.get("instance_id")} for m in step["members"]]
    if version >= 5:
        members = [reported | {"reason": m.get("reason")} for reported, m in zip(members, step["members"], strict=True)]
    return _group(step) | {"members": members}


def _commit(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    topics: dict[str, list[dict[str, Any]]] = {}
    for offset in step["offsets"]:
        length = offset.get("metadata_length")
        partition = {
            "partition_index": offset["partition"],
            "committed_offset": offset["offset"],
            "committed_metadata": offset.get("metadata", "") if length is None else "x" * length,
        }
        topics.setdefault(offset["topic"], []).append(partition)
    fields = {
        "generation_id_or_member_epoch": step["generation"],
        "member_id": step["member_id"],
        "topics": [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()],
    }
    return _group(step) | fields | _instance(step, version, 7)


def _fetch(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    def topics(asked: dict[str, list[int]] | None) -> list[dict[str, Any]] | None:
        return None if asked is None else [{"name": t, "partition_indexes": p} for t, p in asked.items()]

    groups = [{"group_id": group["group"], "topics": topics(group.get("topics"))} for group in step["groups"]]
    return {"groups": groups, "require_stable": step.get("require_stable", False)}


def _delete_offsets(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    topics = [
        {"name": topic, "partitions": [{"partition_index": partition} for partition in partitions]}
        for topic, partitions in step["topics"].items()
    ]
    return _group(step) | {"topics": topics}


def _describe(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    return {"groups": step["groups"]}


def _list(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    fields = {}
    if version >= 4:
        fields["states_filter"] = step.get("states", [])
    if version >= 5:
        fields["types_filter"] = step.get("types", [])
    return fields


def _delete(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    return {"groups_names": step["groups"]}


def _find(step: Step, version: int, to_bytes: ToBytes) -> dict[str, Any]:
    key_type = {"key_type": step.get("key_type", 0)} if version >= 1 else {}
    keys = {"coordinator_keys": step["keys"]} if version >= 4 else {"key": step["keys"][0]}
    return key_type | keys


_FIELDS: dict[str, Callable[[Step, int, ToBytes], dict[str, Any]]] = {
    "JoinGroup": _join,
    "SyncGroup": _sync,
    "Heartbeat": _heartbeat,
    "LeaveGroup": _leave,
    "OffsetCommit": _commit,
    "OffsetFetch": _fetch,
    "OffsetDelete": _delete_offsets,
    "DescribeGroups": _describe,
    "ListGroups": _list,
    "DeleteGroups": _delete,
    "FindCoordinator": _find,
}
