"""A group by a recording and by printed lines, as explain and replay have it.

By which rule is in `rollcall.inputs.offsets_topic.beside_growing_lines`. Here lines are left out that a recording
contradicts or that a client may have written, with what follows from them. Knows facts and shapes. Must not know files.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

from rollcall.history.facts import Fact, effects_in, in_order
from rollcall.history.words import count
from rollcall.inputs.merged_facts import GroupRecorded
from rollcall.inputs.offsets_topic.generations import Seen, Span, is_contradicted, is_in, joined, seen_in
from rollcall.inputs.printed.groups.forgeable import without_forged
from rollcall.inputs.printed.groups.logged_effects import shown_effects_of
from rollcall.inputs.printed.logged_facts import is_dated
from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance, evidence_of
from rollcall.schemas.effects import Effect, GroupRemoved, RebalanceEnded
from rollcall.schemas.shown_effects import ShownEffect
from rollcall.schemas.tables import AFTER_THE_LOGS

NO_TIMES = (0, 0)
_Began = tuple[int | None, int | None]
"""To which generation a rebalance of lines leads, and when it began or its first line was printed."""


class Beside(NamedTuple):
    """A group by both."""

    facts: list[Fact]
    """Those of the recording, with what lines know better; what lines settle is left out."""
    added: list[ShownEffect]
    """What the lines add: rebalances of generations that the recording lacks, and all after its last fact."""
    own: list[LoggedRebalance]
    """Those rebalances."""
    same: dict[int, list[LoggedRebalance]]
    """The lines' rebalances that are recorded too, by the ids of the effects in `facts` that begin or end each."""
    lines: LoggedGroup
    """What is believed of the lines."""
    refused: list[str]
    """Sentences on what is not."""
    in_lines: int
    """How many generations the lines have."""
    in_both: int
    is_at_other_times: bool
    """Whether lines and records lead to the same generations, and never at one time."""
    is_undated: bool
    """Whether they do, and no line has a date."""


def beside(group: LoggedGroup, recorded: GroupRecorded) -> Beside:
    """Put a group's lines beside what is recorded of it."""
    from rollcall.inputs.offsets_topic.beside_growing_lines import MergingLines  # Takes time.

    lines, refused = without_contradicted(group, recorded)
    shown = shown_effects_of(without_forged(lines))
    merging = MergingLines(topic_from_seq=recorded.topic_from_seq)
    merging.take(map(fact_of, shown), recorded.facts)
    decided = merging.end(recorded.last_ms)
    changed = [replace(fact, content=now, request_id=by) for fact, (now, by) in decided.topic_changed]
    facts = [*decided.topic_kept, *changed]
    facts += [fact_of(end, AFTER_THE_LOGS) for end in merging.completed]
    by_time = defaultdict[_Began, list[LoggedRebalance]](list)
    for one in lines.rebalances:
        by_time[one.to_generation_id, one.known_from_ms].append(one)
    same = {
        id(one): [line for began in dict.fromkeys(map(_began, alike)) for line in by_time.get(began, ())]
        for one, alike in merging.printed
    }
    own = beyond(lines, merging.recorded)
    in_lines = _numbers(one.effect for one in shown)
    in_recording = {*_numbers(effects_in(recorded.facts))}
    is_apart = not decided.compared and not in_recording.isdisjoint(in_lines)
    is_undated = not any(map(is_dated, lines.facts)) and any(
        one.generation_id in in_recording for one in lines.rebalances
    )
    facts.sort(key=in_order)
    for line in lines.rebalances:
        line.cause = merging.group.before.named(line.cause)
    added = [one for _, one in decided.added]
    return Beside(facts, added, own, same, lines, refused, len(in_lines), decided.compared, is_apart, is_undated)


def fact_of(shown: ShownEffect, seq: int = 0) -> Fact:
    """Return an effect of lines as a fact."""
    effect, by = shown
    return Fact(effect.at_ms, seq, str(effect.__struct_config__.tag), request_id=by, content=effect)


def _numbers(effects: Iterable[Effect]) -> list[int]:
    return [one.to_generation_id for one in effects if isinstance(one, RebalanceEnded)]


def _began(one: RebalanceEnded) -> _Began:
    return one.to_generation_id, one.known_from_ms if one.started_at_ms is None else one.started_at_ms


def without_contradicted(group: LoggedGroup, recorded: GroupRecorded) -> tuple[LoggedGroup, list[str]]:
    """Return a group of lines without what a recording contradicts, and sentences on what is left out."""
    seen = _seen(recorded)
    numbered = [(one, one.generation_id) for one in group.rebalances if one.generation_id is not None]
    refused = [one for one, to in numbered if span(one) != NO_TIMES and is_contradicted(span(one), to, seen)]
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


def _seen(recorded: GroupRecorded) -> list[Seen]:
    """Every moment at which a recording shows the generation, in order of time. One that is removed has none."""
    found = seen_in(recorded.facts)
    is_removed = any(
        isinstance(one.content, GroupRemoved) and found and one.at_ms >= found[-1][0] for one in recorded.facts
    )
    if found and recorded.until_ms > found[-1][0] and not is_removed:
        found.append((recorded.until_ms, found[-1][1]))
    return found


def beyond(lines: LoggedGroup, recorded: Iterable[Span]) -> list[LoggedRebalance]:
    """Return the rebalances of lines to generations that a recording lacks, without those that may be forged.

    recorded: the generations before and after each of its rebalances.
    """
    known = joined(recorded)
    return [
        one
        for one in without_forged(lines).rebalances
        if not is_in(known, one.generation_id) and (span(one) != NO_TIMES or not one.cause.is_open)
    ]


def span(one: LoggedRebalance) -> Span:
    """Return the first and the last time of a rebalance."""
    times = [ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None]
    return (min(times), max(times)) if times else NO_TIMES
