"""The groups of request logs and dumps in the shape in which printed lines tell of theirs, beside what lines say.

Rebalances are the recordings', as they are beside the lines. Lines add findings, and rebalances of other generations.
Knows facts and shapes. Must not know files, nor how anything is worded.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace

from rollcall.history.facts import Fact, effects_in
from rollcall.history.kinds import CONSUMER_GROUP
from rollcall.history.rebalances import SHORTEST_WAIT_SHOWN_MS, Rebalance, rebalances_of
from rollcall.history.sentences import awaited_clause
from rollcall.history.words import duration
from rollcall.inputs.believed_lines import NO_TIMES, Beside, beside, is_near, span
from rollcall.inputs.merged_facts import GroupRecorded, Place
from rollcall.inputs.offsets_topic.record_names import record_in
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import Holder, LoggedGroup, LoggedRebalance, Source
from rollcall.inputs.recordings import Recordings
from rollcall.schemas.consumer_effects import GroupTypeChanged
from rollcall.schemas.effects import (
    GroupFound,
    GroupNotCovered,
    JoinPhaseEnded,
    MemberWait,
    RebalanceEnded,
    RebalanceStarted,
)

CLASSIC = "classic"
_Key = tuple[type, int, int]
"""A fact about a rebalance: its kind, its time and the generation before."""


def beside_lines(recordings: Recordings, printed: Sequence[LoggedGroup], clock: Clock) -> list[LoggedGroup]:
    """Every group, by whichever input tells of it. clock: that of the recordings' times."""
    by_lines = {group.group_id: group for group in printed}
    found = []
    for group_id, recorded in recordings.groups.items():
        lines = by_lines.pop(group_id, None)
        if lines is None:
            found.append(_recorded(group_id, recorded, clock))
        else:
            both = beside(lines, recorded)
            recordings.left_out += both.refused
            found.append(_beside(both, recorded, clock))
        if not found[-1].rebalances and found[-1].group_type not in (CLASSIC, CONSUMER_GROUP):
            recordings.left_out.append(
                f"What {group_id} did: it is a {found[-1].group_type} group, whose records are not read."
            )
        if lines is not None and _is_at_other_times(found[-1], both.lines):
            recordings.left_out.append(
                f"What the lines add to the rebalances of {group_id}: they have the same generations at other times. "
                "--zone names the zone of times that are printed without one."
            )
    return [*found, *by_lines.values()]


def _recorded(group_id: str, recorded: GroupRecorded, clock: Clock) -> LoggedGroup:
    return LoggedGroup(group_id, _type_of(recorded.facts), [], [*_rebalances(group_id, recorded, clock)])


def _beside(both: Beside, recorded: GroupRecorded, clock: Clock) -> LoggedGroup:
    """The group by both: with the lines' findings, and their evidence of the same rebalances."""
    group = _recorded(both.lines.group_id, replace(recorded, facts=both.facts), clock)
    if not group.rebalances:
        return both.lines
    group.facts, group.findings = both.lines.facts, both.lines.findings
    for one, other in _pairs(group, both.lines):
        if is_near(one, other):
            one.facts = [*one.facts, *other.facts]
            one.source = Source.TOPIC_AND_LINES if one.source is Source.TOPIC else one.source
    group.rebalances = sorted([*group.rebalances, *both.own], key=lambda one: (span(one)[0], one.generation_id or 0))
    return group


def _type_of(facts: Sequence[Fact]) -> str:
    """The group's latest type."""
    for effect in reversed([*effects_in(facts)]):
        match effect:
            case GroupTypeChanged():
                return str(effect.to_type)
            case GroupFound():
                return effect.group_type
            case GroupNotCovered():
                return effect.why
            case _:
                pass
    return CLASSIC


# ---------------------------------------------------------------- from facts


def _rebalances(group_id: str, recorded: GroupRecorded, clock: Clock) -> Iterator[LoggedRebalance]:
    """The rebalances that facts tell of, each with the lines that brought about its beginning and its end."""
    kinds = (RebalanceStarted, RebalanceEnded)
    facts: dict[_Key, Fact] = {
        (type(one.content), one.at_ms, one.content.from_generation_id): one
        for one in recorded.facts
        if isinstance(one.content, kinds)
    }
    is_consumer = _type_of(recorded.facts) != CLASSIC
    phases = [one.content for one in recorded.facts if isinstance(one.content, JoinPhaseEnded)]
    for one in rebalances_of(effects_in(recorded.facts)):
        own = [
            fact
            for kind, at_ms in zip(kinds, (one.started_at_ms, one.ended_at_ms), strict=True)
            if at_ms is not None and (fact := facts.get((kind, at_ms, one.from_generation_id))) is not None
        ]
        is_logged = any(fact.seq < recorded.topic_from_seq for fact in own)
        said = _rebalance(group_id, one, clock, Source.REQUEST_LOG if is_logged else Source.TOPIC)
        said.held_by = _holder(one, phases, is_consumer=is_consumer)
        said.facts = [
            _as_line(fact, place, clock) for fact in own if (place := recorded.lines.get(fact.seq)) is not None
        ]
        said.records = [*dict.fromkeys(record for fact in own if (record := record_in(fact.request_id)))]
        yield said


def _rebalance(group_id: str, one: Rebalance, clock: Clock, source: Source) -> LoggedRebalance:
    to_generation_id = one.from_generation_id + 1 if one.to_generation_id is None else one.to_generation_id
    return LoggedRebalance(
        group_id=group_id,
        from_generation_id=one.from_generation_id,
        generation_id=to_generation_id,
        began_at_ms=one.started_at_ms if one.is_start_known else None,
        ended_at_ms=one.ended_at_ms if one.is_end_known else None,
        clock=clock,
        outcome=(one.outcome or "") if one.is_end_known else "",
        cause=one.cause,
        members=one.members_after,
        source=source,
    )


def _as_line(fact: Fact, place: Place, clock: Clock) -> LoggedFact:
    began = isinstance(fact.content, RebalanceStarted)
    kind = FactKind.REBALANCE_BEGAN if began else FactKind.ASSIGNMENT_RECEIVED
    return LoggedFact(kind, place.file, place.line, fact.at_ms, clock, dialect=Source.REQUEST_LOG)


def _holder(one: Rebalance, phases: Sequence[JoinPhaseEnded], *, is_consumer: bool) -> Holder | None:
    """Who kept the others waiting longest, if for long enough to be said."""
    slowest = one.slowest
    if slowest is None or not one.is_start_known:
        return None
    if is_consumer:
        why = "it held on to partitions that others were to have"
    elif slowest.joined_at_ms is None:
        why = "it did not join again"
    else:
        came = f"it joined {duration(slowest.joined_at_ms - one.started_at_ms)} after the beginning"
        assignment_ms = _assignment_wait_ms(one, slowest, phases)
        is_said = assignment_ms >= SHORTEST_WAIT_SHOWN_MS
        why = awaited_clause(came, slowest.held_others_ms, assignment_ms if is_said else 0)
    return Holder(slowest.held_others_ms, slowest.member_id, False, why, client_id=slowest.client_id)


def _assignment_wait_ms(one: Rebalance, wait: MemberWait, phases: Sequence[JoinPhaseEnded]) -> int:
    """How long the others waited for a leader's assignment; 0: it does not lead."""
    phase = next((phase for phase in phases if phase.at_ms >= one.started_at_ms), None)
    if phase is None or phase.leader_id != wait.member_id or wait.synced_at_ms is None:
        return 0
    return wait.synced_at_ms - phase.at_ms


# ---------------------------------------------------------------- beside lines


def _pairs(group: LoggedGroup, lines: LoggedGroup) -> Iterator[tuple[LoggedRebalance, LoggedRebalance]]:
    """Yield each recorded rebalance with each of the lines to the same generation."""
    printed = defaultdict[int | None, list[LoggedRebalance]](list)
    for other in lines.rebalances:
        printed[other.generation_id].append(other)
    for one in group.rebalances:
        if one.source is not Source.LINES:
            yield from ((one, other) for other in printed[one.generation_id])


def _is_at_other_times(group: LoggedGroup, lines: LoggedGroup) -> bool:
    """Whether no rebalance of lines was when the recorded one to the same generation was, and there are such."""
    pairs = [(one, other) for one, other in _pairs(group, lines) if span(other) != NO_TIMES]
    return bool(pairs) and not any(is_near(*pair) for pair in pairs)
