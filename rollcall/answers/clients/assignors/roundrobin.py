"""Kafka's "roundrobin" assignor: all partitions dealt one by one to the members in a ring.

What it knows: the ring.
What it must not know: earlier assignments, generations, brokers.
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.answers.clients.assignors.common import (
    MemberSubscription,
    partitions_of,
    sorted_members,
    subscribed_partition_counts,
)
from rollcall.schemas.consumer_protocol import TopicPartition


def assign_roundrobin(
    partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions, in the order dealt; members without any get an empty list.

    Each partition goes to the next member of the ring that subscribes to its topic. Source: RoundRobinAssignor.
    """
    assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
    ring = [(each.member_id, frozenset(each.subscription.topics)) for each in sorted_members(members.values())]
    position = 0
    for partition in partitions_of(subscribed_partition_counts(partitions_by_topic, members)):
        while partition.topic not in ring[position][1]:
            position = (position + 1) % len(ring)
        assignment[ring[position][0]].append(partition)
        position = (position + 1) % len(ring)
    return assignment
