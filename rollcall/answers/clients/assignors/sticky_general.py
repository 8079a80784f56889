"""The sticky algorithm for a group whose members subscribe to different topics.

What it knows: who could own which topic, everybody's load, and moves that even the loads out.
What it must not know: generations and conflicting claims (settled before), how a claim is written.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from rollcall.answers.clients.assignors.common import partitions_of
from rollcall.schemas.consumer_protocol import TopicPartition, java_string_order


def assign_general(
    counts: Mapping[str, int],
    subscribers: Mapping[str, Sequence[str]],
    owned: Mapping[str, Sequence[TopicPartition]],
    earlier_owners: Mapping[TopicPartition, str],
) -> dict[str, list[TopicPartition]]:
    """Every member's partitions: kept ones first, then new ones, until no move could even out two loads further.

    `counts` has the topics in Java's order, `subscribers` the members of each of them (at least one), `owned` every
    member once, each partition under one member at most. Source: AbstractStickyAssignor.GeneralAssignmentBuilder.
    """
    by_demand = sorted(counts, key=lambda topic: len(subscribers[topic]))
    partitions = partitions_of({topic: counts[topic] for topic in by_demand})
    loads = _Loads(subscribers, owned)
    is_revoking = any([not loads.keep(member_id, owned[member_id]) for member_id in owned])
    unassigned = [partition for partition in partitions if partition not in loads.owner]
    loads.place(unassigned)
    if not is_revoking:
        loads.even_out(unassigned, earlier_owners)
    loads.even_out(partitions, earlier_owners)
    return loads.assignment


class _Loads:
    """The assignment being built. Of two members the lighter comes first, at equal load the one with the lower id."""

    def __init__(self, subscribers: Mapping[str, Sequence[str]], members: Iterable[str]) -> None:
        self.assignment: dict[str, list[TopicPartition]] = {member_id: [] for member_id in members}
        self._subscribers = subscribers
        self.owner: dict[TopicPartition, str] = {}
        self._rank = {member_id: rank for rank, member_id in enumerate(sorted(self.assignment, key=java_string_order))}
        self._movements = PartitionMovements()

    def keep(self, member_id: str, partitions: Sequence[TopicPartition]) -> bool:
        """Lets a member keep what it still subscribes to. True if that is everything."""
        valid = [partition for partition in partitions if member_id in self._subscribers[partition.topic]]
        for partition in valid:
            self._give(partition, member_id)
        return len(valid) == len(partitions)

    def place(self, partitions: Iterable[TopicPartition]) -> None:
        """Gives each partition to its lightest subscriber."""
        for partition in partitions:
            self._give(partition, min(self._subscribers[partition.topic], key=self._weight))

    def even_out(self, partitions: Sequence[TopicPartition], earlier_owners: Mapping[TopicPartition, str]) -> None:
        """Moves partitions until a whole pass moves nothing.

        Every move takes one partition from a member to one that has at least two fewer, so it improves the balance and
        the passes come to an end. Kafka moves only the substitute, which may make the balance worse, and then reverts
        all moves.
        """
        while any([self._improve(partition, earlier_owners.get(partition)) for partition in partitions]):
            pass

    def _improve(self, partition: TopicPartition, earlier_owner: str | None) -> bool:
        subscribers = self._subscribers[partition.topic]
        lightest = min(subscribers, key=self._weight)
        two_fewer = len(self.assignment[self.owner[partition]]) - 2
        if len(self.assignment[lightest]) > two_fewer:
            return False
        preferred = (each for each in subscribers if each == earlier_owner and len(self.assignment[each]) <= two_fewer)
        self._move(partition, next(preferred, lightest))
        return True

    def _move(self, partition: TopicPartition, destination: str) -> None:
        """Takes one partition from this one's owner to the destination, as a substitute where that undoes a swap."""
        source = self.owner[partition]
        substitute = self._movements.substitute(partition, source, destination)
        if self.owner[substitute] != source:
            self._shift(partition, self.owner[substitute])
        self._shift(substitute, destination)

    def _shift(self, partition: TopicPartition, destination: str) -> None:
        source = self.owner[partition]
        self._movements.record(partition, source, destination)
        self.assignment[source].remove(partition)
        self._give(partition, destination)

    def _give(self, partition: TopicPartition, member_id: str) -> None:
        self.assignment[member_id].append(partition)
        self.owner[partition] = member_id

    def _weight(self, member_id: str) -> tuple[int, int]:
        return len(self.assignment[member_id]), self._rank[member_id]


class _Move(NamedTuple):
    source: str
    destination: str


class PartitionMovements:
    """Remembers net movements, so that two members never swap partitions of one topic for nothing.

    Source: AbstractStickyAssignor.PartitionMovements.
    """

    def __init__(self) -> None:
        self._moves: dict[TopicPartition, _Move] = {}
        self._moved: dict[tuple[str, _Move], set[TopicPartition]] = {}

    def record(self, partition: TopicPartition, source: str, destination: str) -> None:
        """Notes a move; a partition that is back where it started counts as not moved."""
        earlier = self._moves.pop(partition, None)
        if earlier is not None:
            self._moved[partition.topic, earlier].discard(partition)
            source = earlier.source
        if source != destination:
            move = _Move(source, destination)
            self._moves[partition] = move
            self._moved.setdefault((partition.topic, move), set()).add(partition)

    def substitute(self, partition: TopicPartition, source: str, destination: str) -> TopicPartition:
        """The partition to move instead: of the same topic, lowest number, that moved the opposite way before, if any.

        A partition that moved already counts as moving from where it started.
        """
        start = self._moves[partition].source if partition in self._moves else source
        return min(self._moved.get((partition.topic, _Move(destination, start)), ()), default=partition)
