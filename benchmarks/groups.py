"""Groups of any size for the benches of the core: their requests, built beforehand, and members that have settled.

Knows how the core is driven; knows no clock.
"""

from __future__ import annotations

from collections.abc import Iterable

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, step
from schemas.consumer_protocol import Assignment, Subscription, TopicPartition, encode_assignment, encode_subscription
from schemas.messages import (
    GroupRequest,
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    SyncGroupAssignment,
    SyncGroupRequest,
)

CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 300_000
GROUP_ID = "orders"
TOPIC = "orders-by-customer"


def drive(group: Group, at_ms: int, requests: Iterable[GroupRequest]) -> None:
    """Applies requests that all arrive at one moment, as a caller does: what was due before each fires first."""
    for request in requests:
        expire_due(group, at_ms - 1, CONFIG)
        step(group, request, at_ms, CONFIG)


def join(n: int, member_id: str, at_ms: int) -> JoinGroupRequest:
    """A consumer's JoinGroup, its bytes not those of others; v3, so that one request makes a new member."""
    metadata = encode_subscription(Subscription((TOPIC,), owned_partitions=(TopicPartition(TOPIC, n),)), version=1)
    return JoinGroupRequest(
        request_id=f"join-{n}-{at_ms}",
        api_version=3,
        client_id=f"orders-{n}",
        client_host=f"/10.0.{n >> 8}.{n & 255}",
        received_at_ms=at_ms,
        group_id=GROUP_ID,
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupProtocol(name="range", metadata=metadata)],
    )


def syncs(group: Group, generation_id: int, at_ms: int) -> list[SyncGroupRequest]:
    """Every member's SyncGroup, the leader's with an assignment for all of them."""
    requests = [
        SyncGroupRequest(
            request_id=f"sync-{n}-{at_ms}",
            api_version=5,
            client_id=member.client_id,
            client_host=member.client_host,
            received_at_ms=at_ms,
            group_id=GROUP_ID,
            generation_id=generation_id,
            member_id=member.member_id,
            protocol_type="consumer",
            protocol_name="range",
        )
        for n, member in enumerate(group.members.values())
    ]
    owned = [encode_assignment(Assignment((TopicPartition(TOPIC, n),)), version=1) for n in range(len(requests))]
    leader = next(request for request in requests if request.member_id == group.leader_id)
    leader.assignments = [
        SyncGroupAssignment(member_id=request.member_id, assignment=assignment)
        for request, assignment in zip(requests, owned, strict=True)
    ]
    return requests


def rejoins(group: Group, at_ms: int) -> list[JoinGroupRequest]:
    """Every member's next JoinGroup, the leader's first: it begins a rebalance."""
    requests = [join(n, member_id, at_ms) for n, member_id in enumerate(group.members)]
    return sorted(requests, key=lambda request: request.member_id != group.leader_id)


def stable_group(members: int) -> Group:
    """A Stable group in its second generation, at 2 s."""
    group = Group(GROUP_ID)
    drive(group, 1000, (join(n, "", 1000) for n in range(members)))
    drive(group, 2000, rejoins(group, 2000))
    drive(group, 2000, syncs(group, group.generation_id, 2000))
    return group


def heartbeats(group: Group, count: int, start_ms: int) -> list[HeartbeatRequest]:
    """Heartbeats of all members in turn, each member's 3 s apart."""
    members = list(group.members.values())
    gap_ms = 3000 / len(members)
    return [
        HeartbeatRequest(
            request_id=f"heartbeat-{n}",
            api_version=4,
            client_id=members[n % len(members)].client_id,
            client_host=members[n % len(members)].client_host,
            received_at_ms=start_ms + int(n * gap_ms),
            group_id=GROUP_ID,
            generation_id=group.generation_id,
            member_id=members[n % len(members)].member_id,
        )
        for n in range(count)
    ]
