"""The stretches of time in which a request log tells exactly who is a member of a group, and in which generation.

Knows the rules of docs/offsets-topic.md under "Beside a request log". Must not know what is done with them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field

from coordinator_udfs.protocol.consumer.states import GroupType
from offsets_topic.beside_log.facts import Fact
from schemas.effect_names import EffectName

SLACK_MS = 100
"""How far apart in time both inputs may tell the same: a record is written a moment after its request arrived."""


@dataclass(slots=True)
class Stretch:
    """A log tells exactly from one moment to another, and from one generation to another."""

    from_ms: int
    from_generation: int
    to_generation: int
    to_ms: int = -1

    def has_log_fact(self, at_ms: int) -> bool:
        """Whether a fact of the log's is one of these."""
        return self.from_ms <= at_ms <= self.to_ms

    def has_topic_fact(self, fact: Fact, generation: int) -> bool:
        """Whether the log tells what this fact of the topic's tells."""
        if not self.from_ms - SLACK_MS <= fact.at_ms <= self.to_ms or generation > self.to_generation:
            return False
        if fact.effect == EffectName.CAUSE_FOUND:
            return fact.leads_to >= self.from_generation
        return generation >= self.from_generation or fact.at_ms >= self.from_ms


class TopicMembers:
    """Who the topic says were members at the end of each generation."""

    def __init__(self, topic: Sequence[Fact], generations: Sequence[int]) -> None:
        self._from_ms: list[int] = []
        self._was: list[tuple[int, frozenset[str]] | None] = []
        """Generation and members; None: there is no group."""
        members: set[str] = set()
        for place, (fact, generation) in enumerate(zip(topic, generations, strict=True)):
            match fact.effect:
                case EffectName.MEMBER_JOINED:
                    members.add(fact.member_id or "")
                case EffectName.MEMBER_REMOVED:
                    members.discard(fact.member_id or "")
                case EffectName.GROUP_REMOVED | EffectName.GROUP_CREATED | EffectName.GROUP_FOUND:
                    members = set()
                case _:
                    pass
            is_gone = fact.effect == EffectName.GROUP_REMOVED
            if is_gone or place + 1 == len(topic) or generations[place + 1] != generation:
                self._from_ms.append(fact.at_ms)
                self._was.append(None if is_gone else (generation, frozenset(members)))

    def has_group(self, before_ms: int) -> bool:
        """Whether there was a group then."""
        place = bisect_right(self._from_ms, before_ms) - 1
        return place >= 0 and self._was[place] is not None

    def are(self, members: set[str], generation: int, at_ms: int) -> bool:
        """Whether these are the members of that generation; nothing speaks against it where the topic tells nothing."""
        for place in range(bisect_right(self._from_ms, at_ms + SLACK_MS) - 1, -1, -1):
            was = self._was[place]
            if was is None:
                return not members
            if was[0] <= generation:
                return was[0] == generation and was[1] == members
        return True


@dataclass
class _Walk:
    """What the log has told of a group so far."""

    topic: TopicMembers
    found: list[Stretch] = field(default_factory=list)
    open: Stretch | None = None
    inexact_since_ms: int = -1
    is_consumer: bool = False
    members: set[str] = field(default_factory=set)
    changes: list[Fact] = field(default_factory=list)
    """Who came and went at the latest moment, which is not in `members` yet."""

    def take(self, fact: Fact) -> None:
        if self.changes and self.changes[0].at_ms != fact.at_ms:
            self._settle()
        match fact.effect:
            case EffectName.MEMBER_JOINED | EffectName.MEMBER_REMOVED:
                self.changes.append(fact)
            case EffectName.GROUP_CREATED:
                self._create(fact)
            case EffectName.GROUP_OBSERVED:
                if fact.told["is_away"] or fact.told["is_loaded"] or fact.told["member_ids"]:
                    self.close(fact.at_ms - 1)
                    self.inexact_since_ms = fact.at_ms
            case EffectName.GROUP_REMOVED:
                self.close(fact.at_ms + SLACK_MS)
            case EffectName.GROUP_TYPE_CHANGED:
                self.is_consumer = fact.told["to_type"] == GroupType.CONSUMER
            case EffectName.REBALANCE_STARTED:
                self._start(fact)
            case _:
                pass

    def close(self, to_ms: int) -> None:
        if self.open is not None and to_ms >= self.open.from_ms:
            self.open.to_ms = to_ms
            self.found.append(self.open)
        self.open = None

    def _create(self, fact: Fact) -> None:
        self.is_consumer = False
        self.members.clear()
        self.changes.clear()
        if self.topic.has_group(fact.at_ms - SLACK_MS):
            self.inexact_since_ms = fact.at_ms
        else:
            self.open = Stretch(fact.at_ms, 0, 0)

    def _start(self, fact: Fact) -> None:
        to = fact.leads_to
        if self.open is not None:
            self.open.to_generation = max(self.open.to_generation, to)
            return
        # What a consumer group's members subscribe to, and what they are to have, is said when they join alone.
        if self.is_consumer or fact.at_ms <= self.inexact_since_ms:
            return
        if self.topic.are(self.members, to - 1, fact.at_ms):
            self.open = Stretch(fact.at_ms, to, to)

    def _settle(self) -> None:
        for change in self.changes:
            if change.effect == EffectName.MEMBER_JOINED:
                self.members.add(change.member_id or "")
            else:
                self.members.discard(change.member_id or "")
        self.changes.clear()


def exact_stretches(log: Sequence[Fact], topic: TopicMembers, until_ms: int) -> list[Stretch]:
    """The stretches in which a log is believed, of one group. log: its facts in order; until_ms: its last moment."""
    walk = _Walk(topic)
    for fact in log:
        walk.take(fact)
    walk.close(until_ms)
    return walk.found
