"""The stretches of time in which a request log tells exactly who is a member of a group, and in which generation.

Knows the rules of docs/offsets-topic.md under "Beside a request log". Must not know what is done with them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from coordinator_udfs.protocol.consumer.states import GroupType
from offsets_topic.beside_log.facts import Difference, Fact
from schemas.effect_names import EffectName

SLACK_MS = 100
"""How far apart in time both inputs may tell the same: a record is written a moment after its request arrived."""
EPOCH_SLACK_MS = 5_000
"""The same of a consumer group's epochs, whose heartbeats a busy broker answers late."""
_EMPTY = "empty"
_OF_GENERATIONS = (EffectName.REBALANCE_STARTED, EffectName.JOIN_PHASE_ENDED, EffectName.REBALANCE_ENDED)
"""The records' facts that name a generation."""


@dataclass(slots=True)
class Stretch:
    """A log tells exactly from one moment to another, and from one generation to another."""

    from_ms: int
    from_generation: int
    to_generation: int
    to_ms: int = -1
    ended_generation: int = -1
    """Where the log ends: the latest generation that it has seen to its end."""

    def has_log_fact(self, at_ms: int) -> bool:
        """Whether a fact of the log's is one of these."""
        return self.from_ms <= at_ms <= self.to_ms

    def has_topic_fact(self, fact: Fact, generation: int) -> bool:
        """Whether the log tells what this fact of the topic's tells."""
        to_ms = self.to_ms + (SLACK_MS if generation <= self.ended_generation else 0)
        if not self.from_ms - SLACK_MS <= fact.at_ms <= to_ms or generation > self.to_generation:
            return False
        if fact.effect == EffectName.CAUSE_FOUND:
            return fact.leads_to >= self.from_generation
        return generation >= self.from_generation or fact.at_ms >= self.from_ms


class TopicMembers:
    """Who the topic says were members at the end of each generation."""

    def __init__(self, topic: Sequence[Fact], generations: Sequence[int]) -> None:
        self._began_ms: list[int] = []
        self._from_ms: list[int] = []
        """When each generation's first and last fact happened."""
        self._was: list[tuple[int, frozenset[str]] | None] = []
        """Generation and members; None: there is no group."""
        ends = [fact.effect == EffectName.GROUP_REMOVED for fact in topic]
        starts = [
            ends[place] or ends[place - 1] or generations[place] != generations[place - 1]
            for place in range(len(topic))
        ]
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
            if place == 0 or starts[place]:
                self._began_ms.append(fact.at_ms)
                self._from_ms.append(fact.at_ms)
                self._was.append(None)
            if place + 1 == len(topic) or starts[place + 1]:
                is_gone = fact.effect == EffectName.GROUP_REMOVED
                self._from_ms[-1], self._was[-1] = fact.at_ms, None if is_gone else (generation, frozenset(members))

    def has_group(self, before_ms: int) -> bool:
        """Whether there was a group then."""
        place = bisect_right(self._from_ms, before_ms) - 1
        return place >= 0 and self._was[place] is not None

    def have(self, generation: int, at_ms: int) -> bool:
        """Whether there is such a generation then."""
        for place in range(bisect_right(self._began_ms, at_ms + SLACK_MS) - 1, -1, -1):
            was = self._was[place]
            if was is None or was[0] <= generation:
                return was is not None and was[0] == generation
        return False

    def are(self, members: set[str], generation: int, at_ms: int) -> bool:
        """Whether these are the members of that generation; nothing speaks against it where the topic tells nothing."""
        for place in range(bisect_right(self._from_ms, at_ms + SLACK_MS) - 1, -1, -1):
            was = self._was[place]
            if was is None:
                return not members
            if was[0] <= generation:
                return was[0] == generation and was[1] == members
        return True


Told = tuple[str, ...]
"""A generation's leader and members, or how the rebalance ended that led to it."""


@dataclass
class _Walk:
    """What both have told of a group so far."""

    topic: TopicMembers
    topic_until_ms: int
    found: list[Stretch] = field(default_factory=list)
    differences: list[Difference] = field(default_factory=list)
    open: Stretch | None = None
    inexact_since_ms: int = -1
    is_consumer: bool = False
    members: set[str] = field(default_factory=set)
    changes: list[Fact] = field(default_factory=list)
    """Who came and went at the latest moment, which is not in `members` yet."""
    began_ms: dict[int, int] = field(default_factory=dict)
    """When the rebalances of the open stretch began, by the generation that they lead to."""
    told: dict[tuple[str, int], Told] = field(default_factory=dict)
    """What the log says of the generations of the open stretch, by the kind of fact."""

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
        ours = self.told.get((fact.effect, generation)) if is_known else None
        if ours is not None and ours == told:
            return
        if ours is not None and told is not None:
            self.differences.append(
                Difference(fact.at_ms, f"generation {generation}", ", ".join(ours), ", ".join(told))
            )
        self._cut(generation, fact.at_ms)

    def close(self, to_ms: int) -> None:
        if self.open is not None and to_ms >= self.open.from_ms:
            self.open.to_ms = to_ms
            self.found.append(self.open)
        self.open = None

    def _note(self, fact: Fact) -> None:
        generation, told = fact.leads_to, told_of_generation(fact)
        assert told is not None
        self.told[fact.effect, generation] = told
        is_empty = told == (_EMPTY,) and not self.is_consumer
        if is_empty and fact.at_ms + SLACK_MS < self.topic_until_ms and not self.topic.have(generation, fact.at_ms):
            self._cut(generation, fact.at_ms)

    def _lose(self, at_ms: int) -> None:
        """The log concludes something, so a rebalance that it has not seen end may never have been one."""
        latest = max(self.began_ms, default=0)
        if (EffectName.REBALANCE_ENDED, latest) in self.told or latest not in self.began_ms:
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


def _checked_ms(fact: Fact) -> int:
    """When the log has told of a record's generation, if it tells of it."""
    return fact.at_ms + (EPOCH_SLACK_MS if fact.effect == EffectName.REBALANCE_STARTED else SLACK_MS)


def exact_stretches(
    log: Sequence[Fact], topic: Sequence[Fact], known: TopicMembers, log_until_ms: int, topic_until_ms: int
) -> tuple[list[Stretch], list[Difference]]:
    """The stretches in which a log is believed, of one group, and where its generations are not those of the records.

    log, topic: facts in order. log_until_ms, topic_until_ms: the last moment that each tells of.
    """
    walk = _Walk(known, topic_until_ms)
    records = [fact for fact in topic if fact.at_ms <= log_until_ms and fact.effect in _OF_GENERATIONS]
    steps = [(fact.at_ms, 0, fact) for fact in log] + [(_checked_ms(fact), 1, fact) for fact in records]
    for _, is_topic, fact in sorted(steps, key=itemgetter(0, 1)):
        if is_topic:
            walk.take_topic(fact)
        else:
            walk.take_log(fact)
    if walk.open is not None:
        walk.open.ended_generation = max((n for kind, n in walk.told if kind == EffectName.REBALANCE_ENDED), default=-1)
    walk.close(log_until_ms)
    return walk.found, walk.differences
