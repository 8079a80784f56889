"""Who owns which partition, as the applications believe, and whether two with a valid session ever own one.

A consumer's session is valid while the coordinator counts it in: its member id is a member's, and that member took
part in the group's current generation (a static member that was absent from the last join phase did not). A consumer
that was expired while it stalled may believe in its partitions until it learns better; it is not valid.

Knows no network and no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rollcall.answers.simulation.virtual_time import VirtualTime
from rollcall.schemas.consumer_protocol import TopicPartition

Owned = tuple[str, TopicPartition]


@dataclass(frozen=True, slots=True)
class DoubleOwnership:
    """Two consumers, both with a valid session, owned one partition at the same time."""

    at_ms: int
    group_id: str
    partition: TopicPartition
    consumers: tuple[str, ...]


class Ownership:
    """Partitions by group, with their owners; `is_valid` says of a consumer's name whether its session is valid."""

    def __init__(self, time: VirtualTime, is_valid: Callable[[str], bool]) -> None:
        self.doubles: list[DoubleOwnership] = []
        self._time = time
        self._is_valid = is_valid
        self._owners: dict[Owned, set[str]] = {}
        self._shared: set[Owned] = set()

    def take(self, consumer: str, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            owners = self._owners.setdefault((group_id, partition), set())
            owners.add(consumer)
            if len(owners) > 1:
                self._shared.add((group_id, partition))
        self.check()

    def drop(self, consumer: str, group_id: str, partitions: Iterable[TopicPartition]) -> None:
        for partition in partitions:
            self._drop(consumer, (group_id, partition))

    def drop_all(self, consumer: str) -> None:
        for owned in list(self._owners):
            self._drop(consumer, owned)

    def _drop(self, consumer: str, owned: Owned) -> None:
        owners = self._owners.get(owned, set())
        owners.discard(consumer)
        if len(owners) <= 1:
            self._shared.discard(owned)

    def check(self) -> None:
        """Records every partition that two valid consumers own at this moment."""
        for group_id, partition in sorted(self._shared):
            valid = sorted(name for name in self._owners[group_id, partition] if self._is_valid(name))
            if len(valid) > 1:
                found = DoubleOwnership(self._time.now_ms, group_id, partition, tuple(valid))
                self.doubles.append(found)
