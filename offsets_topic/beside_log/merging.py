"""One group's history from a request log and the topic: what the log tells exactly holds, the topic tells the rest.

Facts are taken as they come, and decided in parts: where neither input tells anything of members for a moment, and no
rebalance is under way, what was told before is settled. So a history that is told bit by bit is the one that is told
at once. Knows the rules of docs/offsets-topic.md under "Beside a request log". Must not know where facts come from or
go to.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from operator import attrgetter, itemgetter
from typing import NamedTuple

import msgspec

from offsets_topic.beside_log.commits import LoggedCommits
from offsets_topic.beside_log.facts import MEMBERSHIP, MOVES, Difference, Fact, generations_of
from offsets_topic.beside_log.stretches import FOREVER_MS, Stretch, Walk, checked_ms, in_order, told_of_generation
from offsets_topic.beside_log.topic_members import SLACK_MS
from schemas.effect_names import EffectName

_KEPT_GONE = 256
"""So many of those who went last are remembered, in case the other input tells that they went."""
_in_time = attrgetter("at_ms", "seq")


class Settled(msgspec.Struct):
    """What is decided of both inputs' facts. The log's other facts hold as well: those about commits."""

    log_kept: list[Fact] = []
    log_left_out: list[Fact] = []
    """What the log tells without having seen it, and the topic tells by its records."""
    topic_kept: list[Fact] = []
    topic_left_out: list[Fact] = []
    """What the topic tells and the log too."""
    compared: int = 0
    """How many things both tell."""
    differences: list[Difference] = []


class _Part(msgspec.Struct):
    """Facts of members that were held against each other, and are not decided yet."""

    log: list[Fact] = []
    topic: list[Fact] = []
    generations: list[int] = []
    """Of the topic's facts."""


class Merging(msgspec.Struct):
    """One group. It is its own state: kept and read again, it goes on."""

    walk: Walk = msgspec.field(default_factory=Walk)
    commits: LoggedCommits = msgspec.field(default_factory=LoggedCommits)
    generation: int = 0
    """The group's, as of the topic's facts so far."""
    is_member: dict[str, bool] = {}
    """Who came and who went, as was told last."""
    tells_from_ms: int | None = None
    """From when on the topic tells of the group's members; None: nothing yet."""
    log: list[Fact] = []
    topic: list[Fact] = []
    """What is told of members and not held against the other."""
    late: list[Fact] = []
    """What the log has told of a time that was decided by then, and the topic tells."""
    part: _Part = msgspec.field(default_factory=_Part)
    until_ms: int = -1
    """Up to when all is decided of members."""
    heard_ms: int = -1
    """When the latest of the topic's facts happened."""

    @property
    def is_waiting(self) -> bool:
        """Whether anything is taken that is not decided."""
        return bool(self.late or self.log or self.topic or self.part.log or self.part.topic or self.commits.waiting)

    @property
    def is_over(self) -> bool:
        """Whether both tell that the group is gone, and nothing waits."""
        return not self.is_waiting and self.walk.open is None and not self.walk.topic.have_any

    def take(self, log: Sequence[Fact], topic: Sequence[Fact]) -> None:
        """Facts of the kinds that both tell, in any order."""
        self.commits.take(log, [fact for fact in topic if fact.effect not in MEMBERSHIP])
        self.heard_ms = max([self.heard_ms, *(fact.at_ms for fact in topic)])
        by_topic = [fact for fact in topic if fact.effect in MEMBERSHIP]
        by_log = [fact for fact in log if fact.effect in MEMBERSHIP]
        for fact in sorted(filter(self._is_late, by_log), key=_in_time):
            self.walk.take_late(fact, self.until_ms)
            self.late.append(fact)
        self.log = sorted([*self.log, *(fact for fact in by_log if not self._is_late(fact))], key=_in_time)
        self.topic = sorted([*self.topic, *by_topic], key=_in_time)

    def settle(self, until_ms: int) -> Settled:
        """Decides what can be decided once both inputs have told all up to a moment."""
        settled = Settled(log_left_out=self.late)
        self.late = []
        for end_ms in self._runs(until_ms):
            if self.walk.is_at_rest:
                self._decide(settled, end_ms, FOREVER_MS)
        self._decide_commits(settled, until_ms, None)
        return settled

    def end(self, log_until_ms: int, topic_until_ms: int) -> Settled:
        """Decides all. log_until_ms, topic_until_ms: the last moment that each input tells of, ms since the epoch."""
        settled = self.settle(min(log_until_ms, topic_until_ms))
        self.walk.topic_until_ms = topic_until_ms
        log, topic = self.log, self.topic
        self.log, self.topic = [], []
        self._hold_against(log, topic, log_until_ms)
        self.walk.end(log_until_ms)
        self._decide(settled, FOREVER_MS, topic_until_ms)
        self._decide_commits(settled, FOREVER_MS, log_until_ms)
        return settled

    # ------------------------------------------------------------ members

    def _is_late(self, fact: Fact) -> bool:
        return self.tells_from_ms is not None and fact.at_ms <= self.until_ms and fact.effect in MOVES

    def _runs(self, until_ms: int) -> Iterator[int]:
        """Walks on through all that stands close together, a run after the other; gives when each is over."""
        spans = [(fact.at_ms - SLACK_MS, fact.at_ms + SLACK_MS, 0) for fact in self.log]
        spans += [(fact.at_ms - SLACK_MS, checked_ms(fact) + SLACK_MS, 1) for fact in self.topic]
        spans.sort(key=itemgetter(0))
        counts, end_ms = [0, 0], -1
        for start, end, is_topic in [*spans, (FOREVER_MS, FOREVER_MS, 0)]:
            if start > end_ms and any(counts):
                if end_ms > until_ms:
                    return
                log, topic = self.log[: counts[0]], self.topic[: counts[1]]
                del self.log[: counts[0]], self.topic[: counts[1]]
                self._hold_against(log, topic, FOREVER_MS)
                yield end_ms
                counts = [0, 0]
            counts[is_topic] += 1
            end_ms = max(end_ms, end)

    def _hold_against(self, log: list[Fact], topic: list[Fact], log_until_ms: int) -> None:
        generations, self.generation = generations_of(topic, self.generation)
        self.walk.topic.take(topic, generations)
        for _, is_topic, fact in in_order(log, [fact for fact in topic if fact.at_ms <= log_until_ms]):
            if is_topic:
                self.walk.take_topic(fact)
            else:
                self.walk.take_log(fact)
        self.part.log += log
        self.part.topic += topic
        self.part.generations += generations

    def _decide(self, settled: Settled, until_ms: int, topic_until_ms: int) -> None:
        """Of all that was held against the other, which facts hold."""
        part, self.part = self.part, _Part()
        stretches = self.walk.stretches(until_ms)
        if self.tells_from_ms is None and part.topic:
            self.tells_from_ms = part.topic[0].at_ms - SLACK_MS
        left_out, unsure = self._concluded(part.log, stretches, topic_until_ms)
        kept: list[int] = []
        both: list[Fact] = []
        for place, (fact, generation) in enumerate(zip(part.topic, part.generations, strict=True)):
            if any(one.has_topic_fact(fact, generation) for one in stretches):
                both.append(fact)
            else:
                kept.append(place)
        again_in_log, again_in_topic = self._repetitions(part, left_out, unsure, kept)
        left_out |= again_in_log
        settled.log_left_out += [part.log[place] for place in sorted(left_out)]
        settled.log_kept += [fact for place, fact in enumerate(part.log) if place not in left_out]
        settled.topic_kept += [part.topic[place] for place in kept if place not in again_in_topic]
        settled.topic_left_out += [*both, *(part.topic[place] for place in sorted(again_in_topic))]
        compared, differences = _compare(part.log, both, stretches)
        settled.compared += compared
        settled.differences += [*self.walk.differences, *differences]
        self.walk.forget()
        self.until_ms = max(self.until_ms, until_ms)

    def _concluded(
        self, log: Sequence[Fact], stretches: Sequence[Stretch], topic_until_ms: int
    ) -> tuple[set[int], set[int]]:
        """Places of what the log tells while it is not exact: in the time that the topic tells of, and after it.

        What it tells too late, of a time that is decided, is no surer than what it tells after.
        """
        before: set[int] = set()
        after: set[int] = set()
        for place, fact in enumerate(log):
            if self.tells_from_ms is None or fact.at_ms < self.tells_from_ms:
                continue
            if any(one.has_log_fact(fact) for one in stretches):
                if fact.at_ms <= self.until_ms:
                    after.add(place)
                continue
            is_known = fact.effect in (EffectName.GROUP_CREATED, EffectName.GROUP_OBSERVED)
            (before if is_known or fact.at_ms <= topic_until_ms else after).add(place)
        return before, after

    def _repetitions(
        self, part: _Part, left_out: set[int], unsure: set[int], kept: Iterable[int]
    ) -> tuple[set[int], set[int]]:
        """The places of those facts of either input that say again who came or went, but for what the log is sure of.

        At a seam the one may have told it a moment before the other.
        """
        joined, removed = EffectName.MEMBER_JOINED, EffectName.MEMBER_REMOVED
        said = [(fact.at_ms, 0, fact.seq, n, fact) for n, fact in enumerate(part.log) if n not in left_out]
        said += [(part.topic[n].at_ms, 1, part.topic[n].seq, n, part.topic[n]) for n in kept]
        again: tuple[set[int], set[int]] = (set(), set())
        for _, is_topic, _, place, fact in sorted(said, key=itemgetter(0, 1, 2)):
            if fact.effect not in (joined, removed):
                continue
            is_now, member_id = fact.effect == joined, fact.member_id or ""
            if self.is_member.pop(member_id, None) is is_now and (is_topic or place in unsure):
                again[is_topic].add(place)
            self.is_member[member_id] = is_now
        gone = [member_id for member_id, is_now in self.is_member.items() if not is_now]
        for member_id in gone[:-_KEPT_GONE]:
            del self.is_member[member_id]
        return again

    # ------------------------------------------------------------ commits

    def _decide_commits(self, settled: Settled, until_ms: int, log_until_ms: int | None) -> None:
        decided = self.commits.settle(until_ms, log_until_ms)
        settled.topic_kept += decided.kept
        settled.topic_left_out += decided.left_out
        settled.compared += decided.compared
        settled.differences += decided.differences


class Merged(NamedTuple):
    """Which facts make the history of a group, by their places in what was given."""

    log_left_out: list[int]
    """What the log tells without having seen it, and the topic tells by its records."""
    topic_kept: list[int]
    compared: int
    """How many things both tell."""
    differences: list[Difference]


def merge(log: Sequence[Fact], topic: Sequence[Fact], log_until_ms: int, topic_until_ms: int) -> Merged:
    """A group's facts from both inputs at once, each in order of at_ms and seq; those of the kinds that both tell.

    log_until_ms, topic_until_ms: as in `Merging.end`.
    """
    merging = Merging()
    merging.take(log, topic)
    settled = merging.end(log_until_ms, topic_until_ms)
    in_log, in_topic = ({id(fact): place for place, fact in enumerate(facts)} for facts in (log, topic))
    return Merged(
        sorted(in_log[id(fact)] for fact in settled.log_left_out),
        sorted(in_topic[id(fact)] for fact in settled.topic_kept),
        settled.compared,
        settled.differences,
    )


def _compare(log: Sequence[Fact], both: Sequence[Fact], stretches: Sequence[Stretch]) -> tuple[int, list[Difference]]:
    """How many things about generations both tell, and where they differ."""
    told: dict[tuple[str, int, int | None], object] = {}
    for fact in log:
        told.update(_said(fact, stretches))
    compared, differences = 0, []
    for fact in both:
        for key, value in _said(fact, stretches).items():
            if key in told:
                compared += 1
                if told[key] != value:
                    what = f"{key[0]} of generation {key[2]}"
                    differences.append(Difference(fact.at_ms, what, str(told[key]), str(value)))
    return compared, differences


def _said(fact: Fact, stretches: Sequence[Stretch]) -> dict[tuple[str, int, int | None], object]:
    """What a fact says of a generation that the other input can say otherwise, by what it is about."""
    if told_of_generation(fact) is None:
        return {}
    life = next((n for n, one in enumerate(stretches) if one.from_ms - SLACK_MS <= fact.at_ms <= one.to_ms), None)
    if life is None:
        return {}
    told, generation = fact.told, fact.generation_id
    if fact.effect == EffectName.REBALANCE_ENDED:
        return {("number of members", life, generation): told["members_after"]}
    return {
        ("leader", life, generation): told["leader_id"],
        ("members", life, generation): sorted(told["member_ids"]),
    }
