"""What is inferred from a part of a log agrees with the whole: recorded logs at WARN alone, cut, or with holes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache
from itertools import product
from random import Random

import pytest

from rollcall.inputs.printed.groups.own_part import OWN
from rollcall.inputs.printed.lines.entries import Level
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.logged_rebalances import (
    Finding,
    Holder,
    LoggedGroup,
    LoggedRebalance,
    client_id_of,
    configured_id,
    evidence_of,
)
from rollcall.inputs.printed.reading import FileRead, merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.schemas.causes import CauseKind
from tests.printed.recorded import INCIDENTS, recorded_logs

SHORTEST, LONGEST = 0.2, 0.6
"""Of a log: how much of it a window shows."""
SEED = 7


FILES = dict(recorded_logs()) | {
    str(file).removeprefix(str(INCIDENTS)): [str(file)] for file in sorted(INCIDENTS.glob("*/clients/*.gz"))
}
Keeps = Callable[[LoggedFact], bool]


@cache
def read(file: str) -> FileRead:
    return read_files([file])[0]


def cuts_of(name: str) -> dict[str, Keeps]:
    """Which lines are kept: by their level, or by when or where they stand, in all files alike."""
    random = Random(f"{SEED} {name}")
    begin, length = random.uniform(0.05, 0.9 - SHORTEST), random.uniform(SHORTEST, LONGEST)
    places = sorted(place_of(fact) for file in FILES[name] for fact in read(file).facts)

    def window(first: float, last: float) -> Keeps:
        within = places[int(first * len(places)) : int(last * len(places))] or [(0, 0)]
        return lambda fact: within[0] <= place_of(fact) <= within[-1]

    def holes(count: int, share: float) -> Keeps:
        longest = max(1, round(2 * share * len(places)))
        begins = [random.randrange(len(places)) for _ in range(count)] if places else []
        missing = [places[one : one + random.randint(1, longest)] for one in begins]
        return lambda fact: not any(hole[0] <= place_of(fact) <= hole[-1] for hole in missing)

    return {
        "warnings": lambda fact: fact.level >= Level.WARN,
        "first half": window(0, 0.5),
        "last half": window(0.5, 1),
        "middle": window(begin, begin + length),
        "one hole": holes(1, 0.25),
        "holes": holes(6, 0.03),
        "small holes": holes(6, 0.01),
        "single lines": holes(max(1, len(places) // 20), 0),
    }


def place_of(fact: LoggedFact) -> tuple[int, int]:
    return fact.at_ms or 0, fact.line_number


def cut(name: str, keeps: Keeps) -> list[LoggedGroup]:
    reads = [read(file) for file in FILES[name]]
    return groups_in(merged([FileRead(one.file, facts=[*filter(keeps, one.facts)]) for one in reads]))


# ---------------------------------------------------------------- what contradicts the whole


OF_LINES = frozenset(
    (
        *("owners", "generations_missing", "expired_apart", "coordinator_not_found", "given_nothing", "idle_member"),
        *("client_learned_of_it", "left_others_rebalance", "partitions_missing", "rejoin_unanswered", "own_partitions"),
        *("assignment_refused", "coordinator_moved", "id_without_a_join", "join_refused"),
    )
)
"""Findings of what stands in lines, whatever others stand elsewhere."""


class Whole:
    """What the whole log says, by its lines."""

    def __init__(self, groups: Iterable[LoggedGroup]) -> None:
        self._rebalances: dict[tuple[str, int], list[LoggedRebalance]] = {}
        self._findings: set[tuple[str, tuple[str, int]]] = set()
        for group in groups:
            for one in group.rebalances:
                for line in evidence_of(one.facts):
                    self._rebalances.setdefault(line, []).append(one)
            for finding in group.findings:
                self._findings |= {(finding.finding, line) for line in evidence_of(finding.facts)}

    def same(self, one: LoggedRebalance) -> list[LoggedRebalance]:
        """The rebalances that share a line with one of a part."""
        return [each for line in evidence_of(one.facts) for each in self._rebalances.get(line, ())]

    def says(self, finding: Finding) -> bool:
        return any((finding.finding, line) in self._findings for line in evidence_of(finding.facts))


def names(member_id: str, client_id: str) -> set[str]:
    return {member_id, client_id_of(member_id), configured_id(client_id)} - {""}


def is_same(one: set[str], other: set[str]) -> bool:
    """Whether two may be one member: who it is may be unknown."""
    return not (one and other) or bool(one & other)


def causes_of(one: LoggedRebalance) -> list[tuple[CauseKind, set[str]]]:
    """Those that may be, and who is to blame."""
    cause = one.cause
    fits = [(each.kind, names(each.member_id, each.client_id)) for each in cause.candidates]
    return [(cause.kind, names(cause.member_id, cause.client_id)), *fits]


def may_be(one: LoggedRebalance, other: LoggedRebalance) -> bool:
    both = product(causes_of(one), causes_of(other))
    return any(kind == same and is_same(who, named) for (kind, who), (same, named) in both)


def may_hold(held: Holder, other: Holder | None) -> bool:
    return other is not None and is_same(names(held.member_id, ""), names(other.member_id, other.client_id))


def goes(one: LoggedRebalance) -> bool:
    """Whether a client says itself that it goes: that is sure, though others may have begun the rebalance before."""
    return any(fact.kind in (FactKind.POLL_TIMEOUT, FactKind.LEAVE_SENT) for fact in one.facts)


def is_open(one: LoggedRebalance) -> bool:
    return one.cause.kind is CauseKind.UNKNOWN and not one.cause.candidates


def contradictions(part: LoggedGroup, of_whole: Whole) -> Iterator[str]:
    for one in part.rebalances:
        same = of_whole.same(one)
        is_told = same and one.cause.kind is not CauseKind.UNKNOWN and not goes(one)
        if is_told and not any(is_open(each) or may_be(one, each) for each in same):
            yield f"cause {one.generation_id} {one.cause} of {[(each.generation_id, each.cause) for each in same]}"
        held = one.held_by
        is_named = held is not None and bool(held.member_id or held.why in OWN)
        if held is not None and is_named and not any(may_hold(held, each.held_by) for each in same):
            yield f"holder {one.generation_id} {held} of {[each.held_by for each in same]}"
        if one.outcome == "superseded" and all(each.outcome not in ("", "superseded") for each in same):
            yield f"outcome of {one.generation_id}: {one.outcome}, not {[each.outcome for each in same]}"
        yield from counted_otherwise(one, same)
    for finding in part.findings:
        if not (finding.is_inferred or finding.finding in OF_LINES or of_whole.says(finding)):
            yield f"{finding.finding}: {finding.sentence}"


def counted_otherwise(one: LoggedRebalance, same: Sequence[LoggedRebalance]) -> Iterator[str]:
    """How many members it has, where the whole log has another number for the same generation."""
    of_it = [each for each in same if each.to_generation_id == one.to_generation_id]
    for which in ("members", "members_before", "members_after"):
        counts = {getattr(each, which) for each in of_it}
        if getattr(one, which) is not None and of_it and getattr(one, which) not in counts:
            yield f"{which} of {one.to_generation_id}: {getattr(one, which)}, not {counts}"


def found_in(name: str) -> list[str]:
    whole = Whole(cut(name, lambda _: True))
    return [
        f"{how}: {group.group_id}: {sentence}"
        for how, keeps in cuts_of(name).items()
        for group in cut(name, keeps)
        for sentence in contradictions(group, whole)
    ]


@pytest.mark.parametrize("name", FILES)
def test_a_part_of_a_log_says_nothing_that_the_whole_log_contradicts(name: str) -> None:
    assert found_in(name) == []
