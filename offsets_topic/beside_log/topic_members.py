"""Who the topic says were members of a group at the end of each generation, as far back as it may matter.

Knows the facts of the topic. Must not know what a log tells.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from offsets_topic.beside_log.facts import Fact
from schemas.effect_names import EffectName

SLACK_MS = 100
"""How far apart in time both inputs may tell the same: a record is written a moment after its request arrived."""
_KEPT_ERAS = 4
"""So many are known when it matters: a log lags behind no further than the rebalance that goes on."""


class Era(msgspec.Struct):
    """A generation of a group, or that there is no group."""

    began_ms: int
    until_ms: int
    """When its last fact so far happened."""
    generation: int | None
    """None: there is no group."""
    members: frozenset[str] = frozenset()


class TopicMembers(msgspec.Struct):
    """The members of each generation by the topic. `take` adds to them."""

    eras: list[Era] = []
    members: set[str] = set()
    """Now."""

    def take(self, topic: Sequence[Fact], generations: Sequence[int]) -> None:
        """Facts that follow those before, each with the generation that it belongs to."""
        for fact, generation in zip(topic, generations, strict=True):
            is_gone = fact.effect == EffectName.GROUP_REMOVED
            last = self.eras[-1] if self.eras else None
            if last is None or is_gone or last.generation != generation:
                if last is not None and last.generation is not None:
                    last.members = frozenset(self.members)
                last = Era(fact.at_ms, fact.at_ms, None if is_gone else generation)
                self.eras.append(last)
            last.until_ms = fact.at_ms
            self._take(fact)
        if self.eras and self.eras[-1].generation is not None:
            self.eras[-1].members = frozenset(self.members)

    def forget(self) -> None:
        """What is too old to matter goes."""
        del self.eras[:-_KEPT_ERAS]

    @property
    def have_any(self) -> bool:
        """Whether there is a group now."""
        return bool(self.eras) and self.eras[-1].generation is not None

    def has_group(self, before_ms: int) -> bool:
        """Whether there was a group then."""
        for era in reversed(self.eras):
            if era.until_ms <= before_ms:
                return era.generation is not None
        return False

    def have(self, generation: int, at_ms: int) -> bool:
        """Whether there is such a generation then."""
        for era in reversed(self.eras):
            if era.began_ms <= at_ms + SLACK_MS and (era.generation is None or era.generation <= generation):
                return era.generation == generation
        return False

    def are(self, members: set[str], generation: int, at_ms: int) -> bool:
        """Whether these are the members of that generation; nothing speaks against it where the topic tells nothing."""
        for era in reversed(self.eras):
            if era.until_ms > at_ms + SLACK_MS:
                continue
            if era.generation is None:
                return not members
            if era.generation <= generation:
                return era.generation == generation and era.members == members
        return True

    def _take(self, fact: Fact) -> None:
        match fact.effect:
            case EffectName.MEMBER_JOINED:
                self.members.add(fact.member_id or "")
            case EffectName.MEMBER_REMOVED:
                self.members.discard(fact.member_id or "")
            case EffectName.GROUP_REMOVED | EffectName.GROUP_CREATED | EffectName.GROUP_FOUND:
                self.members.clear()
            case _:
                pass
