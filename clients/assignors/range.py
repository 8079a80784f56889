"""Kafka's "range" assignor: each topic is cut into consecutive runs, one for each member; those of the first members
are one longer.

What it knows: the rule for a topic, and the step before it, which looks for partitions in the member's rack (KIP-881).
What it must not know: earlier assignments, generations, brokers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from clients.assignors.common import (
    MemberSubscription,
    RebalanceProtocol,
    ReplicaRacks,
    partitions_of,
    sorted_members,
    subscribed_partition_counts,
    subscribers_by_topic,
)
from clients.assignors.racks import NO_RACKS, is_rack_awareness_useful, racks_by_member
from schemas.consumer_protocol import TopicPartition


class RangeAssignor:
    """Topics are independent of each other, so members early in the order get the extra partition of each.

    Source: RangeAssignor; topics with the same subscribers and count keep equal partition numbers together.
    """

    name = "range"
    rebalance_protocols = frozenset({RebalanceProtocol.EAGER})

    def subscription_user_data(self, owned: Sequence[TopicPartition] | None, generation: int) -> None:
        """Range tells the leader nothing beside its topics."""

    def assign(
        self,
        partitions_by_topic: Mapping[str, int],
        members: Mapping[str, MemberSubscription],
        replica_racks: ReplicaRacks = NO_RACKS,
    ) -> dict[str, list[TopicPartition]]:
        """Every member's partitions, by topic and number; members without any get an empty list."""
        counts = subscribed_partition_counts(partitions_by_topic, members)
        racks = racks_by_member(members.values())
        subscribers = subscribers_by_topic(counts, sorted_members(members.values()))
        shares = [_TopicShare(topic, counts[topic], subscribers[topic], racks, replica_racks) for topic in counts]
        if any(share.is_rack_awareness_useful for share in shares):
            _assign_near(shares)
        for share in shares:
            share.assign_ranges(lambda _member_id, _number: True)
        return _collect(members, shares)


class _TopicShare:
    """One topic while it is shared out: who may still take how many, and what is left."""

    def __init__(
        self,
        topic: str,
        count: int,
        subscribers: Sequence[MemberSubscription],
        racks_by_member: Mapping[str, str],
        replica_racks: ReplicaRacks,
    ) -> None:
        self.topic = topic
        self.count = count
        self.racks = {member.member_id: racks_by_member.get(member.member_id) for member in subscribers}
        self.assigned: dict[str, list[int]] = {member_id: [] for member_id in self.racks}
        self._unassigned = list(range(count))
        self._quota, self._extras_left = divmod(count, len(self.racks))
        partitions = partitions_of({topic: count})
        self._replica_racks = [frozenset(replica_racks.get(partition, ())) for partition in partitions]
        member_racks = {rack for rack in self.racks.values() if rack is not None}
        self.is_rack_awareness_useful = is_rack_awareness_useful(member_racks, self._replica_racks)

    def room(self, member_id: str) -> int:
        """How many more partitions the member may take."""
        most = self._quota + (1 if self._extras_left > 0 else 0)
        return max(0, most - len(self.assigned[member_id]))

    def is_near(self, member_id: str, number: int) -> bool:
        """Whether the partition has a replica in the member's rack; a member without a rack is near everything."""
        rack = self.racks[member_id]
        return rack is None or rack in self._replica_racks[number]

    def assign(self, member_id: str, numbers: Iterable[int]) -> None:
        taken = list(numbers)
        self.assigned[member_id] += taken
        if len(self.assigned[member_id]) > self._quota:
            self._extras_left -= 1
        gone = set(taken)
        self._unassigned = [number for number in self._unassigned if number not in gone]

    def assign_ranges(self, may_take: Callable[[str, int], bool]) -> None:
        """Gives each member in turn the first partitions it may take, as many as it has room for."""
        for member_id in self.racks:
            room = self.room(member_id)
            if room and self._unassigned:
                taken = [number for number in self._unassigned if may_take(member_id, number)][:room]
                if taken:
                    self.assign(member_id, taken)


def _assign_near(shares: Sequence[_TopicShare]) -> None:
    """The rack-aware step: co-partitioned topics together, each other topic by itself."""
    groups: dict[tuple[frozenset[tuple[str, str | None]], int], list[_TopicShare]] = {}
    for share in shares:
        groups.setdefault((frozenset(share.racks.items()), share.count), []).append(share)
    for group in groups.values():
        if len(group) > 1:
            _assign_co_partitioned(group)
        elif group[0].is_rack_awareness_useful:
            group[0].assign_ranges(group[0].is_near)


def _assign_co_partitioned(shares: Sequence[_TopicShare]) -> None:
    """Puts each partition number of all the topics on the first member with room that is near all of them."""
    for number in range(shares[0].count):
        takers = (member_id for member_id in shares[0].racks if _is_taker(shares, member_id, number))
        taker = next(takers, None)
        if taker is not None:
            for share in shares:
                share.assign(taker, [number])


def _is_taker(shares: Sequence[_TopicShare], member_id: str, number: int) -> bool:
    return all(share.room(member_id) > 0 and share.is_near(member_id, number) for share in shares)


def _collect(
    members: Mapping[str, MemberSubscription], shares: Iterable[_TopicShare]
) -> dict[str, list[TopicPartition]]:
    assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
    for share in shares:
        for member_id, numbers in share.assigned.items():
            assignment[member_id] += [TopicPartition(share.topic, number) for number in sorted(numbers)]
    return assignment
