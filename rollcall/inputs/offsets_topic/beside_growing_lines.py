"""One group's history by the topic and by what its coordinator prints, while both grow.

A fact of the topic is decided once the lines are known up to its time; what is decided stays. It becomes what a replay
makes of it (`rollcall.inputs.offsets_topic.beside_lines`). Must not know lines or records, nor where facts come from or
go to.
"""

from __future__ import annotations

from collections.abc import Iterable
from operator import attrgetter

import msgspec

from rollcall.history.facts import Fact
from rollcall.inputs.offsets_topic.beside_lines import Before, enriched_after, unended
from rollcall.inputs.offsets_topic.beside_log.merging import Decided
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import MemberJoined, MemberRemoved, RebalanceEnded, RebalanceStarted
from rollcall.schemas.shown_effects import ShownEffect

IN_ORDER = frozenset(EffectName) - {EffectName.OFFSETS_COMMITTED}
"""The facts of the topic that wait for lines. Those of lines are no facts of the history by themselves."""
LINES_KEPT_MS = 3_600_000
"""For how long lines are kept beside which a fact may come: no rebalance lasts longer."""
_Line = RebalanceStarted | RebalanceEnded | MemberJoined | MemberRemoved
_in_time = attrgetter("at_ms", "seq")


class GroupBeside(msgspec.Struct):
    """What is remembered of a group whose facts are decided up to a moment."""

    before: Before = msgspec.field(default_factory=Before)
    lines: list[_Line] = []
    """What was printed lately."""
    shown_by: list[str] = []
    """The place of each of these in its log; what an earlier version kept has none."""
    is_removed: bool = True
    """Whether the topic has no such group by its last fact."""
    added: int = 0
    """How many rebalances the history has that the topic has no record of."""
    until_ms: int = -1
    """Up to when all is decided."""
    heard_ms: int = -1
    """When the latest of the topic's facts happened."""


class MergingLines:
    """One group, whose facts by both inputs are taken and decided. group: what an earlier merging has left."""

    def __init__(self, group: GroupBeside | None = None) -> None:
        self.group = group or GroupBeside()
        self.group.shown_by += [""] * (len(self.group.lines) - len(self.group.shown_by))
        self._lines: list[Fact] = []
        self._topic: list[Fact] = []

    @property
    def is_waiting(self) -> bool:
        """Whether anything is taken that is not decided."""
        return bool(self._lines or self._topic)

    @property
    def is_over(self) -> bool:
        """Whether the group is gone, and nothing waits."""
        return not self.is_waiting and self.group.is_removed

    def take(self, log: Iterable[Fact], topic: Iterable[Fact]) -> None:
        """Facts of `IN_ORDER`, in any order. log: those of the lines."""
        for fact in log:
            self._lines.append(fact)
            if isinstance(fact.content, _Line):
                self.group.lines.append(fact.content)
                self.group.shown_by.append(fact.request_id)
        for fact in topic:
            self.group.heard_ms = max(self.group.heard_ms, fact.at_ms)
            self._topic.append(fact)

    def decide(self, until_ms: int) -> Decided:
        """Decides the topic's facts up to a moment, up to which all facts of both inputs are taken."""
        group = self.group
        decided = Decided(log_left_out=self._lines)
        now = sorted((fact for fact in self._topic if fact.at_ms <= until_ms), key=_in_time)
        self._lines = []
        group.until_ms = max(group.until_ms, until_ms)
        if not now:
            self._forget(group.until_ms - LINES_KEPT_MS)
            return decided
        self._topic = [fact for fact in self._topic if fact.at_ms > until_ms]
        known = [(fact, fact.content) for fact in now if fact.content is not None]
        lines = [ShownEffect(*one) for one in zip(group.lines, group.shown_by, strict=True)]
        lines += _open(lines)
        found = enriched_after(group.before, [content for _, content in known], [one.effect for one in lines])
        line_of = {id(one.effect): one.shown_by for one in lines}
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
        added = [ShownEffect(one, line_of[id(one)]) for one in found.added]
        decided.added = [*enumerate(added, group.added + 1)]
        decided.compared = found.in_both
        group.added += len(found.added)
        self._forget(group.until_ms - LINES_KEPT_MS)
        return decided

    def _forget(self, before_ms: int) -> None:
        group, before = self.group, self.group.before
        group.shown_by = [by for line, by in zip(group.lines, group.shown_by, strict=True) if line.at_ms >= before_ms]
        group.lines = [line for line in group.lines if line.at_ms >= before_ms]
        for member_id in [member_id for member_id, times_ms in before.gone.items() if times_ms[-1] < before_ms]:
            if member_id not in before.members or before.members[member_id].at_ms <= before.gone[member_id][-1]:
                before.members.pop(member_id, None)
                del before.gone[member_id]
        before.settled = {key for key in before.settled if key[1] >= before_ms}
        before.ends_now = {key: cause for key, cause in before.ends_now.items() if key[0] >= before_ms}


def _open(lines: Iterable[ShownEffect]) -> list[ShownEffect]:
    """The last rebalance, if lines tell its beginning alone: an epoch's end is printed with the next one."""
    found: list[ShownEffect] = []
    for line, shown_by in lines:
        if isinstance(line, RebalanceStarted):
            found = [ShownEffect(unended(line), shown_by)]
        elif isinstance(line, RebalanceEnded):
            found = []
    return found
