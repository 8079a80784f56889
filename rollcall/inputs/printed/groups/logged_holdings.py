"""What clients' lines show that members own, and in which generation.

A leader prints the assignment of all members; a client what it was given and what it gave up. What a client owned
before its lines begin is not in them: so what it is shown to own is owned, and there may be more. Knows one client's
facts in order. Must not know whether its coordinator agrees.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rollcall.inputs.printed.groups.leaders import GIVEN
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, is_dated
from rollcall.inputs.printed.logged_partitions import partitions_in, partitions_said

Partitions = frozenset[tuple[str, int]]
JOINS = (FactKind.JOINED, FactKind.JOINED_AND_SYNCED, FactKind.MEMBER_PROGRESSED)
_OUT = (FactKind.MEMBERSHIP_LOST, FactKind.INSTANCE_FENCED)
_GIVES_ALL = ("kafka-python", "kafkajs")
"""Their lines name all that a member is given; those of others what is new."""
_SHOWS_ALL = ("java", "aiokafka", "kafka-python", "kafkajs", "franz-go")
"""Their lines about partitions are of the member of the line before them that joins."""


class Holding(NamedTuple):
    """What a client owns from one of its lines on."""

    at_ms: int | None
    """None: the line has no date."""
    member_id: str
    generation_id: int
    partitions: Partitions | None
    """None: that is not known."""
    is_given: bool
    """Its generation gave it to it; otherwise it gave up what is missing."""
    line: LoggedFact


def given_by_leaders(facts: Iterable[LoggedFact]) -> dict[tuple[int, str], set[Partitions]]:
    """By generation and member id, what leaders assigned."""
    found: dict[tuple[int, str], set[Partitions]] = {}
    for fact in facts:
        if fact.kind is FactKind.ASSIGNED_ALL and fact.generation_id is not None:
            for one in GIVEN.finditer(fact.partitions):
                if one["partitions"] is not None:
                    partitions = partitions_in(fact._replace(partitions=one["partitions"]))
                    found.setdefault((fact.generation_id, one["member_id"]), set()).add(partitions)
    return found


def holdings_of(facts: Sequence[LoggedFact]) -> Iterator[Holding]:
    """What one client owns, by its own lines, whenever that changes or is given anew."""
    member_id, generation_id, owned, latest_ms = "", 0, Partitions(), 0
    to_own: Partitions | None = None
    for fact in facts:
        if fact.dialect not in _SHOWS_ALL:
            continue
        if fact.kind in JOINS and fact.member_id and (fact.generation_id or 0) >= 0:
            if fact.member_id != member_id:
                member_id, owned = fact.member_id, Partitions()
            generation_id = fact.generation_id or generation_id
        after = to_own if fact.to_state == "ACKNOWLEDGING" else owned_after(owned, fact)
        if fact.kind is FactKind.RECONCILING:
            to_own = partitions_said(fact)
        elif fact.to_state:
            to_own = None
        if after is None and not is_of_partitions(fact):
            continue
        owned = Partitions() if after is None else after
        latest_ms = max(latest_ms, fact.at_ms or 0)
        if member_id:
            is_given = fact.kind in (FactKind.PARTITIONS_ADDED, FactKind.JOINED_AND_SYNCED)
            yield Holding(latest_ms if is_dated(fact) else None, member_id, generation_id, after, is_given, fact)
        if fact.kind in _OUT:
            member_id = ""


def is_of_partitions(fact: LoggedFact) -> bool:
    """Whether a line says what a client is given, or gives up."""
    return fact.kind in (FactKind.PARTITIONS_ADDED, FactKind.PARTITIONS_REVOKED, FactKind.PARTITIONS_LOST)


def owned_after(owned: Partitions, fact: LoggedFact) -> Partitions | None:
    """What it owns after a line; None: the line does not say, or says it in a way that is not known."""
    named = partitions_said(fact)
    if named is None:
        return None
    match fact.kind:
        case FactKind.JOINED_AND_SYNCED if fact.partitions:
            return named
        case FactKind.PARTITIONS_ADDED:
            return named if fact.dialect in _GIVES_ALL else owned | named
        case FactKind.PARTITIONS_REVOKED:
            return owned - named
        case FactKind.PARTITIONS_LOST:
            return owned - named if named else Partitions()
        case kind if kind in _OUT:
            return Partitions()
        case _:
            return None
