"""The stretches of time in which a request log tells exactly who is a member of a group, and in which generation.

Knows the rules of docs/offsets-topic.md under "Beside a request log". Must not know what is done with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from coordinator_udfs.protocol.consumer.states import GroupType
from offsets_topic.beside_log.facts import OF_GENERATIONS, Difference, Fact
from offsets_topic.beside_log.topic_members import SLACK_MS, TopicMembers
from schemas.effect_names import EffectName

EPOCH_SLACK_MS = 5_000
"""As SLACK_MS, of a consumer group's epochs, whose heartbeats a busy broker answers late."""
FOREVER_MS = 1 << 62
_EMPTY = "empty"
_KEPT_GENERATIONS = 4
"""So many generations are known while a log is exact: records of older ones come no more."""
_KEPT_STRETCHES = 4


class Stretch(msgspec.Struct):
    """A log tells exactly from one moment to another, and from one generation to another."""

    from_ms: int
    from_generation: int
    to_generation: int
    to_ms: int = -1
    ended_generation: int = -1
    """Where the log ends: the latest generation that it has seen to its end."""

    def has_log_fact(self, fact: Fact) -> bool:
        """Whether a fact of the log's is one of these."""
        if not self.from_ms <= fact.at_ms <= self.to_ms:
            return False
        return fact.effect not in OF_GENERATIONS or fact.leads_to <= self.to_generation

    def has_topic_fact(self, fact: Fact, generation: int) -> bool:
        """Whether the log tells what this fact of the topic's tells."""
        to_ms = self.to_ms + (SLACK_MS if generation <= self.ended_generation else 0)
        if not self.from_ms - SLACK_MS <= fact.at_ms <= to_ms or generation > self.to_generation:
            return False
        if fact.effect == EffectName.CAUSE_FOUND:
            return fact.leads_to >= self.from_generation
        return generation >= self.from_generation or fact.at_ms >= self.from_ms


Told = tuple[str, ...]
"""A generation's leader and members, or how the rebalance ended that led to it."""


class Walk(msgspec.Struct):
    """What both have told of a group so far. Facts are taken in the order in which they can be compared."""

    topic: TopicMembers = msgspec.field(default_factory=TopicMembers)
    topic_until_ms: int = FOREVER_MS
    """The last moment that the topic tells of."""
    found: list[Stretch] = []
    """Stretches that are over; the oldest are forgotten."""
    differences: list[Difference] = []
    open: Stretch | None = None
    inexact_since_ms: int = -1
    is_consumer: bool = False
    members: set[str] = set()
    changes: list[Fact] = []
    """Who came and went at the latest moment, which is not in `members` yet."""
    began_ms: dict[int, int] = {}
    """When the rebalances of the open stretch began, by the generation that they lead to."""
    told: dict[int, dict[str, Told]] = {}
    """What the log says of the generations of the open stretch, by the kind of fact."""

    @property
    def is_at_rest(self) -> bool:
        """Whether nothing that comes later can change what was told so far: no rebalance is under way."""
        if self.open is None or not self.began_ms:
            return True
        return EffectName.REBALANCE_ENDED in self.told.get(max(self.began_ms), {})

    def stretches(self, until_ms: int) -> list[Stretch]:
        """All that are known up to a moment."""
        if self.open is None:
            return [*self.found]
        return [*self.found, msgspec.structs.replace(self.open, to_ms=until_ms)]

    def forget(self) -> None:
        """What no later fact can be held against goes."""
        del self.found[:-_KEPT_STRETCHES]
        self.differences.clear()
        self.topic.forget()
        latest = max(self.began_ms, default=0)
        for kept in (self.began_ms, self.told):
            for generation in [one for one in kept if one <= latest - _KEPT_GENERATIONS]:
                del kept[generation]

    def take_log(self, fact: Fact) -> None:
        if self.changes and self.changes[0].at_ms != fact.at_ms:
            self._settle()
        match fact.effect:
            case EffectName.MEMBER_JOINED | EffectName.MEMBER_REMOVED:
                self.changes.append(fact)
            case EffectName.GROUP_CREATED:
                self._create(fact)
            case EffectName.GROUP_OBSERVED:
                told = fact.told
                if told["is_away"] or told["is_loaded"] or told["member_ids"]:
                    self._lose(fact.at_ms)
            case EffectName.GROUP_REMOVED:
                self.close(fact.at_ms + SLACK_MS)
            case EffectName.GROUP_TYPE_CHANGED:
                self.is_consumer = fact.told["to_type"] == GroupType.CONSUMER
            case EffectName.REBALANCE_STARTED:
                self._start(fact)
            case EffectName.JOIN_PHASE_ENDED | EffectName.REBALANCE_ENDED:
                self._note(fact)
            case _:
                pass

    def take_topic(self, fact: Fact) -> None:
        """A generation by its record, which proves it: a log that tells it otherwise, or not at all, was not exact."""
        if self.open is None or fact.at_ms < self.open.from_ms:
            return
        generation, told = fact.leads_to, told_of_generation(fact)
        if generation < self.open.from_generation:
            return
        is_known = generation <= self.open.to_generation
        if is_known and (told is None or self.is_consumer):
            return
        ours = self.told.get(generation, {}).get(fact.effect) if is_known else None
        if ours is not None and ours == told:
            return
        if ours is not None and told is not None:
            self.differences.append(
                Difference(fact.at_ms, f"generation {generation}", ", ".join(ours), ", ".join(told))
            )
        self._cut(generation, fact.at_ms)

    def take_late(self, fact: Fact, decided_ms: int) -> None:
        """Who comes or goes, or a generation, that the log tells of a time that is decided already."""
        if not fact.at_ms <= self.inexact_since_ms:
            self._lose(decided_ms + 1)
        match fact.effect:
            case EffectName.MEMBER_JOINED:
                self.members.add(fact.member_id or "")
            case EffectName.MEMBER_REMOVED:
                self.members.discard(fact.member_id or "")
            case EffectName.GROUP_CREATED | EffectName.GROUP_REMOVED:
                self.members.clear()
            case EffectName.GROUP_TYPE_CHANGED:
                self.is_consumer = fact.told["to_type"] == GroupType.CONSUMER
            case _:
                pass

    def end(self, log_until_ms: int) -> None:
        """The log ends."""
        if self.open is not None:
            ended = [one for one, told in self.told.items() if EffectName.REBALANCE_ENDED in told]
            self.open.ended_generation = max(ended, default=-1)
        self.close(log_until_ms)

    def close(self, to_ms: int) -> None:
        if self.open is not None and to_ms >= self.open.from_ms:
            self.open.to_ms = to_ms
            self.found.append(self.open)
        self.open = None

    def _note(self, fact: Fact) -> None:
        generation, told = fact.leads_to, told_of_generation(fact)
        assert told is not None
        self.told.setdefault(generation, {})[fact.effect] = told
        is_empty = told == (_EMPTY,) and not self.is_consumer
        if is_empty and fact.at_ms + SLACK_MS < self.topic_until_ms and not self.topic.have(generation, fact.at_ms):
            self._cut(generation, fact.at_ms)

    def _lose(self, at_ms: int) -> None:
        """The log concludes something, so a rebalance that it has not seen end may never have been one."""
        latest = max(self.began_ms, default=0)
        if latest not in self.began_ms or EffectName.REBALANCE_ENDED in self.told.get(latest, {}):
            self.close(at_ms - 1)
        else:
            self._cut(latest, at_ms)
        self.inexact_since_ms = at_ms

    def _cut(self, generation: int, at_ms: int) -> None:
        """The log was exact until the rebalance began that led to this generation."""
        if self.open is not None:
            self.open.to_generation = min(self.open.to_generation, generation - 1)
            self.close(min(self.began_ms.get(generation, at_ms), at_ms) - 1)
        self.inexact_since_ms = at_ms

    def _open(self, at_ms: int, generation: int) -> None:
        self.open = Stretch(at_ms, generation, generation)
        self.began_ms = {generation: at_ms} if generation else {}
        self.told = {}

    def _create(self, fact: Fact) -> None:
        self.is_consumer = False
        self.members.clear()
        self.changes.clear()
        if self.topic.has_group(fact.at_ms - SLACK_MS):
            self.inexact_since_ms = fact.at_ms
        else:
            self._open(fact.at_ms, 0)

    def _start(self, fact: Fact) -> None:
        to = fact.leads_to
        if self.open is not None:
            self.open.to_generation = max(self.open.to_generation, to)
            self.began_ms[to] = fact.at_ms
            return
        # What a consumer group's members subscribe to, and what they are to have, is said when they join alone.
        if self.is_consumer or fact.at_ms <= self.inexact_since_ms:
            return
        if fact.at_ms > self.topic_until_ms or self.topic.are(self.members, to - 1, fact.at_ms):
            self._open(fact.at_ms, to)

    def _settle(self) -> None:
        for change in self.changes:
            if change.effect == EffectName.MEMBER_JOINED:
                self.members.add(change.member_id or "")
            else:
                self.members.discard(change.member_id or "")
        self.changes.clear()


def told_of_generation(fact: Fact) -> Told | None:
    """What a fact says of a generation that the other input says too; None for a fact that says nothing of one."""
    match fact.effect:
        case EffectName.JOIN_PHASE_ENDED:
            told = fact.told
            return f"led by {told['leader_id']}", *sorted(told["member_ids"])
        case EffectName.REBALANCE_ENDED:
            return (str(fact.told["outcome"]),)
        case _:
            return None


def checked_ms(fact: Fact) -> int:
    """When the log has told of a record's generation, if it tells of it."""
    return fact.at_ms + (EPOCH_SLACK_MS if fact.effect == EffectName.REBALANCE_STARTED else SLACK_MS)


def in_order(log: Iterable[Fact], topic: Sequence[Fact]) -> list[tuple[int, int, Fact]]:
    """Facts in the order in which a walk takes them: of the topic those that name a generation.

    Each with its moment, and whether it is the topic's.
    """
    steps = [(fact.at_ms, 0, fact) for fact in log]
    steps += [(checked_ms(fact), 1, fact) for fact in topic if fact.effect in OF_GENERATIONS]
    return sorted(steps, key=lambda step: step[:2])
