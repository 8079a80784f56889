"""What all assignors share: a member's subscription as the leader sees it, and the orders Kafka's assignors go by.

What it knows: member and topic order, and which topics there are to share out.
What it must not know: any one assignor's rule; brokers, groups and sockets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from rollcall.schemas.consumer_protocol import Subscription, TopicPartition, java_string_order


class RebalanceProtocol(IntEnum):
    """What a member gives up before it rejoins: everything, or only what it must (KIP-429)."""

    EAGER = 0
    COOPERATIVE = 1


@dataclass(frozen=True, slots=True)
class MemberSubscription:
    """One member of the leader's list in a JoinGroup answer, its metadata decoded."""

    member_id: str
    group_instance_id: str | None
    subscription: Subscription


def sorted_members(members: Iterable[MemberSubscription]) -> list[MemberSubscription]:
    """Members in Kafka's order: static ones by instance id, then dynamic ones by member id. Source: MemberInfo."""
    return sorted(
        members,
        key=lambda each: (each.group_instance_id is None, java_string_order(each.group_instance_id or each.member_id)),
    )


def subscribed_partition_counts(
    partitions_by_topic: Mapping[str, int], members: Mapping[str, MemberSubscription]
) -> dict[str, int]:
    """The number of partitions of each subscribed topic, by topic in Java's order; topics without any
    partition (no metadata) are left out."""
    topics = {topic for member in members.values() for topic in member.subscription.topics}
    counts = ((topic, partitions_by_topic.get(topic, 0)) for topic in sorted(topics, key=java_string_order))
    return {topic: count for topic, count in counts if count > 0}


def subscribers_by_topic(
    topics: Iterable[str], members: Iterable[MemberSubscription]
) -> dict[str, list[MemberSubscription]]:
    """The members subscribed to each of the topics, in the order given."""
    subscribers: dict[str, list[MemberSubscription]] = {topic: [] for topic in topics}
    for member in members:
        for topic in dict.fromkeys(member.subscription.topics):
            if topic in subscribers:
                subscribers[topic].append(member)
    return subscribers


def partitions_of(counts: Mapping[str, int]) -> list[TopicPartition]:
    """Every partition of the topics: the topics in the order given, partitions by number."""
    return [TopicPartition(topic, number) for topic, count in counts.items() for number in range(count)]
