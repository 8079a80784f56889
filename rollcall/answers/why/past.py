"""A group's facts of a span of time, with the earlier ones that still hold in it.

The result is the same as of reading everything. Knows which facts hold beyond their moment, and until when; must not
know how they are used, nor where rows come from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rollcall.history.facts import (
    ACTIONS,
    GROUP_TYPES,
    HOLDINGS,
    MEMBERSHIPS,
    REBALANCES,
    Fact,
    effects_in,
    facts_of,
    in_order,
)
from rollcall.history.holdings import holdings_of
from rollcall.history.kinds import GroupKind, kind_at, kinds_of
from rollcall.history.members import Membership, memberships_of
from rollcall.history.rebalances import Rebalance, rebalances_of
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Assigned
from rollcall.schemas.membership_messages import LONGEST_RUN_MS

LONGEST_SESSION_MS = 30 * 60_000
"""The longest session timeout that Kafka allows by default: heartbeats are read from that long before a moment."""
EVER = 2**53

Read = Callable[[Sequence[str], int, int], Iterable[Mapping[str, Any]]]
"""Reads rows of one group: of these effects, at_ms from and to these moments, both included, in any order."""


@dataclass(frozen=True)
class Past:
    """What needs a group's whole history: memberships, rebalances, its kinds."""

    facts: list[Fact]
    rebalances: list[Rebalance]
    memberships: list[Membership]
    kinds: list[tuple[int, GroupKind]]

    def around(self, read: Read, from_ms: int, actions_from_ms: int, to_ms: int) -> list[Fact]:
        """The facts up to to_ms that hold at from_ms or happened since actions_from_ms, in order."""
        actions = facts_of(read((*ACTIONS, *HOLDINGS), actions_from_ms, to_ms + LONGEST_RUN_MS))
        facts = self._with(self._holding_at(read, from_ms, actions_from_ms - 1), actions)
        if any(one.is_member_in(0, from_ms - 1) for one in self.memberships) and not _is_owned(facts, from_ms - 1):
            # The last owner, who may have gone long ago, shows since when nobody owns anything.
            facts = self._with(facts_of(read((*HOLDINGS, EffectName.STATE_CHANGED), 0, actions_from_ms - 1)), actions)
        return [fact for fact in facts if fact.at_ms <= to_ms]

    def _with(self, before: Iterable[Fact], actions: Iterable[Fact]) -> list[Fact]:
        return sorted([*self.facts, *before, *actions], key=in_order)

    def _holding_at(self, read: Read, at_ms: int, to_ms: int) -> list[Fact]:
        """The facts up to to_ms that show who owns what at a moment: the latest assignment of each member, at least.

        A member of a classic group gets its assignment in every rebalance, unless another one comes before; a member
        of a consumer group when it changes.
        """
        members = {one.member_id: one.joined_at_ms for one in self.memberships if one.is_member_in(at_ms, at_ms)}
        settled = [one.started_at_ms for one in self.rebalances if one.outcome == "completed"]
        settled = [started_ms for started_ms in settled if started_ms < at_ms]
        first_ms = min(members.values(), default=at_ms)
        for back in (1, 8, 64) if kind_at(self.kinds, at_ms).gives_whole_assignments else ():
            if back > len(settled) or settled[-back] <= first_ms:
                break
            facts = facts_of(read((*HOLDINGS, EffectName.STATE_CHANGED), settled[-back], to_ms))
            assigned = {fact.member_id for fact in facts if fact.effect == EffectName.ASSIGNED and fact.at_ms < at_ms}
            if assigned.issuperset(members):
                return facts
        return facts_of(read((*HOLDINGS, EffectName.STATE_CHANGED), min([first_ms, *settled[-1:]]), to_ms))


def _is_owned(facts: Iterable[Fact], at_ms: int) -> bool:
    """Whether somebody owned something at a moment, or it is not known what somebody owned."""
    effects = [*effects_in(fact for fact in facts if fact.at_ms <= at_ms)]
    is_unknown = any(isinstance(one, Assigned) and one.partitions is None for one in effects)
    return is_unknown or any(one.is_held_at(at_ms) for one in holdings_of(effects))


def past_of(read: Read, to_ms: int = EVER) -> Past:
    """Reads the facts that hold beyond their moment, of a group's whole history up to to_ms."""
    facts = facts_of(read((*REBALANCES, *MEMBERSHIPS, *GROUP_TYPES), 0, to_ms))
    effects = [*effects_in(facts)]
    return Past(facts, rebalances_of(effects), memberships_of(effects), kinds_of(effects))
