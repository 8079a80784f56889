"""A fact as both inputs tell it, and the generation that each fact of a topic is about.

Knows the columns of the effects table that the merging goes by. Must not know which input is believed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from schemas.effect_names import EffectName

COMMITS = frozenset({EffectName.OFFSETS_COMMITTED, EffectName.OFFSETS_REMOVED})
"""What the stored offsets become."""
MEMBERSHIP = frozenset(
    {
        EffectName.GROUP_CREATED,
        EffectName.GROUP_REMOVED,
        EffectName.GROUP_OBSERVED,
        EffectName.GROUP_FOUND,
        EffectName.GROUP_TYPE_CHANGED,
        EffectName.STATE_CHANGED,
        EffectName.MEMBER_JOINED,
        EffectName.MEMBER_UPDATED,
        EffectName.MEMBER_REMOVED,
        EffectName.MEMBER_SUBSCRIBED,
        EffectName.MEMBER_LEFT_FOR_NOW,
        EffectName.MEMBER_PROGRESSED,
        EffectName.REBALANCE_STARTED,
        EffectName.JOIN_PHASE_ENDED,
        EffectName.ASSIGNED,
        EffectName.REBALANCE_ENDED,
        EffectName.CAUSE_FOUND,
        EffectName.TOPICS_SEEN,
        EffectName.PATTERNS_RESOLVED,
        EffectName.TARGET_ASSIGNED,
    }
)
"""What both inputs tell of a group's members and generations; all other facts are a log's alone."""
_RAISES = frozenset(
    {
        EffectName.GROUP_FOUND,
        EffectName.REBALANCE_STARTED,
        EffectName.JOIN_PHASE_ENDED,
        EffectName.REBALANCE_ENDED,
    }
)
"""Facts that name the group's own generation."""

OF_GENERATIONS = frozenset({EffectName.REBALANCE_STARTED, EffectName.JOIN_PHASE_ENDED, EffectName.REBALANCE_ENDED})
"""Facts that name the generation that a rebalance leads to."""

MOVES = OF_GENERATIONS | {
    EffectName.GROUP_CREATED,
    EffectName.GROUP_REMOVED,
    EffectName.GROUP_OBSERVED,
    EffectName.GROUP_TYPE_CHANGED,
    EffectName.STATE_CHANGED,
    EffectName.MEMBER_JOINED,
    EffectName.MEMBER_REMOVED,
}
"""Facts that say who is there, and in which generation."""


class Fact(msgspec.Struct, frozen=True, gc=False):
    """A row of the effects table, as far as it matters here; its fields are columns of `schemas.tables.EFFECTS`."""

    at_ms: int
    seq: int
    effect: str
    generation_id: int | None
    member_id: str | None
    detail: str | None

    @property
    def told(self) -> dict[str, Any]:
        """The whole fact."""
        return msgspec.json.decode(self.detail) if self.detail else {}

    @property
    def leads_to(self) -> int:
        """The generation of the rebalance that it tells of."""
        assert self.generation_id is not None
        return self.generation_id + (self.effect == EffectName.REBALANCE_STARTED)


class Difference(NamedTuple):
    """Something that the inputs tell differently."""

    at_ms: int
    what: str
    log: str
    topic: str


def generations_of(topic: Sequence[Fact], before: int = 0) -> tuple[list[int], int]:
    """For each fact of a group, in order, the group's generation that it belongs to, and the generation after them.

    The facts of one record have one time, and those who came and went are told before their generation is: they are of
    it already. before: the generation when the first of these facts happened.
    """
    found: list[int] = []
    current = before
    for place, fact in enumerate(topic):
        if fact.effect == EffectName.GROUP_CREATED:
            current = 0
        elif fact.effect in _RAISES:
            current = max(current, fact.leads_to)
            earlier = place - 1
            while earlier >= 0 and topic[earlier].at_ms == fact.at_ms and topic[earlier].effect not in _RAISES:
                found[earlier] = current
                earlier -= 1
        found.append(current)
        if fact.effect == EffectName.GROUP_REMOVED:
            current = 0
    return found, current
