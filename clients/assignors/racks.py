"""Rack awareness (KIP-881): when it applies, and which members are near which partitions.

What it knows: the members' racks and the racks of the partitions' replicas.
What it must not know: how partitions are shared out; brokers.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

from clients.assignors.common import MemberSubscription, ReplicaRacks
from schemas.consumer_protocol import TopicPartition

NO_RACKS: ReplicaRacks = {}


def racks_by_member(members: Iterable[MemberSubscription]) -> dict[str, str]:
    """The rack of each member that has one (an empty rack is none)."""
    return {member.member_id: member.subscription.rack_id for member in members if member.subscription.rack_id}


def is_rack_awareness_useful(member_racks: Collection[str], replica_racks: Sequence[Collection[str]]) -> bool:
    """Whether racks can matter: some member is in a rack with replicas, and some partition is not in every rack.

    Source: AbstractPartitionAssignor.useRackAwareAssignment.
    """
    all_racks = {rack for racks in replica_racks for rack in racks}
    if all_racks.isdisjoint(member_racks):
        return False
    return any(all_racks.difference(racks) for racks in replica_racks)


class RackView:
    """Which members are in the rack of a replica; without any rack where racks cannot matter."""

    def __init__(
        self,
        partitions: Sequence[TopicPartition],
        members: Iterable[MemberSubscription],
        replica_racks: ReplicaRacks,
    ) -> None:
        member_racks = racks_by_member(members)
        replicas = {partition: frozenset(replica_racks.get(partition, ())) for partition in partitions}
        self.is_useful = is_rack_awareness_useful(member_racks.values(), list(replicas.values()))
        self._member_racks: Mapping[str, str] = member_racks if self.is_useful else {}
        self._replica_racks: ReplicaRacks = replicas if self.is_useful else NO_RACKS
        self._members_in_rack = Counter(self._member_racks.values())

    def is_mismatch(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack and the partition no replica in it."""
        rack = self._member_racks.get(member_id)
        return rack is not None and rack not in self._replica_racks.get(partition, ())

    def is_match(self, member_id: str, partition: TopicPartition) -> bool:
        """Whether the member has a rack and the partition a replica in it."""
        return self._member_racks.get(member_id) in self._replica_racks.get(partition, ())

    def candidates(self, partition: TopicPartition) -> int:
        """How many members are in a rack with a replica of the partition."""
        return sum(self._members_in_rack[rack] for rack in self._replica_racks.get(partition, ()))
