"""A group as swim lanes: each member a lane, waiting, at work or silent; generations as bands; culprits marked.

`rebalance` shows one rebalance, from before it began, or its culprit fell silent, until everybody was back. Knows which
facts move a member from one of these to the next. Must not know a drawing library.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from rollcall.answers.pictures.period import Period, period_of
from rollcall.answers.pictures.scene import (
    ALARM,
    COMING,
    CULPRIT,
    GOING,
    HEALTHY,
    HELD_UP,
    NEARLY,
    PALE,
    PARTLY,
    SILENT,
    Band,
    Bar,
    Kind,
    Lanes,
    Mark,
)
from rollcall.answers.why.explanation import Explanation
from rollcall.answers.why.past import Read
from rollcall.answers.why.slack import last_request
from rollcall.answers.why.telling import title
from rollcall.history.facts import Fact
from rollcall.history.kinds import AT_WORK, AWAITING, GIVING_UP, SYNCING, WAITING, MemberPhase
from rollcall.history.words import clock, duration, ended, moment
from rollcall.schemas.causes import name_of, row_of
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import JoinPhaseEnded

MEMBER = "member"
"""A member's state if nothing shows what it did."""
KINDS = {
    AT_WORK: Kind("at work", HEALTHY),
    WAITING: Kind("waiting for the others to join", HELD_UP),
    SYNCING: Kind("waiting for its assignment", NEARLY),
    GIVING_UP: Kind("at work, giving partitions up", PARTLY),
    AWAITING: Kind("waiting for partitions of others", NEARLY),
    MEMBER: Kind("a member: what it did is not known", PALE),
    "silent": Kind("silent until it expired", SILENT),
    "joined": Kind("joined", COMING),
    "left": Kind("left", GOING),
    "expired": Kind("expired", ALARM),
    "culprit": Kind("set a rebalance off", CULPRIT),
}
LABEL_WIDTH = 0.075
"""The share of the picture's width that a label beside a mark takes."""


def timeline(period: Period) -> Lanes:
    """The picture of all members during the period."""
    places = {name: place for place, name in enumerate(period.lanes)}
    bars = [bar for bar in _bars(period, places) if bar.to_ms >= period.from_ms]
    return Lanes(
        title=f"{period.group_id}: members from {moment(period.from_ms)} to {moment(period.to_ms)} UTC",
        from_ms=period.from_ms,
        to_ms=period.to_ms,
        lanes=list(places),
        colours=period.colours,
        kinds=KINDS,
        bars=bars,
        bands=list(_bands(period)),
        marks=_legible([mark for mark in _marks(period, places) if mark.at_ms >= period.from_ms], period),
        lines=[one.started_at_ms for one in period.rebalances if one.started_at_ms >= period.from_ms],
    )


def _bars(period: Period, places: dict[str, int]) -> Iterator[Bar]:
    by_member = _by_member(period.facts)
    for one in period.memberships:
        ended_ms = period.to_ms if one.ended_at_ms is None else one.ended_at_ms
        own = [fact for fact in by_member[one.member_id] if one.joined_at_ms <= fact.at_ms <= ended_ms]
        changes = list(_changes(period, own, one.joined_at_ms))
        if row_of(one.end_cause).is_expiry:
            seen_ms, *_ = last_request(own, one.member_id, ended_ms) or (None,)
            changes = [change for change in changes if seen_ms is None or change[0] <= seen_ms]
            changes += [] if seen_ms is None else [(seen_ms, "silent")]
        name = period.names.of(one.member_id)
        for (from_ms, kind), (to_ms, _) in pairwise([*changes, (ended_ms, "")]):
            if to_ms > from_ms:
                text = f"{name}: {KINDS[kind].label} for {duration(to_ms - from_ms)} from {clock(from_ms)} UTC"
                yield Bar(places[name], max(from_ms, period.from_ms), to_ms, kind, text)


def _by_member(facts: Iterable[Fact]) -> dict[str, list[Fact]]:
    """The facts about each member; that a generation formed is about all who are in it."""
    found: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        for member_id in fact.content.member_ids if isinstance(fact.content, JoinPhaseEnded) else (fact.member_id,):
            found[member_id].append(fact)
    return found


def _changes(period: Period, own: list[Fact], joined_ms: int) -> Iterator[tuple[int, str]]:
    """What a member was, and from when on. A member from before the picture's beginning was at work then, unless its
    classic group was rebalancing.
    """
    if not period.shows_members_work:
        yield max(joined_ms, period.from_ms), MEMBER
        return
    kind = period.kind_at(max(joined_ms, period.from_ms))
    is_waiting = joined_ms >= period.from_ms or (
        kind.back and any(one.started_at_ms < period.from_ms for one in period.rebalances)
    )
    was = MemberPhase(WAITING if is_waiting else AT_WORK, EffectName.MEMBER_JOINED)
    yield (joined_ms if is_waiting else period.from_ms), was.kind
    for fact in own:
        step = period.kind_at(fact.at_ms).step_of(fact, was, period.epoch_at(fact.at_ms))
        if step is not None:
            was = MemberPhase(step, fact.effect)
            yield fact.at_ms, step


def _bands(period: Period) -> Iterator[Band]:
    """A band for each generation, from the end of its join phase to the end of the next one's, or for each epoch."""
    kind = period.kind_at(period.to_ms)
    formed = [(fact.at_ms, kind.generation_of(fact)) for fact in period.facts if fact.effect == kind.formed_by]
    before = [pair for pair in formed if pair[0] < period.from_ms][-1:]
    inside = [pair for pair in formed if pair[0] >= period.from_ms]
    shown = [*((period.from_ms, generation_id) for _, generation_id in before), *inside]
    for (from_ms, generation_id), (to_ms, _) in pairwise([*shown, (period.to_ms, 0)]):
        yield Band(from_ms, to_ms, f"{kind.step_shown} {generation_id}", generation_id % 2 == 1)


def _marks(period: Period, places: dict[str, int]) -> Iterator[Mark]:
    for one in period.memberships:
        name = period.names.of(one.member_id)
        yield Mark(places[name], one.joined_at_ms, "joined", "up", f"{name} joined at {clock(one.joined_at_ms)} UTC")
        if one.ended_at_ms is not None:
            kind, symbol = ("expired", "cross") if row_of(one.end_cause).ends == "expired" else ("left", "down")
            text = f"{name}: {ended(one.end_cause, one.is_end_inferred)} at {clock(one.ended_at_ms)} UTC"
            yield Mark(places[name], one.ended_at_ms, kind, symbol, text)
    for rebalance in period.rebalances:
        culprit = period.names.of(rebalance.cause.member_id, rebalance.cause.client_id)
        if culprit in places:
            kind = name_of(rebalance.cause.kind)
            text = f"{kind}, by {culprit}, at {clock(rebalance.started_at_ms)} UTC"
            yield Mark(places[culprit], rebalance.started_at_ms, "culprit", "star", text, kind)


def _legible(marks: list[Mark], period: Period) -> list[Mark]:
    """The marks, each with its label on the side without a star, or without a label if stars are on both sides."""
    width_ms = LABEL_WIDTH * (period.to_ms - period.from_ms)
    stars: dict[int, list[int]] = defaultdict(list)
    for mark in marks:
        if mark.symbol == "star":
            stars[mark.lane].append(mark.at_ms)
    found: list[Mark] = []
    for mark in marks:
        gaps_ms = [star_ms - mark.at_ms for star_ms in stars[mark.lane]]
        is_at_end = period.to_ms - mark.at_ms < width_ms
        if not is_at_end and not any(0 < gap_ms <= width_ms for gap_ms in gaps_ms):
            found.append(mark)
        elif any(-2 * width_ms <= gap_ms < 0 for gap_ms in gaps_ms) or mark.at_ms - period.from_ms < width_ms:
            found.append(replace(mark, label=""))
        else:
            found.append(replace(mark, is_label_left=True))
    return found


MARGIN = 0.08
SHORTEST_MARGIN_MS = 20


def rebalance(e: Explanation, read: Read) -> Lanes:
    """The picture of the rebalance that is explained, with its title. Raises NothingToShow."""
    from_ms = e.round_from_ms if e.silent_since_ms is None else e.silent_since_ms
    over_ms = e.known_until_ms if e.rebalance.ended_at_ms is None else e.rebalance.ended_at_ms
    to_ms = max([over_ms, *(part.moments.get(e.kind.back, 0) for part in e.parts)])
    margin_ms = max(int(MARGIN * (to_ms - from_ms)), SHORTEST_MARGIN_MS)
    return replace(timeline(period_of(e.group_id, read, from_ms - margin_ms, to_ms + margin_ms)), title=title(e))
