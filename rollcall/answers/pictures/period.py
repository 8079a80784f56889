"""A group's facts of one period of time, with the earlier facts that still held when it began.

Knows which facts stay true after their moment. Must not know what is drawn of them.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf

from rollcall.answers.pictures.scene import DISTINCT
from rollcall.answers.why.past import LONGEST_SESSION_MS, Read, past_of
from rollcall.history.facts import OF_REQUESTS, Fact, effects_in
from rollcall.history.kinds import GroupKind, kind_at, kinds_of
from rollcall.history.members import Membership, Names
from rollcall.history.rebalances import Rebalance
from rollcall.history.words import MINUTE_MS
from rollcall.schemas.effect_names import EffectName

ROOM = 0.02
"""The share of a period that is shown beside it, on either side."""

_OF_WORK = (*OF_REQUESTS, EffectName.JOIN_RECEIVED, EffectName.ASSIGNED, EffectName.MEMBER_PROGRESSED)


@dataclass(frozen=True)
class Period:
    """A period of a group's time."""

    group_id: str
    from_ms: int
    to_ms: int
    facts: list[Fact]
    """In order, with the earlier ones that were still true in it."""
    memberships: list[Membership]
    rebalances: list[Rebalance]
    names: Names
    kinds: list[tuple[int, GroupKind]]
    """The kinds of the group, each with the moment from which it held."""
    colours: dict[str, str]
    """The colour of each member, by its name."""

    def kind_at(self, at_ms: int) -> GroupKind:
        """What kind of group it was at a moment."""
        return kind_at(self.kinds, at_ms)

    @cached_property
    def shows_members_work(self) -> bool:
        """Whether any fact shows what members did or were given: a broker's own log has none."""
        return any(fact.effect in _OF_WORK for fact in self.facts)

    @cached_property
    def _epochs(self) -> list[tuple[int, int]]:
        started = (fact for fact in self.facts if fact.effect == EffectName.REBALANCE_STARTED)
        return [(fact.at_ms, fact.generation_id + 1) for fact in started]

    def epoch_at(self, at_ms: int) -> int:
        """The generation or epoch that the group had, or was going to, at a moment; 0: none is known."""
        place = bisect_right(self._epochs, at_ms, key=lambda epoch: epoch[0])
        return self._epochs[place - 1][1] if place else 0

    @property
    def lanes(self) -> list[str]:
        """The names of all members, in the order in which they joined."""
        return list(dict.fromkeys(self.names.of(one.member_id) for one in self.memberships))


class NothingToShow(Exception):
    """The group has no fact in that period; the text is the sentence to show."""


def latest_period(
    group_id: str, read: Read, last_ms: int, at_ms: int | None, minutes: float, *, is_cut: bool = False
) -> Period:
    """The period around a moment, or up to last_ms, that of the group's latest fact; cut to the group's own time.

    is_cut: it ends at last_ms, without room beside it. Raises NothingToShow.
    """
    length_ms = int(minutes * MINUTE_MS)
    to_ms = last_ms if at_ms is None else min(at_ms + length_ms // 2, last_ms)
    period = period_of(group_id, read, to_ms - length_ms, to_ms)
    first_ms = max(period.from_ms, min(one.joined_at_ms for one in period.memberships))
    room_ms = int(ROOM * (to_ms - first_ms)) + 1
    return period_of(group_id, read, first_ms - room_ms, to_ms if is_cut else to_ms + room_ms)


def period_of(group_id: str, read: Read, from_ms: int, to_ms: int) -> Period:
    """Reads a period. Raises NothingToShow: there was no member in it."""
    past = past_of(read, to_ms)
    memberships = [one for one in past.memberships if one.is_member_in(from_ms, to_ms)]
    if not memberships:
        raise NothingToShow(f"{group_id}: had no members then.")
    facts = past.around(read, from_ms, max(from_ms - LONGEST_SESSION_MS, 0), to_ms)
    shown = [one for one in past.rebalances if one.ended_at_ms is None or one.ended_at_ms >= from_ms]
    names, colours = Names(memberships), colours_of(past.memberships)
    by_name = {names.of(one.member_id): colours[one.member_id] for one in memberships}
    return Period(group_id, from_ms, to_ms, facts, memberships, shown, names, kinds_of(effects_in(facts)), by_name)


def colours_of(memberships: Sequence[Membership]) -> dict[str, str]:
    """Return the colour of each member id, of all memberships of a group by when they began.

    Later ones change no colour, so it is the same in all pictures. A client that comes back keeps its own. No two
    members have the same at one time, as long as there are enough.
    """
    names, places = Names(memberships), dict[str, int]()
    held_until = dict.fromkeys(range(len(DISTINCT)), -1.0)
    for one in memberships:
        name = names.of(one.member_id)
        if name not in places:
            turn = [(len(places) + step) % len(DISTINCT) for step in range(len(DISTINCT))]
            places[name] = next((place for place in turn if held_until[place] <= one.joined_at_ms), turn[0])
        until = inf if one.ended_at_ms is None else one.ended_at_ms
        held_until[places[name]] = max(held_until[places[name]], until)
    return {one.member_id: DISTINCT[places[names.of(one.member_id)]] for one in memberships}
