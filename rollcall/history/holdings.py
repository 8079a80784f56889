"""Which member held which partition, from when to when, by the rule of the view `assignments`.

Knows the partitions in assigned and join_received. Must not know any rebalance, nor who a member is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from rollcall.schemas.effects import Assigned, Effect, JoinReceived, MemberRemoved, TopicPartitions


class Partition(NamedTuple):
    topic: str
    number: int


class Holding(NamedTuple):
    """One member held one partition without a break; to_ms is None if it still does."""

    partition: Partition
    member_id: str
    from_ms: int
    to_ms: int | None
    generation_id: int

    def is_held_at(self, at_ms: int) -> bool:
        """Return True if it began at or before this moment and lasts beyond it."""
        return self.from_ms <= at_ms and (self.to_ms is None or self.to_ms > at_ms)


class Holdings:
    """Every ownership interval, from effects that are taken one by one in their order.

    It begins when an assignment gives the partition; it ends when a later assignment to the same member does not, when
    the member goes, or when it joins again without claiming the partition (an eager member claims nothing).
    """

    def __init__(self) -> None:
        self._over: list[Holding] = []
        self.current: dict[str, dict[Partition, Holding]] = {}
        """Those that go on, by member id and partition."""

    def take(self, effect: Effect) -> None:
        """Takes in an effect, if it is about ownership."""
        match effect:
            case Assigned(member_id=member_id, generation_id=generation_id):
                given = _partitions(effect.partitions)
            case JoinReceived(member_id=member_id, from_generation_id=generation_id):
                given = _partitions(effect.owned_partitions) & self.current.get(member_id, {}).keys()
            case MemberRemoved(member_id=member_id, generation_id=generation_id):
                given = set()
            case _:
                return
        own = self.current.setdefault(member_id, {})
        self._over += [own.pop(gone)._replace(to_ms=effect.at_ms) for gone in sorted(own.keys() - given)]
        for partition in given - own.keys():
            own[partition] = Holding(partition, member_id, effect.at_ms, None, generation_id)

    @property
    def all(self) -> list[Holding]:
        """By when each began."""
        still = [holding for own in self.current.values() for holding in own.values()]
        return sorted([*self._over, *still], key=lambda holding: (holding.from_ms, holding.partition))


def holdings_of(effects: Iterable[Effect]) -> list[Holding]:
    """Every ownership interval, by when it began."""
    found = Holdings()
    for effect in effects:
        found.take(effect)
    return found.all


def standstills(holdings: Sequence[Holding]) -> list[tuple[int, int]]:
    """The times between the first ownership and the last one during which nobody owned any partition."""
    found: list[tuple[int, int]] = []
    held_until: int | None = None
    for holding in sorted(holdings, key=lambda holding: holding.from_ms):
        if held_until is not None and holding.from_ms > held_until:
            found.append((held_until, holding.from_ms))
        if holding.to_ms is None:
            break
        held_until = holding.to_ms if held_until is None else max(held_until, holding.to_ms)
    return found


def _partitions(topics: Sequence[TopicPartitions] | None) -> set[Partition]:
    return {Partition(each.topic, number) for each in topics or () for number in each.partitions}
