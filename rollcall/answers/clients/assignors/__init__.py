"""The assignors a member runs when it leads its group: pure, deterministic, by Kafka's protocol names.

What it knows: what an assignor is, the four that Kafka's own clients have, and the rules of the two that forget earlier
assignments. "range" cuts each topic into consecutive runs, one for each member; those of the first members are one
longer (racks, KIP-881, are not known here). "roundrobin" deals all partitions one by one to the members in a ring.
What it must not know: sockets, clocks, the group's state; a leader hands over what it was given.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from rollcall.answers.clients.assignors.common import (
    MemberSubscription,
    RebalanceProtocol,
    partitions_of,
    sorted_members,
    subscribed_partition_counts,
    subscribers_by_topic,
)
from rollcall.answers.clients.assignors.sticky import (
    assign_cooperative_sticky,
    assign_sticky,
    generation_alone,
    last_assignment,
)
from rollcall.schemas.consumer_protocol import TopicPartition

__all__ = ["ASSIGNORS", "Assignor", "MemberSubscription", "RebalanceProtocol"]


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


def _nothing(owned: Sequence[TopicPartition] | None, generation: int) -> None:
    """The leader gets only the topics."""


class Assignor(NamedTuple):
    """How a group shares out its partitions."""

    assign: Callable[[Mapping[str, int], Mapping[str, MemberSubscription]], dict[str, list[TopicPartition]]]
    """The partitions of every member, by member id, of topics' partition counts and the members' subscriptions; topics
    without partitions or subscribers are skipped."""
    subscription_user_data: Callable[[Sequence[TopicPartition] | None, int], bytes | None] = _nothing
    """The userData of the subscription of a member that was last assigned partitions (None: never) in a generation."""
    rebalance_protocols: frozenset[RebalanceProtocol] = frozenset({RebalanceProtocol.EAGER})
    """The rebalance protocols it can be used with; a consumer uses the highest all its assignors share."""


ASSIGNORS = {
    "range": Assignor(assign_range),
    "roundrobin": Assignor(assign_roundrobin),
    "sticky": Assignor(assign_sticky, last_assignment),
    "cooperative-sticky": Assignor(assign_cooperative_sticky, generation_alone, frozenset(RebalanceProtocol)),
}
"""By Kafka's protocol names, as in JoinGroup."""
