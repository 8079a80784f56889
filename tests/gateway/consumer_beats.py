"""A member of a consumer group (KIP-848) by its heartbeats on the wire, and what its group needs. Knows no test."""

from __future__ import annotations

import uuid
from typing import Any

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.serve.gateway.topic_ids import TopicIds
from tests.wire_client import Client

T1 = TopicIds({"t1": 4}).by_name["t1"]
AT_ONCE = GroupConfig(group_initial_rebalance_delay_ms=0, consumer=ConsumerConfig(assignment_interval_ms=0))
"""A coordinator that knows no topics."""


async def beat(client: Client, member: str, epoch: int, group: str = "g", version: int = 1, **fields: Any) -> Any:
    """One heartbeat; a join says all."""
    said: dict[str, Any] = {"rebalance_timeout_ms": -1, "subscribed_topic_names": None, "topic_partitions": None}
    if epoch == 0:
        said = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": ["t1"], "topic_partitions": []}
    named = {"group_id": group, "member_id": member, "member_epoch": epoch}
    return await client.call("ConsumerGroupHeartbeat", version, **named, **(said | fields))


def given(answer: Any) -> list[tuple[uuid.UUID, tuple[int, ...]]] | None:
    if answer.assignment is None:
        return None
    return [(topic.topic_id, topic.partitions) for topic in answer.assignment.topic_partitions]
