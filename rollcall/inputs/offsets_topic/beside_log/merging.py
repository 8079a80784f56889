"""One group's history from a request log and the topic: each fact from one of the two, so that none comes twice. Facts
are decided era by era as they come, so the result is the same as of all facts at once. Knows the rule of
docs/two-inputs.md. Must not know where facts come from or go to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from operator import attrgetter, itemgetter

import msgspec

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_log.choice import FOREVER_MS, Before, Choice, Difference, Until
from rollcall.inputs.offsets_topic.beside_log.eras import (
    NO_GROUP,
    OF_GROUPS,
    Era,
    Reached,
    eras_of,
    is_to_classic,
    take_members,
)
from rollcall.inputs.tolerances import IN_TRANSACTION_WITHIN_MS, SAME_FACT_WITHIN_MS
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import CauseFound, OffsetsCommitted
from rollcall.schemas.shown_effects import ShownEffect

OF_BOTH = OF_GROUPS | {EffectName.OFFSETS_COMMITTED}
"""The facts that both inputs have."""
_KEPT_GONE = 256
"""At most this many of the last members to leave are remembered, in case the other input also has their end."""
_HELD = (EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED, EffectName.GROUP_TYPE_CHANGED)
_OF_A_DOWNGRADE = (EffectName.ASSIGNED, EffectName.STATE_CHANGED)
"""What the topic has after it, of the same records."""
_in_time = attrgetter("at_ms", "seq")


@dataclass
class Decided:
    """The decided facts of both inputs."""

    log_kept: list[Fact] = field(default_factory=list)
    log_left_out: list[Fact] = field(default_factory=list)
    """Inferences from the log for which the topic has records."""
    topic_kept: list[Fact] = field(default_factory=list)
    topic_left_out: list[Fact] = field(default_factory=list)
    """Facts that the log has as well."""
    topic_changed: list[tuple[Fact, ShownEffect]] = field(default_factory=list)
    """Facts that are in the history with what the log knows better."""
    added: list[tuple[int, ShownEffect]] = field(default_factory=list)
    """What only the log has of a group of the topic, each with its seq."""
    compared: int = 0
    """How many things both have."""
    differences: list[Difference] = field(default_factory=list)


class LoggedCommits(msgspec.Struct):
    """A group's stored offsets by the log, as far back as commits of the topic may still need them."""

    offsets: dict[str, list[int]] = {}
    """By the offset and its partition, when it was committed."""

    def note(self, fact: Fact) -> None:
        """A commit by the log."""
        for key in _offsets_of(fact):
            self.offsets.setdefault(key, []).append(fact.at_ms)

    def has(self, fact: Fact) -> bool:
        """Whether the log also has an offset of a commit in the topic."""
        near = range(fact.at_ms - IN_TRANSACTION_WITHIN_MS, fact.at_ms + SAME_FACT_WITHIN_MS + 1)
        return any(at_ms in near for key in _offsets_of(fact) for at_ms in self.offsets.get(key, ()))

    def forget(self, before_ms: int) -> None:
        """Forgets commits before a moment: the topic will have no earlier one."""
        from_ms = before_ms - IN_TRANSACTION_WITHIN_MS
        kept = {key: [at_ms for at_ms in times if at_ms >= from_ms] for key, times in self.offsets.items()}
        self.offsets = {key: times for key, times in kept.items() if times}


class GroupMerged(msgspec.Struct):
    """What is remembered of a group whose facts are decided up to a moment."""

    before: Before = msgspec.field(default_factory=Before)
    logged_commits: LoggedCommits = msgspec.field(default_factory=LoggedCommits)
    is_member: dict[str, bool] = {}
    """By member id, whether it is a member by the last fact; by the empty id, whether the group is a consumer group."""
    has_group: bool | None = None
    """Whether the group exists by the last fact."""
    until_ms: int = -1
    """Up to when all is decided."""
    heard_ms: int = -1
    """When the latest of the topic's facts happened."""


class Merging:
    """One group, whose facts by both inputs are taken and decided. group: what an earlier merging has left."""

    def __init__(self, group: GroupMerged | None = None) -> None:
        self.group = group or GroupMerged()
        self._log: list[Fact] = []
        self._topic: list[Fact] = []
        self._commits: list[Fact] = []
        """The topic's."""
        self._held: dict[str, Fact] = {}
        """By member id (empty: of the group), the topic's latest fact that the log lacks; see `_is_held`."""
        self._decided = Decided()
        """Facts decided when taken: commits by the log, and its late facts about a time that was decided before."""

    @property
    def is_waiting(self) -> bool:
        """Whether anything is taken that is not decided."""
        return bool(self._log or self._topic or self._commits or self._decided.log_kept or self._decided.log_left_out)

    @property
    def is_over(self) -> bool:
        """Whether the group is gone, and nothing waits."""
        before = self.group.before
        return not self.is_waiting and before.log.generation == before.topic.generation == NO_GROUP

    def take(self, log: Iterable[Fact], topic: Iterable[Fact]) -> None:
        """Facts of `OF_BOTH`, in any order."""
        group, before = self.group, self.group.before
        for fact in sorted(log, key=_in_time):
            if fact.effect == EffectName.OFFSETS_COMMITTED:
                group.logged_commits.note(fact)
                self._decided.log_kept.append(fact)
            elif fact.at_ms <= group.until_ms and before.topic_from_ms is not None:
                take_members(fact, before.log)
                before.is_log_reporting = False
                self._decided.log_left_out.append(fact)
            else:
                self._log.append(fact)
        for fact in topic:
            group.heard_ms = max(group.heard_ms, fact.at_ms)
            (self._commits if fact.effect == EffectName.OFFSETS_COMMITTED else self._topic).append(fact)

    def decide(self, until_ms: int) -> Decided:
        """Decides what can be decided once all facts of both inputs up to a moment are taken."""
        return self._decide(Until(until_ms, until_ms - SAME_FACT_WITHIN_MS))

    def end(self, log_until_ms: int, topic_until_ms: int, whole_from_ms: int = -1) -> Decided:
        """Decides all. log_until_ms, topic_until_ms: the last moment that each input covers, ms since the epoch.
        whole_from_ms: from when on the topic has every record.
        """
        decided = self._decide(Until(FOREVER_MS, FOREVER_MS, log_until_ms, topic_until_ms, whole_from_ms))
        decided.topic_left_out += self._held.values()
        return decided

    def _decide(self, until: Until) -> Decided:
        group, before, decided = self.group, self.group.before, self._decided
        self._decided = Decided()
        for facts in (self._log, self._topic, self._commits):
            facts.sort(key=_in_time)
        if before.topic_from_ms is None and self._topic and self._topic[0].at_ms <= until.heard_ms:
            before.topic_from_ms = self._topic[0].at_ms
        log, topic = _eras(self._log, before.log, until), _eras(self._topic, before.topic, until)
        choice = Choice(before, log, topic, until)
        until_ms = min(until.decided_ms, choice.waits_from_ms - 1)
        by_log = list(_reported(log[: choice.log_count], until_ms, choice.does_log_report))
        by_topic = list(_reported(topic[: choice.topic_count], until_ms, choice.does_topic_report))
        self._log = _go_on(self._log, by_log, before.log)
        self._topic = _go_on(self._topic, by_topic, before.topic)
        before.is_log_reporting, before.is_logged = choice.is_log_reporting, choice.is_logged
        group.until_ms = max(group.until_ms, until_ms)
        reported = [(fact.at_ms, False, fact.seq, fact, is_reported) for fact, is_reported in by_log]
        reported += [(fact.at_ms, True, fact.seq, fact, is_reported) for fact, is_reported in by_topic]
        downgraded_ms = -1
        for _, is_topic, _, fact, is_reported in sorted(reported, key=itemgetter(0, 1, 2)):
            if is_topic and is_reported:
                self._tell_held(decided)
            is_again = is_reported and self._is_again(fact)
            if is_topic and is_again and is_to_classic(fact):
                downgraded_ms = fact.at_ms
            # The log's rebalance that follows a downgrade has begun when the topic's records of the downgrade come.
            is_again |= is_topic and fact.at_ms == downgraded_ms and fact.effect in _OF_A_DOWNGRADE
            is_kept = is_reported and not is_again
            if isinstance(fact.content, CauseFound) and fact.content.to_generation_id in before.logged:
                # It adds why a member left in a generation that was taken from the log.
                is_kept = False
            # Sessions begin anew by it, whichever input tells of the members.
            is_kept |= fact.effect == EffectName.GROUP_OBSERVED
            if self._is_held(fact, decided, is_kept=is_kept, is_topic=is_topic):
                continue
            if is_topic:
                (decided.topic_kept if is_kept else decided.topic_left_out).append(fact)
            else:
                (decided.log_kept if is_kept else decided.log_left_out).append(fact)
        decided.compared, decided.differences = choice.compared, choice.differences
        self._decide_commits(until.decided_ms, decided)
        return decided

    def _is_held(self, fact: Fact, decided: Decided, *, is_kept: bool, is_topic: bool) -> bool:
        """Whether it is held: a member came or went by the topic, or the group changed its type, and the log, which is
        the one chosen, has not said so yet. What the log says now is held no longer.
        """
        if fact.effect == EffectName.GROUP_REMOVED:
            decided.topic_left_out += self._held.values()
            self._held.clear()
        if fact.effect not in _HELD:
            return False
        held = self._held.get(fact.member_id)
        if held is not None and (is_topic or (is_kept and held.effect == fact.effect)):
            is_missed = not is_topic and self._is_way_back(fact)
            (decided.topic_kept if is_missed else decided.topic_left_out).append(self._held.pop(fact.member_id))
        if is_kept or not is_topic or not self._is_news(fact):
            return False
        self._held[fact.member_id] = fact
        return True

    def _is_way_back(self, fact: Fact) -> bool:
        """Whether it takes back what is held, which the log must have missed then."""
        held = self._held.get(fact.member_id)
        return held is not None and held.effect == fact.effect and _is_then(held) is not _is_then(fact)

    def _tell_held(self, decided: Decided) -> None:
        """Decides the held facts by the topic's own records, now that the topic is chosen again."""
        for fact in self._held.values():
            (decided.topic_kept if self._is_news(fact) else decided.topic_left_out).append(fact)
            self.group.is_member[fact.member_id] = _is_then(fact)
        self._held.clear()

    def _is_news(self, fact: Fact) -> bool:
        return self.group.is_member.get(fact.member_id, False) is not _is_then(fact)

    def _is_again(self, fact: Fact) -> bool:
        """Whether a join, an end or a change of type is known already: after a change of input the other one may have
        had it.
        """
        group, is_now = self.group, fact.effect in (EffectName.MEMBER_JOINED, EffectName.GROUP_CREATED)
        match fact.effect:
            case EffectName.GROUP_TYPE_CHANGED:
                is_again = group.is_member.get("") is _is_then(fact) and not self._is_way_back(fact)
                group.is_member[""] = _is_then(fact)
                return is_again
            case EffectName.GROUP_FOUND:
                group.is_member.pop("", None)
                return False
            case EffectName.MEMBER_JOINED | EffectName.MEMBER_REMOVED:
                is_again = group.is_member.pop(fact.member_id, None) is is_now
                group.is_member[fact.member_id] = is_now
                gone = [member_id for member_id, is_there in group.is_member.items() if not is_there]
                for member_id in gone[:-_KEPT_GONE]:
                    del group.is_member[member_id]
                return is_again
            case EffectName.GROUP_CREATED | EffectName.GROUP_REMOVED:
                group.is_member.pop("", None)
                is_again, group.has_group = group.has_group is is_now, is_now
                return is_again
            case _:
                return False

    def _decide_commits(self, until_ms: int, decided: Decided) -> None:
        logged, waiting = self.group.logged_commits, self._commits
        self._commits = [fact for fact in waiting if fact.at_ms > until_ms]
        for fact in waiting[: len(waiting) - len(self._commits)]:
            (decided.topic_left_out if logged.has(fact) else decided.topic_kept).append(fact)
        logged.forget(until_ms)


def _eras(facts: Iterable[Fact], reached: Reached, until: Until) -> list[Era]:
    facts_of_both = [fact for fact in facts if fact.at_ms <= until.heard_ms]
    return eras_of(facts_of_both, msgspec.structs.replace(reached, members=dict(reached.members)))


def _reported(eras: Sequence[Era], until_ms: int, reports: Callable[..., bool]) -> Iterator[tuple[Fact, bool]]:
    """The facts of decided eras, each with whether its input is the chosen one."""
    for place, era in enumerate(eras):
        for fact in era.forming:
            yield fact, reports(place, fact, is_tail=False)
        for fact in era.tail:
            if fact.at_ms <= until_ms:
                yield fact, reports(place, fact, is_tail=True)


def _go_on(facts: Sequence[Fact], reported: Iterable[tuple[Fact, bool]], reached: Reached) -> list[Fact]:
    """The undecided facts; `reached` is updated to where they begin."""
    decided = {id(fact) for fact, _ in reported}
    eras_of([fact for fact in facts if id(fact) in decided], reached)
    return [fact for fact in facts if id(fact) not in decided]


def _is_then(fact: Fact) -> bool:
    """Whether its member is one after it, or its group a consumer group."""
    if isinstance(fact.content, GroupTypeChanged):
        return fact.content.is_to_consumer
    return fact.effect == EffectName.MEMBER_JOINED


def _offsets_of(fact: Fact) -> list[str]:
    assert isinstance(fact.content, OffsetsCommitted)
    return [f"{one.committed_offset} of {one.topic}-{one.partition}" for one in fact.content.offsets]
