"""The course of one group's events: its rebalances and findings in the order of their lines, each said once.

Knows facts in order, and what was found in them. Must not know how lines are worded.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Iterator, Sequence

from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, LoggedRebalance
from rollcall.inputs.printed.wording import how_often_within

_Place = tuple[int, int]
"""A dated time, and a line's place among the group's."""


def each_once(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that say the same are one, with how often it was found."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        alike.setdefault((one.finding, one.sentence), []).append(one)
    return [own[0] if len(own) == 1 else _as_one(own) for own in alike.values()]


def _as_one(alike: Sequence[Finding]) -> Finding:
    facts = tuple({id(fact): fact for one in alike for fact in one.facts}.values())
    often = how_often_within([one.first for one in alike]).strip()
    is_inferred = any(one.is_inferred for one in alike)
    return alike[0]._replace(sentence=f"{often}: {alike[0].sentence}", facts=facts, is_inferred=is_inferred)


def in_order(group: LoggedGroup) -> list[Finding]:
    """Return a group's findings by the time of their first lines; lines without a time keep their place."""
    if len(group.findings) < 2:
        return group.findings
    places = _places(group.facts)
    return sorted(group.findings, key=lambda one: _found_at(one, places))


def course(group: LoggedGroup) -> Iterator[LoggedRebalance | Finding]:
    """Yield a group's rebalances in their order, each finding among them where its first line stands.

    A rebalance stands at the time that is printed for it, or by its lines.
    """
    places = _places(group.facts)
    rebalances, latest = [], (0, -1)
    for one in group.rebalances:
        at_ms = next((ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None), None)
        by_lines = _place_of(one.facts, places)
        latest = max(latest, by_lines if at_ms is None or one.clock not in DATED else (at_ms, by_lines[1]))
        rebalances.append((latest, 0, one))
    findings = [(_found_at(one, places), 1, one) for one in group.findings]
    every: Iterable[tuple[_Place, int, LoggedRebalance | Finding]] = heapq.merge(
        rebalances, sorted(findings, key=lambda one: one[0]), key=lambda one: one[:2]
    )
    return (one for _, _, one in every)


def _places(facts: Sequence[LoggedFact]) -> dict[tuple[str, int], _Place]:
    """By file and line, the place of each fact: a line without a dated time has that of the one before."""
    found: dict[tuple[str, int], _Place] = {}
    latest_ms = 0
    for place, fact in enumerate(facts):
        if fact.at_ms is not None and fact.clock in DATED:
            latest_ms = fact.at_ms
        found.setdefault((fact.file, fact.line_number), (latest_ms, place))
    return found


def _place_of(facts: Iterable[LoggedFact], places: dict[tuple[str, int], _Place]) -> _Place:
    known = (places.get((fact.file, fact.line_number)) for fact in facts)
    return min(filter(None, known), default=(0, -1))


def _found_at(one: Finding, places: dict[tuple[str, int], _Place]) -> _Place:
    """Where a finding stands; what several groups have in common comes first."""
    return _place_of(() if one.group_ids else one.facts, places)
