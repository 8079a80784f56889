"""Requests for tests of the stream: short to write, whole to read."""

from __future__ import annotations

from typing import Any

from schemas.messages import (
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupAssignment,
    SyncGroupRequest,
)

SUBSCRIPTION = b"\x00\x00\x00\x00\x00\x01\x00\x02t1\xff\xff\xff\xff"


def join(client: str, at_ms: int, group: str = "orders", **more: Any) -> JoinGroupRequest:
    """A JoinGroup v3: a new member is one at once."""
    fields: dict[str, Any] = {
        "request_id": f"join-{client}-{at_ms}",
        "api_version": 3,
        "client_id": client,
        "received_at_ms": at_ms,
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 30_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": [JoinGroupProtocol(name="range", metadata=SUBSCRIPTION)],
    }
    return JoinGroupRequest(**{**fields, **more})


def sync(member_id: str, generation_id: int, at_ms: int, group: str = "orders", **more: Any) -> SyncGroupRequest:
    """A SyncGroup v3; assigned=[...] makes it the leader's."""
    assigned = more.pop("assigned", [])
    fields: dict[str, Any] = {
        "request_id": f"sync-{member_id}-{at_ms}",
        "api_version": 3,
        "received_at_ms": at_ms,
        "group_id": group,
        "generation_id": generation_id,
        "member_id": member_id,
        "assignments": [SyncGroupAssignment(member_id=m, assignment=b"") for m in assigned],
    }
    return SyncGroupRequest(**{**fields, **more})


def heartbeat(member_id: str, generation_id: int, at_ms: int, group: str = "orders", **more: Any) -> HeartbeatRequest:
    """A Heartbeat v3."""
    fields: dict[str, Any] = {
        "request_id": f"beat-{member_id}-{at_ms}",
        "api_version": 3,
        "received_at_ms": at_ms,
        "group_id": group,
        "generation_id": generation_id,
        "member_id": member_id,
    }
    return HeartbeatRequest(**{**fields, **more})


def leave(member_id: str, at_ms: int, group: str = "orders", **more: Any) -> LeaveGroupRequest:
    """A LeaveGroup v3."""
    fields: dict[str, Any] = {
        "request_id": f"leave-{member_id}-{at_ms}",
        "api_version": 3,
        "received_at_ms": at_ms,
        "group_id": group,
        "members": [MemberIdentity(member_id=member_id)],
    }
    return LeaveGroupRequest(**{**fields, **more})
