"""Groups of any size for the benches of the core: their requests, built beforehand, and members that have settled.

Knows how the core is driven; knows no clock.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.consumer_protocol import (
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rollcall.schemas.effects import Effect
from rollcall.schemas.messages import GroupRequest, HeartbeatRequest, JoinGroupRequest, SyncGroupRequest
from tests import requests

CONFIG = GroupConfig(group_initial_rebalance_delay_ms=0)
SESSION_TIMEOUT_MS = 45_000
REBALANCE_TIMEOUT_MS = 300_000
GROUP_ID = "orders"
TOPIC = "orders-by-customer"


def drive(group: Group, at_ms: int, sent: Iterable[GroupRequest]) -> list[Effect]:
    """The effects of requests that all arrive at one moment: what was due before fires first, what is due then last."""
    effects = expire_due(group, at_ms - 1, CONFIG)
    for request in sent:
        effects += step(group, request, at_ms, CONFIG)
    return effects + expire_due(group, at_ms, CONFIG)


def join(n: int, member_id: str, at_ms: int) -> JoinGroupRequest:
    """A consumer's JoinGroup, its bytes not those of others; v3, so that one request makes a new member."""
    metadata = encode_subscription(Subscription((TOPIC,), owned_partitions=(TopicPartition(TOPIC, n),)), version=1)
    return requests.join(
        f"orders-{n}",
        at_ms,
        GROUP_ID,
        protocols={"range": metadata},
        member_id=member_id,
        client_host=f"/10.0.{n >> 8}.{n & 255}",
        session_timeout_ms=SESSION_TIMEOUT_MS,
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
    )


def rejoins(group: Group, at_ms: int) -> list[JoinGroupRequest]:
    """Every member's next JoinGroup, the leader's first: it begins a rebalance."""
    joins = [join(n, member_id, at_ms) for n, member_id in enumerate(group.members)]
    return sorted(joins, key=lambda request: request.member_id != group.leader_id)


def syncs(group: Group, generation_id: int, at_ms: int) -> list[SyncGroupRequest]:
    """Every member's SyncGroup, the leader's with an assignment for all of them."""
    shares = {
        member_id: encode_assignment(Assignment((TopicPartition(TOPIC, n),)), version=1)
        for n, member_id in enumerate(group.members)
    }
    assigned = {group.leader_id: shares}
    return [
        requests.sync(
            member_id, generation_id, at_ms, GROUP_ID, assigned=assigned.get(member_id), client_id=f"orders-{n}"
        )
        for n, member_id in enumerate(group.members)
    ]


def heartbeats(group: Group, count: int, start_ms: int) -> list[HeartbeatRequest]:
    """Heartbeats of all members in turn, each member's 3 s apart."""
    members, generation_id = list(group.members), group.generation_id

    def beat(number: int) -> HeartbeatRequest:
        n, at_ms = number % len(members), start_ms + int(number * 3000 / len(members))
        return requests.heartbeat(members[n], generation_id, at_ms, GROUP_ID, client_id=f"orders-{n}")

    return [beat(number) for number in range(count)]


def stable_group(members: int) -> Group:
    """A Stable group in its first generation, at 2 s."""
    group = Group(GROUP_ID)
    drive(group, 1000, (join(n, "", 1000) for n in range(members)))
    drive(group, 2000, syncs(group, group.generation_id, 2000))
    return group
