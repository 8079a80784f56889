"""How far a client's clock is from its broker's, from what both print about one thing.

What a client sends it prints before the broker prints that it came, and what it is answered after. So every pair
bounds the difference from one side; from both sides it is known to within what lies between. Knows facts of both. Must
not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any, NamedTuple

from rollcall.history.words import count, duration
from rollcall.inputs.printed.lines.entries import Clock
from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact
from rollcall.inputs.tolerances import CLOCK_AHEAD_MS, PRINTED_LATE_MS

ZONES_APART_MS = 900_000
"""Time zones differ by quarters of an hour."""


class ClockDifference(NamedTuple):
    """By how much a client's clock is ahead of the broker's: not less, and not more, than this."""

    least_ms: int
    most_ms: int
    pairs: int

    @property
    def middle_ms(self) -> int:
        """What fits best."""
        return (self.least_ms + self.most_ms) // 2

    @property
    def sentence(self) -> str:
        """What is said of the client's file."""
        ahead = "ahead of" if self.middle_ms > 0 else "behind"
        error_ms = (self.most_ms - self.least_ms + 1) // 2
        zones_ms = round(self.middle_ms / ZONES_APART_MS) * ZONES_APART_MS
        by = f"by {count(self.pairs, 'line')} about what both print"
        if zones_ms and abs(zones_ms - self.middle_ms) <= max(error_ms, CLOCK_AHEAD_MS):
            return (
                f"its times are of a zone {duration(abs(zones_ms))} {ahead} the broker's, {by}; they are moved by that"
            )
        moves = "; its times are moved by that" if self.is_large else ""
        by_how_much = f"{duration(abs(self.middle_ms))} {ahead} the broker's, to within {duration(error_ms)}"
        return f"its clock is {by_how_much}, {by}{moves}"

    @property
    def is_large(self) -> bool:
        """Whether times are moved by it."""
        return abs(self.middle_ms) >= CLOCK_AHEAD_MS


class _Printed(NamedTuple):
    """When a broker printed what a client may print too; what it printed twice has no place here."""

    generations: dict[tuple[str, int], int]
    assignments: dict[tuple[str, int], int]
    leaves: dict[str, int]


def difference(of_broker: Iterable[LoggedFact], of_client: Sequence[LoggedFact]) -> ClockDifference | None:
    """How far a client's clock is ahead; None: the lines do not bound it from both sides, or contradict each other."""
    printed = _printed(of_broker)
    least, most = _bounds(printed, of_client)
    if not least or not most or max(least) > min(most) + PRINTED_LATE_MS:
        return None
    bounds = sorted((max(least), min(most)))
    return ClockDifference(bounds[0], bounds[1], len(least) + len(most))


def moved(facts: Sequence[LoggedFact], found: ClockDifference, clock: Clock) -> list[LoggedFact]:
    """A client's lines with their times as the broker's clock has them."""
    return [
        fact if fact.at_ms is None else fact._replace(at_ms=fact.at_ms - found.middle_ms, clock=clock) for fact in facts
    ]


def _printed(facts: Iterable[LoggedFact]) -> _Printed:
    printed, again = _Printed({}, {}, {}), _Printed({}, {}, {})
    for fact in facts:
        if fact.dialect != BROKER or fact.at_ms is None:
            continue
        if fact.kind is FactKind.JOIN_PHASE_ENDED and fact.generation_id is not None:
            _note(printed.generations, again.generations, (fact.group_id, fact.generation_id), fact.at_ms)
        elif fact.kind is FactKind.ASSIGNMENT_RECEIVED and fact.generation_id is not None:
            _note(printed.assignments, again.assignments, (fact.group_id, fact.generation_id), fact.at_ms)
        elif fact.kind is FactKind.MEMBER_LEFT and fact.member_id:
            _note(printed.leaves, again.leaves, fact.member_id, fact.at_ms)
    return printed


def _note(once: dict[Any, int], again: dict[Any, int], key: Hashable, at_ms: int) -> None:
    if key in once or key in again:
        again[key] = once.pop(key, at_ms)
    else:
        once[key] = at_ms


def _bounds(printed: _Printed, facts: Sequence[LoggedFact]) -> tuple[list[int], list[int]]:
    """Least differences, where the client printed first, and most ones, where the broker did."""
    least, most = list[int](), list[int]()
    asked_ms: int | None = None
    for fact in facts:
        if fact.at_ms is None:
            continue
        key = (fact.group_id, fact.generation_id or 0)
        match fact.kind:
            case FactKind.JOIN_SENT:
                asked_ms = fact.at_ms
            case FactKind.JOINED if key in printed.generations:
                least += [] if asked_ms is None else [asked_ms - printed.generations[key]]
                most.append(fact.at_ms - printed.generations[key])
                asked_ms = None
            case FactKind.ASSIGNED_ALL if key in printed.assignments:
                least.append(fact.at_ms - printed.assignments[key])
            case FactKind.SYNCED if key in printed.assignments:
                most.append(fact.at_ms - printed.assignments[key])
            case FactKind.LEAVE_SENT if fact.member_id in printed.leaves:
                least.append(fact.at_ms - printed.leaves[fact.member_id])
            case _:
                pass
    return least, most
