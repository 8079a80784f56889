"""The groups of a broker's log that grows: their effects, given once they will hardly change.

What a line means may depend on those behind it, so the effects of a group are given when it is at rest, or when its
lines have paused. What is given stays given. If later lines show more of the time before, only what nobody can do
without is given late (see `continued`). Knows the facts of each group, the older ones of a large group thinned out.
Must not know a table.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterator, Sequence, Set
from operator import attrgetter
from typing import NamedTuple

import msgspec

from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.printed.groups.forgeable import forgeable_places, without_forged
from rollcall.inputs.printed.groups.logged_effects import effects_of, shown_effects_of
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import LoggedGroup
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.tolerances import BACK_AFTER_LEAVE_MS
from rollcall.schemas.effects import (
    Effect,
    GroupNotCovered,
    GroupRemoved,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
    StateChanged,
)
from rollcall.schemas.shown_effects import ShownEffect

AT_REST_MS = 1_000
"""How long after its last line the effects of a group at rest are given."""
PAUSED_MS = 10_000
"""The same for a group that is not at rest. Lines that may be forged wait as long after the last of any group."""
LONGEST_MS = 30_000
"""How long a line waits at most, of a group whose lines do not pause; and how long at most for a proof."""
FACTS_KEPT, FACTS_LEFT = 200, 100
"""Of a group with more facts than the first, as many as the second are left, and those by which its members joined."""
OF_NO_GROUP_KEPT = 2_000
"""Facts that name no group: of more, the older half is left out."""
FORGOTTEN_AFTER_MS = 3_600_000
"""How long it is known how many effects a removed group had."""
_AT_REST = (GroupState.STABLE.value, GroupState.EMPTY.value, GroupState.DEAD.value)
_JOINING = (
    FactKind.MEMBER_ADDED,
    FactKind.MEMBER_JOINED_EPOCH,
    FactKind.MEMBER_LOADED,
    FactKind.STATIC_MEMBER_REPLACED,
)


class Given(msgspec.Struct):
    """How far a group's effects were given."""

    line: int = 0
    """The last line that they follow from."""
    seq: int = 0
    """The number of the last effect."""
    at_ms: int = 0
    """The latest time of an effect."""
    members: set[str] = set()
    """Who is a member by them."""


class NewEffects(NamedTuple):
    """Effects of a group that are given now."""

    group_id: str
    first_seq: int
    shown: list[ShownEffect]

    @property
    def effects(self) -> list[Effect]:
        """The effects without their lines."""
        return [one.effect for one in self.shown]


class LiveGroups:
    """All groups of one log. facts and given: those of a log that was followed before.

    is_beside: a recording is followed beside it, so what a client may have written shows nothing.
    """

    def __init__(
        self, facts: Sequence[LoggedFact] = (), given: dict[str, Given] | None = None, *, is_beside: bool = False
    ) -> None:
        self._is_beside = is_beside
        self.facts = [*facts]
        self.given = given or {}
        self._effects = self._given_before()
        """By group, what follows from the lines whose effects were given."""
        self._from_line = min((fact.line_number for fact in self.facts if not self._is_given(fact)), default=0)
        """The first line whose effects are not given yet."""
        self._next_ms = 0.0
        """When effects may be due."""
        self._doubted_ms: dict[str, float] = {}
        """By group that waits for the proof of its lines, when they were first seen to lack it."""
        self._of_no_group = sum(not fact.group_id for fact in self.facts)

    def take(self, facts: Sequence[LoggedFact]) -> None:
        """Takes the facts of new lines."""
        if not facts:
            return
        self.facts += facts
        self._next_ms = 0.0
        self._of_no_group += sum(not fact.group_id for fact in facts)
        if self._of_no_group > OF_NO_GROUP_KEPT:
            of_no_group = [fact.line_number for fact in self.facts if not fact.group_id]
            self._leave_out({"": {*of_no_group[: len(of_no_group) // 2]}})
            self._of_no_group = len(of_no_group) - len(of_no_group) // 2
            self._effects = self._given_before()

    def due(self, now_ms: float) -> Iterator[NewEffects]:
        """What is due. now_ms: the log's time, which advances while the log has no new lines."""
        if now_ms < self._next_ms:
            return
        self._next_ms, from_line = math.inf, math.inf
        old: dict[str, set[int]] = {}
        settled = set[int]()
        """Lines that may be forged, as the effects that were given say."""
        marked = self._marked()
        proven_by_ms = PAUSED_MS + max(
            (fact.at_ms or 0 for fact in marked if fact.may_be_forged and not self._is_given(fact)), default=0
        )
        for group in groups_in(marked, self._from_line, now_ms, is_marked=True):
            given_line = self._given(group.group_id).line
            new = [fact for fact in group.facts if fact.line_number > given_line]
            if not new:
                continue
            shown = shown_effects_of(self._believed(group), is_ongoing=True)
            effects = [one.effect for one in shown]
            due_ms: float = _due_ms(new, effects, now_ms)
            if any(fact.may_be_forged for fact in new):
                doubted_ms = self._doubted_ms.setdefault(group.group_id, now_ms)
                due_ms = max(due_ms, min(proven_by_ms, doubted_ms + LONGEST_MS))
            else:
                self._doubted_ms.pop(group.group_id, None)
            if now_ms >= due_ms:
                self._doubted_ms.pop(group.group_id, None)
                due = self._give(group.group_id, shown, group.facts[-1].line_number)
                settled |= {fact.line_number for fact in new if fact.may_be_forged}
                if due.shown:
                    yield due
                old[group.group_id] = _old_lines(effects, group.facts)
            else:
                self._next_ms, from_line = min(self._next_ms, due_ms), min(from_line, new[0].line_number)
        if settled:
            self.facts = [
                now if now.line_number in settled else fact for fact, now in zip(self.facts, marked, strict=True)
            ]
        self._thin({group_id: lines for group_id, lines in old.items() if lines}, now_ms)
        end_line = self.facts[-1].line_number + 1 if self.facts else self._from_line
        self._from_line = int(min(from_line, end_line))
        for group_id, given in list(self.given.items()):
            if group_id not in self._effects and now_ms > given.at_ms + FORGOTTEN_AFTER_MS:
                del self.given[group_id]

    def _believed(self, group: LoggedGroup) -> LoggedGroup:
        return without_forged(group) if self._is_beside else group

    def _marked(self) -> list[LoggedFact]:
        """The facts, marked where a client may have written what is not given; the next lines may still prove it."""
        places = forgeable_places(self.facts, is_ongoing=True)
        return [
            fact._replace(may_be_forged=True) if place in places and not self._is_given(fact) else fact
            for place, fact in enumerate(self.facts)
        ]

    def waiting(self) -> dict[str, int]:
        """By group, the time of the first line whose effects are not given."""
        found: dict[str, int] = {}
        for fact in self.facts[bisect_left(self.facts, self._from_line, key=attrgetter("line_number")) :]:
            if fact.group_id and fact.at_ms is not None and not self._is_given(fact):
                found[fact.group_id] = min(fact.at_ms, found.get(fact.group_id, fact.at_ms))
        return found

    def _given(self, group_id: str) -> Given:
        return self.given.get(group_id) or Given()

    def _is_given(self, fact: LoggedFact) -> bool:
        return fact.line_number <= self._given(fact.group_id).line

    def _given_before(self) -> dict[str, list[Effect]]:
        last_line = max((given.line for given in self.given.values()), default=0)
        known = [
            fact for fact in self.facts if self._is_given(fact) or (not fact.group_id and fact.line_number <= last_line)
        ]
        return {
            group.group_id: effects_of(self._believed(group), is_ongoing=True)
            for group in groups_in(known, is_marked=True)
        }

    def _give(self, group_id: str, shown: list[ShownEffect], last_line: int) -> NewEffects:
        given = self._given(group_id)
        new = NewEffects(group_id, given.seq + 1, continued(self._effects.get(group_id, []), shown, given))
        latest_ms = max((effect.at_ms for effect in new.effects), default=given.at_ms)
        members = _members(new.effects, given.members)
        self.given[group_id] = Given(last_line, given.seq + len(new.shown), latest_ms, members)
        self._effects[group_id] = [one.effect for one in shown]
        return new

    def _thin(self, old: dict[str, set[int]], now_ms: float) -> None:
        """Drops the lines whose effects were all given, and begins what follows with the remaining ones."""
        if not old:
            return
        self._leave_out(old)
        for group_id in old:
            del self._effects[group_id]
        from_line = min(self._given(group_id).line for group_id in old)
        for group in groups_in(self.facts, from_line, now_ms, is_marked=True):
            if group.group_id in old:
                self._effects[group.group_id] = effects_of(self._believed(group), is_ongoing=True)

    def _leave_out(self, old: dict[str, set[int]]) -> None:
        self.facts = [fact for fact in self.facts if fact.line_number not in old.get(fact.group_id, ())]


def _old_lines(effects: Sequence[Effect], facts: Sequence[LoggedFact]) -> set[int]:
    """The lines of a group that are kept no longer: all of one that was removed, the older ones of a large one."""
    lines = {fact.line_number for fact in facts}
    if effects and isinstance(effects[-1], GroupRemoved):
        return lines
    if len(facts) <= FACTS_KEPT:
        return set()
    members = _members(effects)
    named = {fact.line_number for fact in facts if fact.kind in _JOINING and _joins(fact) in members}
    return lines - named - {fact.line_number for fact in facts[-FACTS_LEFT:]}


def continued(before: Sequence[Effect], now: Sequence[ShownEffect], given: Given) -> list[ShownEffect]:
    """The effects to give where some were given before. before: what followed from the lines of then.

    Where more lines have changed what was given, that stays as it is. Of the time before, a member that is new, the end
    of a rebalance and that the group's type is not covered are given late. Nobody joins twice, and only members go.
    """
    same = next((place for place, (a, b) in enumerate(zip(before, now, strict=False)) if a != b.effect), len(before))
    same = min(same, len(now))
    changed, members, new = before[same:], {*given.members}, list[ShownEffect]()
    ended = {effect.to_generation_id for effect in changed if isinstance(effect, RebalanceEnded)}
    for effect, shown_by in now[same:]:
        is_late = changed and effect.at_ms <= given.at_ms
        match effect:
            case _ if effect in changed:
                continue
            case MemberJoined():
                is_given = effect.member_id not in members
            case MemberRemoved():
                is_given = effect.member_id in members and not is_late
            case RebalanceEnded():
                is_given = not is_late or effect.to_generation_id not in ended
            case _:
                is_given = not is_late or isinstance(effect, GroupNotCovered)
        if is_given:
            effect_now = msgspec.structs.replace(effect, at_ms=given.at_ms) if is_late else effect
            new.append(ShownEffect(effect_now, shown_by))
            members = _members([effect], members)
    return new


def _members(effects: Sequence[Effect], members: Set[str] = frozenset()) -> set[str]:
    """Who is a member after these, if they begin with some."""
    after = {*members}
    for effect in effects:
        if isinstance(effect, MemberJoined):
            after.add(effect.member_id)
        elif isinstance(effect, MemberRemoved):
            after.discard(effect.member_id)
    return after


def _joins(fact: LoggedFact) -> str:
    return fact.other_member_id if fact.kind is FactKind.STATIC_MEMBER_REPLACED else fact.member_id


def _due_ms(new: Sequence[LoggedFact], effects: Sequence[Effect], now_ms: float) -> int:
    times = sorted(fact.at_ms or 0 for fact in new)
    last_ms = times[-1]
    # A time ahead may be a client's. Lines before a pause waited for a proof, or were read together with later ones.
    first_ms = max([at_ms for at_ms in times if at_ms <= now_ms], default=times[0])
    for at_ms in reversed(times):
        if first_ms - PAUSED_MS <= at_ms < first_ms:
            first_ms = at_ms
    waits_ms = AT_REST_MS if _is_at_rest(effects) else PAUSED_MS
    if any(fact.kind is FactKind.MEMBER_LEFT for fact in new):
        waits_ms = max(waits_ms, BACK_AFTER_LEAVE_MS + 1)
    return min(last_ms + waits_ms, first_ms + LONGEST_MS)


def _is_at_rest(effects: Sequence[Effect]) -> bool:
    """Whether no rebalance runs, and the last one has led to a state that lasts."""
    for effect in reversed(effects):
        match effect:
            case RebalanceStarted():
                return False
            case RebalanceEnded():
                return True
            case StateChanged():
                if effect.to_state not in _AT_REST:
                    return False
            case GroupRemoved():
                return True
    return False
