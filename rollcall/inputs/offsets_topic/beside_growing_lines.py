"""One group's history by a recording and by printed lines, whole or while both grow: one rule.

A recorded fact is decided once the lines are known up to its time; what is decided stays. What lines know better of a
recorded rebalance is added to it, and so are rebalances that the recording lacks, once it shows the group in their
generation or later. A recording that is whole is a growing one whose end has come. Must not know lines or records, nor
where facts come from or go to.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_lines import Before, completed, enriched, leads_to, unended
from rollcall.inputs.offsets_topic.beside_log.merging import Decided
from rollcall.inputs.offsets_topic.generations import Seen, Span, is_contradicted, is_in, joined, seen_in
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, GroupRemoved, MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from rollcall.schemas.shown_effects import ShownEffect

IN_ORDER = frozenset(EffectName) - {EffectName.OFFSETS_COMMITTED}
"""The facts of the topic that wait for lines. On their own, those of lines are not facts of the history."""
LINES_KEPT_MS = 3_600_000
"""For how long lines are kept beside which a fact may come: no rebalance lasts longer."""
_FOREVER_MS = 1 << 62
_Line = RebalanceStarted | RebalanceEnded | MemberJoined | MemberRemoved
_in_time = attrgetter("at_ms", "seq")


class GroupBeside(msgspec.Struct):
    """What is remembered of a group whose facts are decided up to a moment."""

    before: Before = msgspec.field(default_factory=Before)
    lines: list[tuple[_Line, str]] = []
    """What was printed lately, each with its place in its log."""
    is_removed: bool = True
    """Whether the topic has no such group by its last fact."""
    added: int = 0
    """How many rebalances the history has that the topic has no record of."""
    until_ms: int = -1
    """Up to when all is decided."""
    heard_ms: int = -1
    """When the latest of the topic's facts happened."""
    seen: list[Seen] = []
    """Which generation the recording has shown lately, and when."""
    known: list[Span] = []
    """The generations before and after the rebalances of the history, those that touch as one."""
    running: list[RebalanceStarted] = []
    """Recorded rebalances without a recorded end; the last may still run."""
    completed: list[tuple[int, int]] = []
    """Those that lines have ended lately: to which generation, and when each began."""


class MergingLines:
    """One group, whose facts by both inputs are taken and decided. group: what an earlier merging has left.

    topic_from_seq: a request log's facts have a `seq` below it.
    """

    def __init__(self, group: GroupBeside | None = None, topic_from_seq: int = 0) -> None:
        self.group = group or GroupBeside()
        self.completed: list[ShownEffect] = []
        """Ends of rebalances that lines show and the whole recording lacks."""
        self.recorded: list[Span] = []
        """As the recording ends, the generations before and after its rebalances."""
        self.printed: list[tuple[Effect | None, tuple[RebalanceEnded, ...]]] = []
        """The beginnings and ends that were decided last, each with the lines' rebalances that it may be of."""
        self._topic_from_seq = topic_from_seq
        self._lines: list[Fact] = []
        self._topic: list[Fact] = []

    @property
    def is_waiting(self) -> bool:
        """Whether anything is taken that is not decided."""
        lines = self.group.lines
        return bool(self._lines or self._topic or (lines and lines[-1][0].at_ms > self.group.until_ms))

    @property
    def is_over(self) -> bool:
        """Whether the group is gone, and nothing waits."""
        return not self.is_waiting and self.group.is_removed

    def take(self, log: Iterable[Fact], topic: Iterable[Fact]) -> None:
        """Facts of `IN_ORDER`, in any order. log: those of the lines. topic: those of the recording."""
        for fact in log:
            self._lines.append(fact)
            if isinstance(fact.content, _Line):
                self.group.lines.append((fact.content, fact.request_id))
        known = len(self._topic)
        for fact in topic:
            self.group.heard_ms = max(self.group.heard_ms, fact.at_ms)
            self._topic.append(fact)
        if self._topic[known:]:
            self.group.seen = seen_in(self._topic[known:], self.group.seen)

    def decide(self, until_ms: int) -> Decided:
        """Decides the topic's facts up to a moment, up to which all facts of both inputs are taken."""
        group = self.group
        group.until_ms = max(group.until_ms, until_ms)
        lines = self._believed()
        decided = self._enrich(until_ms, lines)
        self._lines = []
        then = [one for one in lines if one.effect.at_ms <= until_ms]
        coming = joined((one.from_generation_id, one.to_generation_id) for one in _ends(self._topic))
        ends = self._complete(then, decided, coming)
        numbers = {one.to_generation_id for one in self._unknown(then) if self._is_over(one, coming)}
        led = (one for one in then if isinstance(one.effect, RebalanceEnded) and one.effect.to_generation_id in numbers)
        added = [*ends, *led]
        self._add(added, decided)
        self._forget(group.until_ms - LINES_KEPT_MS)
        return decided

    def end(self, last_ms: int) -> Decided:
        """Decides all that was taken of a whole recording, which contradicts no line. last_ms: of its last fact.

        After that moment all is added that leads to the rebalances which the recording lacks, or follows the last.
        """
        lines = [ShownEffect(*one) for one in self.group.lines]
        effects = [ShownEffect(fact.content, fact.request_id) for fact in self._lines if fact.content is not None]
        decided = self._enrich(_FOREVER_MS, lines)
        self._lines = []
        self.completed = self._complete(lines, decided, None)
        self.recorded = self._known()
        if decided.topic_kept or decided.topic_changed:
            numbers = {one.to_generation_id for one in self._unknown(lines)}
            effects = _added(effects, numbers, self.completed, last_ms)
        self._add(effects, decided)
        return decided

    def _believed(self) -> list[ShownEffect]:
        """The lines without rebalances that the recording contradicts, and what led to them."""
        found: list[ShownEffect] = []
        begins = 0
        for line, shown_by in self.group.lines:
            found.append(ShownEffect(line, shown_by))
            if isinstance(line, RebalanceEnded):
                if is_contradicted(span := _span(line), line.to_generation_id, self.group.seen):
                    found[begins:] = [one for one in found[begins:] if one.effect.at_ms < span[0]]
                begins = len(found)
        return found

    def _enrich(self, until_ms: int, lines: Sequence[ShownEffect]) -> Decided:
        """Decides the recorded facts up to a moment."""
        group, decided = self.group, Decided(log_left_out=self._lines)
        now = sorted((fact for fact in self._topic if fact.at_ms <= until_ms), key=_in_time)
        if not now:
            return decided
        self._topic = [fact for fact in self._topic if fact.at_ms > until_ms]
        decided.topic_left_out = [fact for fact in now if self._is_completed(fact.content)]
        now = [fact for fact in now if not self._is_completed(fact.content)]
        known = [(fact, fact.content) for fact in now if fact.content is not None]
        shown = [*lines, *_open(lines)]
        logged = {place for place, (fact, _) in enumerate(known) if fact.seq < self._topic_from_seq}
        found = enriched(group.before, [content for _, content in known], [one.effect for one in shown], logged)
        line_of = {id(one.effect): one.shown_by for one in shown}
        changed = {id(fact): place for place, (fact, _) in enumerate(known) if place in found.changed}
        for fact in now:
            group.is_removed = fact.effect == EffectName.GROUP_REMOVED
            if id(fact) not in changed:
                decided.topic_kept.append(fact)
            elif (content := found.changed[place := changed[id(fact)]]) is None:
                decided.topic_left_out.append(fact)
            else:
                shown_by = found.shown_by(place, fact.request_id, line_of)
                decided.topic_changed.append((fact, ShownEffect(content, shown_by)))
        history = [found.changed.get(place, content) for place, (_, content) in enumerate(known)]
        self.printed = [(history[place], alike) for place, alike in found.printed.items()]
        self._note(history)
        decided.compared = found.in_both
        return decided

    def _complete(
        self, lines: Sequence[ShownEffect], decided: Decided, coming: Sequence[Span] | None
    ) -> list[ShownEffect]:
        """Ends recorded rebalances without a recorded end, if lines show that they ended.

        coming: see `_is_over`; None: the recording has ended.
        """
        running, found = [*self.group.running], list[ShownEffect]()
        for one in running:
            end = completed(one, [line.effect for line in [*lines, *_open(lines)]])
            if end is None or not (coming is None or self._is_over(end, coming)):
                continue
            shown_by = next((by for effect, by in lines if _is_end_of(effect, end)), "")
            end = replace(end, at_ms=min([end.at_ms, *(later.at_ms for later in running if later.at_ms > one.at_ms)]))
            self._note([end])
            self.group.completed.append((end.to_generation_id, one.at_ms))
            decided.compared += end.is_end_known
            found.append(ShownEffect(end, shown_by))
        return found

    def _is_completed(self, effect: Effect | None) -> bool:
        """Whether it is the late end of a rebalance that lines have ended: what is decided stays."""
        return isinstance(effect, RebalanceEnded) and (
            (effect.to_generation_id, effect.started_at_ms) in self.group.completed
        )

    def _note(self, history: Iterable[Effect | None]) -> None:
        """Notes which rebalances the history has."""
        group, spans = self.group, list[Span]()
        for effect in history:
            match effect:
                case RebalanceStarted():
                    group.running.append(effect)
                case RebalanceEnded():
                    spans.append((effect.from_generation_id, effect.to_generation_id))
                    group.running = [
                        one
                        for one in group.running
                        if one.from_generation_id not in range(effect.from_generation_id, leads_to(effect))
                    ]
                case GroupRemoved():
                    group.running = []
                case _:
                    pass
        group.known = joined([*group.known, *spans])

    def _known(self) -> list[Span]:
        """The generations before and after the rebalances of the history, of one that runs too."""
        running = self.group.running
        spans = ((one.from_generation_id, one.from_generation_id + 1) for one in running)
        return joined([*self.group.known, *spans]) if running else self.group.known

    def _unknown(self, lines: Iterable[ShownEffect]) -> list[RebalanceEnded]:
        """The rebalances of lines that the history lacks."""
        known = self._known()
        return [one for one in _ends_in(lines) if not is_in(known, one.to_generation_id)]

    def _is_over(self, one: RebalanceEnded, coming: Sequence[Span]) -> bool:
        """Whether the recording has the group after a rebalance, or in its generation. coming: of undecided facts."""
        from_ms, to_ms = _span(one)
        return not is_in(coming, one.to_generation_id) and (
            self.group.heard_ms > to_ms + SAME_FACT_WITHIN_MS
            or any(
                at_ms >= from_ms - SAME_FACT_WITHIN_MS and number >= one.to_generation_id
                for at_ms, number in self.group.seen
            )
        )

    def _add(self, added: Sequence[ShownEffect], decided: Decided) -> None:
        group = self.group
        named = (ShownEffect(self._named(effect), by) for effect, by in added)
        decided.added = [*enumerate(named, group.added + 1)]
        group.added += len(added)
        spans = [(one.to_generation_id - 1, one.to_generation_id) for one in _ends_in(added)]
        group.known = joined([*group.known, *spans]) if spans else group.known

    def _named(self, effect: Effect) -> Effect:
        if isinstance(effect, RebalanceStarted | RebalanceEnded):
            return replace(effect, cause=self.group.before.named(effect.cause))
        return effect

    def _forget(self, before_ms: int) -> None:
        group, before = self.group, self.group.before
        group.lines = [one for one in group.lines if one[0].at_ms >= before_ms]
        group.completed = [one for one in group.completed if one[1] >= before_ms]
        group.running = [*(one for one in group.running[:-1] if one.at_ms >= before_ms), *group.running[-1:]]
        group.seen = [one for place, one in enumerate(group.seen, 1) if one[0] >= before_ms or place == len(group.seen)]
        for member_id in [member_id for member_id, times_ms in before.gone.items() if times_ms[-1] < before_ms]:
            if member_id not in before.members or before.members[member_id].at_ms <= before.gone[member_id][-1]:
                before.members.pop(member_id, None)
                del before.gone[member_id]
        before.settled = {key for key in before.settled if key[1] >= before_ms}
        before.ends_now = {key: cause for key, cause in before.ends_now.items() if key[0] >= before_ms}


def _added(
    effects: Sequence[ShownEffect], numbers: Container[int], ended: Sequence[ShownEffect], last_ms: int
) -> list[ShownEffect]:
    """The rebalances to generations, and after a moment all that leads to one of them or follows the last.

    ended: what lines complete; only the last of them was under way then.
    """
    found: list[ShownEffect] = []
    begins, is_own = 0, False
    for place, (effect, _) in enumerate(effects):
        if isinstance(effect, RebalanceEnded):
            is_completed = any(_is_end_of(effect, one.effect) for one in ended[-1:])
            is_own = effect.to_generation_id in numbers or is_completed
            before = [one for one in effects[begins:place] if is_own and one.effect.at_ms > last_ms]
            found += [one for one in before if not (is_completed and isinstance(one.effect, RebalanceStarted))]
            found += [effects[place]] if is_own and not is_completed else ()
            begins = place + 1
    return [*found, *(one for one in effects[begins:] if is_own and one.effect.at_ms > last_ms)]


def _is_end_of(effect: Effect, ended: Effect) -> bool:
    """Whether an effect of lines ends the rebalance that a recording begins."""
    if not (isinstance(effect, RebalanceEnded) and isinstance(ended, RebalanceEnded)):
        return False
    at_ms = max(effect.at_ms, ended.started_at_ms or 0)
    return (effect.to_generation_id, at_ms) == (ended.to_generation_id, ended.at_ms)


def _span(one: RebalanceEnded) -> Span:
    """The first and the last time of a rebalance of lines."""
    times = (one.started_at_ms, one.known_from_ms, one.at_ms)
    return min(at_ms for at_ms in times if at_ms is not None), one.at_ms


def _ends(facts: Iterable[Fact]) -> list[RebalanceEnded]:
    return [fact.content for fact in facts if isinstance(fact.content, RebalanceEnded)]


def _ends_in(shown: Iterable[ShownEffect]) -> list[RebalanceEnded]:
    return [one.effect for one in shown if isinstance(one.effect, RebalanceEnded)]


def _open(lines: Iterable[ShownEffect]) -> list[ShownEffect]:
    """The last rebalance, if lines only show its beginning: an epoch's end is printed with the next one."""
    found: list[ShownEffect] = []
    for line, shown_by in lines:
        if isinstance(line, RebalanceStarted):
            found = [ShownEffect(unended(line), shown_by)]
        elif isinstance(line, RebalanceEnded):
            found = []
    return found
