"""Which partitions have moved from whom to whom while a general sticky assignment is balanced.

What it knows: net movements of this one balancing.
What it must not know: loads, subscriptions, who should get what.
"""

from __future__ import annotations

from typing import NamedTuple

from rollcall.schemas.consumer_protocol import TopicPartition


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
