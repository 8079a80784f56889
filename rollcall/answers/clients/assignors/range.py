"""Kafka's "range" assignor: each topic is cut into consecutive runs, one for each member; those of the first members
are one longer.

What it knows: the rule for a topic. What it must not know: earlier assignments, generations, brokers, racks (KIP-881:
replicas' racks are not known here).
"""

from __future__ import annotations

from collections.abc import Mapping

from rollcall.answers.clients.assignors.common import (
    MemberSubscription,
    sorted_members,
    subscribed_partition_counts,
    subscribers_by_topic,
)
from rollcall.schemas.consumer_protocol import TopicPartition


def assign_range(
    partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions, by topic and number; members without any get an empty list.

    Topics are independent of each other, so members early in the order get the extra partition of each. Source:
    RangeAssignor; topics with the same subscribers and count keep equal partition numbers together.
    """
    assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
    counts = subscribed_partition_counts(partitions_by_topic, members)
    for topic, subscribers in subscribers_by_topic(counts, sorted_members(members.values())).items():
        quota, extras = divmod(counts[topic], len(subscribers))
        for place, member in enumerate(subscribers):
            first = place * quota + min(place, extras)
            numbers = range(first, first + quota + (place < extras))
            assignment[member.member_id] += [TopicPartition(topic, number) for number in numbers]
    return assignment
