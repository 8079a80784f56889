"""A group by a recording and by printed lines: one rule for explain and replay.

A generation only rises while its group exists. So a printed one is refused where the recording has the group in two
generations around it, and the printed one is not between these. What lines know better of a recorded rebalance is
added to it, and so are rebalances of generations that the recording lacks. Knows facts and shapes. Must not know files.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Container, Iterable, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import NamedTuple

from rollcall.history.facts import NEWER_ID_LENGTH, Fact, effects_in, in_order
from rollcall.history.rebalances import rebalances_of
from rollcall.history.words import count
from rollcall.inputs.offsets_topic.beside_lines import enriched
from rollcall.inputs.printed.groups.group_effects import shown_effects_of
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance, evidence_of, is_open
from rollcall.inputs.recordings import GroupRecorded
from rollcall.inputs.tolerances import SAME_FACT_WITHIN_MS
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.effects import Effect, GroupFound, GroupObserved, RebalanceEnded, RebalanceStarted
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import AFTER_THE_LOGS

_Seen = tuple[int, int]
"""A moment (ms), and the generation that the recording has the group in at it."""
_AT_MS = itemgetter(0)
NO_TIMES = (0, 0)


class Beside(NamedTuple):
    """A group by both."""

    facts: list[Fact]
    """Those of the recording, with what lines know better; what lines settle is left out."""
    added: list[ShownEffect]
    """What else the lines have: rebalances of generations that the recording lacks, and after its last fact all."""
    own: list[LoggedRebalance]
    """Those rebalances."""
    lines: LoggedGroup
    """What is believed of the lines."""
    refused: list[str]
    """Sentences on what is not."""
    in_lines: int
    """How many generations the lines have."""
    in_both: int


def beside(group: LoggedGroup, recorded: GroupRecorded) -> Beside:
    """Put a group's lines beside what is recorded of it."""
    lines, refused = without_contradicted(group, recorded)
    shown = shown_effects_of(lines)
    facts = [fact for fact in recorded.facts if fact.content is not None]
    logged = {place for place, fact in enumerate(facts) if fact.seq < recorded.topic_from_seq}
    found = enriched([*effects_in(facts)], [one.effect for one in shown], logged)
    line_of = {id(one.effect): one.shown_by for one in shown}
    now = []
    for place, fact in enumerate(facts):
        if (content := found.changed.get(place, fact.content)) is not None:
            now.append(replace(fact, content=content, request_id=found.shown_by(place, fact.request_id, line_of)))
    if found.completed is not None:
        by = next((one.shown_by for one in shown if _is_same(one.effect, found.completed)), "")
        kind = EffectName.REBALANCE_ENDED
        end = Fact(found.completed.at_ms, AFTER_THE_LOGS, kind, request_id=by, content=found.completed)
        now = sorted([*now, end], key=in_order)
    known = rebalances_of(effects_in(now))
    own = beyond(lines, [(one.from_generation_id, one.to_generation_id or one.from_generation_id + 1) for one in known])
    added = _added(shown, own, found.completed, recorded.last_ms) if now else shown
    return Beside(now, added, own, lines, refused, found.in_lines, found.in_both)


def _added(
    effects: Sequence[ShownEffect], own: Iterable[LoggedRebalance], completed: RebalanceEnded | None, last_ms: int
) -> list[ShownEffect]:
    """Return the own rebalances, and after a moment all that leads to one of them or follows the last."""
    found: list[ShownEffect] = []
    numbers = {one.generation_id for one in own}
    begins, is_own = 0, False
    for place, (effect, _) in enumerate(effects):
        if isinstance(effect, RebalanceEnded):
            is_completed = completed is not None and _is_same(effect, completed)
            is_own = effect.to_generation_id in numbers or is_completed
            before = [one for one in effects[begins:place] if is_own and one.effect.at_ms > last_ms]
            found += [one for one in before if not (is_completed and isinstance(one.effect, RebalanceStarted))]
            found += [effects[place]] if is_own and not is_completed else ()
            begins = place + 1
    return [*found, *(one for one in effects[begins:] if is_own and one.effect.at_ms > last_ms)]


def _is_same(effect: Effect, completed: RebalanceEnded) -> bool:
    """Whether an effect of lines ends the rebalance that a recording begins."""
    if not isinstance(effect, RebalanceEnded):
        return False
    at_ms = max(effect.at_ms, completed.started_at_ms or 0)
    return (effect.to_generation_id, at_ms) == (completed.to_generation_id, completed.at_ms)


def without_contradicted(group: LoggedGroup, recorded: GroupRecorded) -> tuple[LoggedGroup, list[str]]:
    """Return a group of lines without what a recording contradicts, and sentences on what is left out."""
    seen = _seen(recorded)
    refused = [one for one in group.rebalances if _is_contradicted(one, seen)]
    if not refused:
        return group, []
    refused_ids = set(map(id, refused))
    lines = {line for one in refused for line in evidence_of(one.facts)}
    left = replace(
        group,
        facts=[fact for fact in group.facts if (fact.file, fact.line_number) not in lines],
        rebalances=[one for one in group.rebalances if id(one) not in refused_ids],
        findings=[one for one in group.findings if lines.isdisjoint(evidence_of(one.facts))],
    )
    file, first = min(lines)
    return left, [
        f"What {count(len(lines), 'line')} of {file} from line {first} on say of {group.group_id}: by the recording "
        f"beside, generation {refused[0].generation_id} was not formed then. They are not believed."
    ]


def _seen(recorded: GroupRecorded) -> list[_Seen]:
    """Every moment at which a recording shows the generation, in order of time."""
    ends = [one.content for one in recorded.facts if isinstance(one.content, RebalanceEnded)]
    gaps = {one.started_at_ms for one in ends if one.to_generation_id > one.from_generation_id + 1}
    shown = [one for fact in recorded.facts if (one := _generation_at(fact, gaps)) is not None]
    found = sorted(shown, key=_AT_MS)
    if found and recorded.until_ms > found[-1][0]:
        found.append((recorded.until_ms, found[-1][1]))
    return found


def _generation_at(fact: Fact, gaps: Container[int | None]) -> _Seen | None:
    """The generation that a fact proves. gaps: the beginnings of rebalances of which the recording lacks a part.

    A member of the newer protocol shows its own epoch alone. When a rebalance is superseded, the next one begins.
    """
    match fact.content:
        case GroupFound() as found:
            return fact.at_ms, found.generation_id
        case GroupObserved(generation_id=generation_id, member_ids=[first, *_]) if len(first) > NEWER_ID_LENGTH:
            return fact.at_ms, generation_id
        case RebalanceStarted() as started if fact.at_ms not in gaps:
            return fact.at_ms, started.from_generation_id
        case RebalanceEnded(outcome=outcome) as ended if outcome != "superseded":
            return fact.at_ms, ended.to_generation_id
        case _:
            return None


def _is_contradicted(one: LoggedRebalance, seen: Sequence[_Seen]) -> bool:
    first_ms, last_ms = span(one)
    if (first_ms, last_ms) == NO_TIMES or one.generation_id is None:
        return False
    behind = bisect_left(seen, first_ms - SAME_FACT_WITHIN_MS, key=_AT_MS)
    ahead = bisect_right(seen, last_ms + SAME_FACT_WITHIN_MS, key=_AT_MS)
    if behind == 0 or ahead == len(seen):
        return False
    before, after = seen[behind - 1][1], seen[ahead][1]
    return before <= after and not before <= one.generation_id <= after


def beyond(lines: LoggedGroup, recorded: Iterable[tuple[int, int]]) -> list[LoggedRebalance]:
    """Return the rebalances of lines to generations that a recording lacks, without those that may be forged.

    recorded: the generations before and after each of its rebalances.
    """
    known = _joined(recorded)
    return [
        one
        for one in lines.rebalances
        if not _is_in(known, one.generation_id)
        and (span(one) != NO_TIMES or not is_open(one.cause))
        and not any(fact.may_be_forged for fact in one.facts)
    ]


def _joined(recorded: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the spans of generations in order, those that touch as one."""
    found: list[tuple[int, int]] = []
    for before, after in sorted(recorded):
        if found and before <= found[-1][1]:
            found[-1] = found[-1][0], max(after, found[-1][1])
        else:
            found.append((before, after))
    return found


def _is_in(known: Sequence[tuple[int, int]], generation_id: int | None) -> bool:
    if generation_id is None:
        return False
    place = bisect_left(known, generation_id, key=itemgetter(0))
    return place > 0 and generation_id <= known[place - 1][1]


def is_near(one: LoggedRebalance, other: LoggedRebalance) -> bool:
    """Return True if two rebalances to one generation were at the same time, as far as their times show."""
    (first, last), (from_ms, to_ms) = span(one), span(other)
    return first - SAME_FACT_WITHIN_MS <= to_ms and from_ms - SAME_FACT_WITHIN_MS <= last


def span(one: LoggedRebalance) -> tuple[int, int]:
    """Return the first and the last time of a rebalance."""
    times = [ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None]
    return (min(times), max(times)) if times else NO_TIMES
