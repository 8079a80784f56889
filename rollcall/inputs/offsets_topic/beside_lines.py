"""One group's recorded history, with what its coordinator printed about the same generations.

The topic has who was a member, on which host, and who owned what; the lines have when a rebalance began, why, by whom
and who held it up. A request log has all of it: lines count where the log only infers. A generation of the lines is
the recorded one if it has the same number and is the nearest of the same time: both have the clock of one broker.
Knows effects. Must not know lines, records or requests.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import msgspec
from msgspec.structs import replace

from rollcall.inputs.offsets_topic import shown_by_both
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS, is_near
from rollcall.schemas.causes import Cause, CauseKind, EndCause, row_of
from rollcall.schemas.effects import (
    UNKNOWN_END,
    CauseFound,
    Effect,
    MemberJoined,
    MemberRemoved,
    RebalanceEnded,
    RebalanceStarted,
)

ENRICHED = (MemberJoined, MemberRemoved, RebalanceStarted, RebalanceEnded, CauseFound)
"""The facts that may change; all others stay as they are."""
ENDS_MEMBERSHIP = frozenset(map(CauseKind, {*EndCause} & {*CauseKind})) - {
    CauseKind.STATIC_MEMBER_REPLACED,
    CauseKind.UNKNOWN,
}
"""Causes of a rebalance after which its culprit is not a member."""
_Of = TypeVar("_Of", MemberJoined, MemberRemoved)


class Before(msgspec.Struct):
    """What the facts before have shown."""

    members: dict[str, MemberJoined] = {}
    """How the topic knows each member, by member id."""
    gone: dict[str, list[int]] = {}
    """The topic's times of ends, in order, by member id."""
    settled: set[tuple[str, int]] = set()
    """Member ids and the topic's times of ends that the lines are certain of."""
    ends_now: dict[tuple[int, str], EndCause] = {}
    """By the topic's time and a member's name: how it ended."""

    def named(self, cause: Cause) -> Cause:
        """Return a cause with the culprit's names as the topic has them."""
        return _named(cause, self.members.get(cause.member_id))


@dataclass
class Enriched:
    """What becomes of the recorded facts, by their place."""

    changed: dict[int, Effect | None] = field(default_factory=dict)
    """Those that lines change or show too. None: the fact is left out."""
    by: dict[int, Effect] = field(default_factory=dict)
    """What of the lines changes a fact or is the same one."""
    printed: dict[int, tuple[RebalanceEnded, ...]] = field(default_factory=dict)
    """Of the beginnings and ends: the lines' rebalances that may be the recorded one, several if all are as near."""
    in_both: int = 0

    def shown_by(self, place: int, recorded: str, line_of: Mapping[int, str]) -> str:
        """What shows a fact. recorded: its own record or request. line_of: by id, the place of what lines say."""
        by = self.by.get(place)
        return recorded if by is None else shown_by_both(recorded, line_of.get(id(by), ""))


def enriched(
    before: Before, recorded: Sequence[Effect], lines: Sequence[Effect], logged: Container[int] = ()
) -> Enriched:
    """Hold a group's facts to its lines. before: what its earlier facts have shown, which is updated.

    recorded, lines: both all and in order; of the recorded those of ENRICHED at least. logged: the places of facts that
    a request log has; the others are the topic's.
    """
    return _Beside(before, lines, logged).take(recorded)


def completed(running: RebalanceStarted, lines: Sequence[Effect]) -> RebalanceEnded | None:
    """The end of the rebalance that runs in the last recorded facts: by the lines, or unknown if they have a later one.

    None: lines do not show that it ended.
    """
    return _Beside(Before(), lines, ()).completed(running)


def leads_to(one: RebalanceStarted | RebalanceEnded) -> int:
    """Return the generation that a rebalance leads to, or would have led to: one that was given up has the old one."""
    begun = one.from_generation_id + 1
    return begun if isinstance(one, RebalanceStarted) else max(begun, one.to_generation_id)


def unended(one: RebalanceStarted) -> RebalanceEnded:
    """Return the end of a rebalance if only its beginning is known."""
    return RebalanceEnded(
        at_ms=one.at_ms,
        from_generation_id=one.from_generation_id,
        to_generation_id=one.from_generation_id + 1,
        started_at_ms=one.at_ms,
        cause=one.cause,
        outcome=UNKNOWN_END,
        members_before=one.members_before,
        members_after=None,
        joined=[],
        left=[],
        expired=[],
        waits=[],
    )


class _Beside:
    """The lines of one group, to which the recorded facts are held one by one."""

    def __init__(self, before: Before, lines: Sequence[Effect], logged: Container[int]) -> None:
        self.found = Enriched()
        self._logged = logged
        self._settled, self._members, self._ends_now = before.settled, before.members, before.ends_now
        self._gone = before.gone
        self._rebalances: defaultdict[int, list[RebalanceEnded]] = defaultdict(list)
        self._beginnings: dict[tuple[int, int], RebalanceStarted] = {}
        self._joins: defaultdict[str, list[MemberJoined]] = defaultdict(list)
        self._ends: defaultdict[str, list[MemberRemoved]] = defaultdict(list)
        for fact in lines:
            match fact:
                case RebalanceEnded():
                    self._rebalances[fact.to_generation_id].append(fact)
                case RebalanceStarted():
                    self._beginnings[fact.from_generation_id, fact.at_ms] = fact
                case MemberJoined() if not fact.is_inferred:
                    self._joins[fact.member_id].append(fact)
                case MemberRemoved():
                    self._ends[fact.member_id].append(fact)
                case _:
                    pass

    def take(self, facts: Sequence[Effect]) -> Enriched:
        """Holds recorded facts to the lines."""
        for place, fact in enumerate(facts):
            if isinstance(fact, MemberJoined | MemberRemoved):
                self._take_membership(place, fact)
        for place, fact in enumerate(facts):
            if isinstance(fact, RebalanceStarted):
                self._take_beginning(place, fact)
            elif isinstance(fact, RebalanceEnded):
                self._take_rebalance(place, fact)
        for place, fact in enumerate(facts):
            if isinstance(fact, CauseFound) and (fact.member_id, fact.gone_at_ms) in self._settled:
                self.found.changed[place] = None
        return self.found

    # ------------------------------------------------------------ members

    def _take_membership(self, place: int, fact: MemberJoined | MemberRemoved) -> None:
        """A member came or went: the lines have the moment, and know how it went."""
        if isinstance(fact, MemberJoined):
            self._members[fact.member_id] = fact
            joined = _latest_by(self._joins[fact.member_id], fact.at_ms)
            if joined is not None and fact.is_inferred and place not in self._logged:
                self._change(place, replace(fact, at_ms=min(joined.at_ms, fact.at_ms), is_inferred=False), joined)
            return
        self._gone.setdefault(fact.member_id, []).append(fact.at_ms)
        known = self._members.get(fact.member_id)
        removed = _latest_by(self._ends[fact.member_id], fact.at_ms)
        is_logged = place in self._logged
        if removed is None or (known is not None and removed.at_ms < known.at_ms - SAME_FACT_WITHIN_MS):
            return
        if is_logged and (removed.is_inferred or not fact.is_inferred):
            if not removed.is_inferred:
                self._change(place, fact, removed)
            return
        names_it = fact.end_cause is EndCause.UNKNOWN and removed.end_cause is not EndCause.UNKNOWN
        is_better = names_it or not removed.is_inferred
        if is_better and not removed.is_inferred:
            self._settled.add((fact.member_id, fact.at_ms))
        now = removed if is_better else fact
        if is_better:
            name = fact.client_id or fact.group_instance_id or ""
            self._ends_now[fact.at_ms, name] = removed.end_cause
        self._change(
            place,
            replace(
                fact,
                at_ms=fact.at_ms if is_logged else min(removed.at_ms, fact.at_ms),
                end_cause=now.end_cause,
                is_inferred=now.is_inferred,
                candidates=now.candidates,
                client_reason=removed.client_reason,
            ),
            removed,
        )

    # ------------------------------------------------------------ rebalances

    def _take_beginning(self, place: int, fact: RebalanceStarted) -> None:
        """An epoch rose."""
        alike = self._near(fact)
        if alike:
            self.found.printed[place] = alike
        if len(alike) == 1:
            (printed,) = alike
            cause = self._cause(fact.cause, printed, is_logged=place in self._logged)
            began = self._beginnings.get((printed.from_generation_id, printed.started_at_ms or 0), printed)
            self._change(place, replace(fact, cause=cause), began)

    def _take_rebalance(self, place: int, fact: RebalanceEnded) -> None:
        """A generation was formed, or an epoch ended."""
        alike = self._near(fact)
        went_at_ms = fact.known_from_ms if fact.started_at_ms is None else fact.started_at_ms
        went = now = self._went_otherwise(fact, fact.at_ms if went_at_ms is None else went_at_ms)
        if alike:
            self.found.printed[place] = alike
            self.found.in_both += 1
        if len(alike) == 1:
            now = self._with_lines(went, alike[0], is_logged=place in self._logged)
        if len(alike) == 1 or now is not fact:
            self._change(place, now, alike[0] if len(alike) == 1 else None)

    def completed(self, running: RebalanceStarted) -> RebalanceEnded | None:
        """The end of a rebalance that runs."""
        number, at_ms = running.from_generation_id + 1, running.at_ms
        printed = next(reversed(self._near(running)), None)
        is_last = not any(one.at_ms >= at_ms for later, of in self._rebalances.items() if later > number for one in of)
        if printed is None or (is_last and not printed.is_end_known):
            return None if is_last else unended(running)
        return replace(
            printed,
            at_ms=max(printed.at_ms, at_ms),
            from_generation_id=running.from_generation_id,
            cause=running.cause,
            started_at_ms=at_ms,
            known_from_ms=None,
            members_before=printed.members_before if running.members_before is None else running.members_before,
        )

    def _with_lines(self, fact: RebalanceEnded, printed: RebalanceEnded, *, is_logged: bool) -> RebalanceEnded:
        began_ms = fact.started_at_ms
        if began_ms is None and printed.started_at_ms is not None:
            began_ms = min(printed.started_at_ms, fact.at_ms)
        between = range(fact.from_generation_id + 1, fact.to_generation_id)
        if any(one.at_ms <= fact.at_ms for number in between for one in self._rebalances.get(number, ())):
            # The topic's changes are those of all of them.
            adds_up = printed.members_after in (None, fact.members_after)
            fact = replace(
                fact,
                from_generation_id=fact.to_generation_id - 1,
                members_before=printed.members_before if adds_up else None,
                joined=printed.joined,
                left=printed.left,
                expired=printed.expired,
                gone=printed.gone,
            )
        fact = replace(
            fact,
            cause=self._cause(fact.cause, printed, is_logged=is_logged),
            started_at_ms=began_ms,
            known_from_ms=fact.known_from_ms if began_ms is None else None,
        )
        if is_logged:
            return fact
        return replace(
            fact,
            slowest_member_id=printed.slowest_member_id,
            slowest_client_id=printed.slowest_client_id,
            slowest_wait_ms=printed.slowest_wait_ms,
            waits=printed.waits,
        )

    def _went_otherwise(self, fact: RebalanceEnded, went_at_ms: int) -> RebalanceEnded:
        """The names of those that went, under how the lines say that they did."""
        names: dict[str, list[str]] = {"left": [], "expired": [], "": []}
        is_other = False
        for lists, how in ((fact.left, "left"), (fact.expired, "expired"), (fact.gone, "")):
            for name in lists:
                end_cause = self._ends_now.get((went_at_ms, name))
                now = how if end_cause is None else "" if end_cause is EndCause.UNKNOWN else row_of(end_cause).ends
                is_other |= now != how
                names[now].append(name)
        if not is_other:
            return fact
        return replace(fact, left=names["left"], expired=names["expired"], gone=tuple(names[""]))

    def _cause(self, by_topic: Cause, printed: RebalanceEnded, *, is_logged: bool) -> Cause:
        """The better of both, with the culprit's names as the topic has them."""
        by_lines = printed.cause
        if is_logged and not by_topic.is_open and (by_lines.is_inferred or not by_topic.is_inferred):
            return by_topic
        if by_lines.kind in ENDS_MEMBERSHIP and self._stayed(by_lines.member_id, printed):
            return by_topic
        is_proven = not by_topic.is_inferred and by_topic.kind is not CauseKind.UNKNOWN
        fits = by_topic.member_id == by_lines.member_id and by_topic.kind in {one.kind for one in by_lines.candidates}
        if by_lines.is_open or (by_lines.is_inferred and (is_proven or fits)):
            return by_topic
        is_same = by_topic.client_id and by_topic.member_id == by_lines.member_id
        return _named(by_lines, by_topic if is_same else self._members.get(by_lines.member_id))

    def _stayed(self, member_id: str, printed: RebalanceEnded) -> bool:
        """Whether the topic has a dynamic member before and after a rebalance of the lines."""
        began_ms = (printed.at_ms if printed.started_at_ms is None else printed.started_at_ms) - SAME_FACT_WITHIN_MS
        known = self._members.get(member_id)
        if known is None or known.group_instance_id is not None or known.at_ms > began_ms:
            return False
        until_ms = printed.at_ms + SAME_FACT_WITHIN_MS
        return not any(known.at_ms <= at_ms <= until_ms for at_ms in self._gone.get(member_id, ()))

    def _near(self, fact: RebalanceStarted | RebalanceEnded) -> tuple[RebalanceEnded, ...]:
        """The lines' rebalance from a recorded one's generation whose beginning, or without one whose end, is nearest.
        Several if they are equally near. A coordinator that moves begins the same one again.
        """
        began_ms = fact.at_ms if isinstance(fact, RebalanceStarted) else fact.started_at_ms
        at_ms = fact.at_ms if began_ms is None else began_ms
        found: defaultdict[int, list[RebalanceEnded]] = defaultdict(list)
        for one in self._rebalances.get(leads_to(fact), ()):
            from_ms = one.at_ms if one.started_at_ms is None else one.started_at_ms
            if is_near(at_ms, from_ms, one.at_ms):
                found[abs(at_ms - (one.at_ms if began_ms is None else from_ms))].append(one)
        return tuple(found[min(found)]) if found else ()

    def _change(self, place: int, fact: Effect, by: Effect | None) -> None:
        self.found.changed[place] = fact
        if by is not None:
            self.found.by[place] = by


def _named(cause: Cause, known: Cause | MemberJoined | None) -> Cause:
    if known is None:
        return cause
    return replace(
        cause,
        client_id=known.client_id,
        client_host=known.client_host,
        group_instance_id=known.group_instance_id,
    )


def _latest_by(facts: Sequence[_Of], at_ms: int) -> _Of | None:
    """The last fact until a moment of the topic's."""
    place = bisect_right(facts, at_ms + SAME_FACT_WITHIN_MS, key=lambda fact: fact.at_ms)
    return facts[place - 1] if place else None
