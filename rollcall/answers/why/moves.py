"""Which partitions a rebalance moved from whom to whom, and which came back.

Knows ownership intervals and members' names. Must not know why a rebalance began.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from rollcall.history.holdings import Holding, Partition
from rollcall.history.members import Names


@dataclass(frozen=True)
class Move:
    """A partition that has another owner. A name is None if nobody owned it."""

    partition: Partition
    before: str | None
    after: str | None
    later: str | None
    """Who got it later, if nobody owned it at the end of the rebalance."""
    back_at_ms: int | None
    """When its earlier owner had it again; None if it did not."""
    back_generation_id: int | None
    unheld_ms: int | None
    """How long nobody owned it; None if nobody does yet, or nobody did before."""


class Owners(NamedTuple):
    """Who owned a partition before a rebalance and after it; None: nobody."""

    before: str | None
    after: str | None


class Moves(NamedTuple):
    """What moved, by partition; how long each had no owner, where that is known; and every partition's owners."""

    moves: list[Move]
    unheld_ms: dict[Partition, int]
    owners: dict[Partition, Owners]

    @property
    def kept_count(self) -> int:
        """How many partitions did not move."""
        return sum(one.before is not None and one.before == one.after for one in self.owners.values())


def moves_of(holdings: Sequence[Holding], from_ms: int, end_ms: int, names: Names, *, is_before_known: bool) -> Moves:
    """What moved between the beginning and the end of a rebalance.

    A partition has no owner from the moment when its owner gives it up until it is assigned again. is_before_known:
    whoever owned a partition at the beginning is known; otherwise one without a known owner may have stayed where it
    was.
    """
    by_partition: dict[Partition, list[Holding]] = {}
    for holding in holdings:
        by_partition.setdefault(holding.partition, []).append(holding)
    found = Moves([], {}, {})
    for partition, intervals in sorted(by_partition.items()):
        before = [one for one in intervals if one.from_ms < from_ms and (one.to_ms is None or one.to_ms >= from_ms)]
        after = [one for one in intervals if one.is_held_at(end_ms)]
        afterwards = [one for one in intervals if one.from_ms > end_ms]
        if not (before or is_before_known):
            continue
        unheld_ms = _unheld_ms(before, [*after, *afterwards])
        if unheld_ms is not None:
            found.unheld_ms[partition] = unheld_ms
        owners = found.owners[partition] = Owners(_name(before, names), _name(after, names))
        if owners.before != owners.after:
            found.moves.append(_move(partition, before, after, afterwards, names))
    return found


def _move(
    partition: Partition, before: list[Holding], after: list[Holding], afterwards: list[Holding], names: Names
) -> Move:
    was = _name(before, names)
    later = afterwards[0] if afterwards and not after else None
    back = next((one for one in afterwards if names.of(one.member_id) == was), None)
    return Move(
        partition=partition,
        before=was,
        after=_name(after, names),
        later=None if later is None else names.of(later.member_id),
        back_at_ms=None if back is None else back.from_ms,
        back_generation_id=None if back is None else back.generation_id,
        unheld_ms=_unheld_ms(before, [*after, *afterwards]),
    )


def _unheld_ms(before: Sequence[Holding], following: Sequence[Holding]) -> int | None:
    """How long nobody held it; None if nobody had it before, or nobody has it yet."""
    given_up_ms = before[-1].to_ms if before else None
    if before and given_up_ms is None:
        return 0
    return max(following[0].from_ms - given_up_ms, 0) if following and given_up_ms is not None else None


def _name(held: Sequence[Holding], names: Names) -> str | None:
    return names.of(held[-1].member_id) if held else None
