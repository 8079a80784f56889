"""Findings that need the lines of several clients: who is gone, and who works on a partition that another has.

Knows facts of each client in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rollcall.history.words import duration, some
from rollcall.inputs.printed.findings.session_findings import common_causes
from rollcall.inputs.printed.groups.assigned import went_elsewhere
from rollcall.inputs.printed.groups.between_clients import absent_members
from rollcall.inputs.printed.groups.leaders import listed, without_assignments
from rollcall.inputs.printed.groups.logged_holdings import Partitions, is_of_partitions, owned_after
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_partitions import partitions_in
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedRebalance, shortest_name, suggested, trouble

_OF_TWO_FILES = ("it continued after it had lost the partition", "the clocks of the two differ")
MOST_PARTITIONS = 10_000
"""Partitions of a topic beyond which none is looked for."""


def findings_between(clients: Sequence[Sequence[LoggedFact]], rebalances: Sequence[LoggedRebalance]) -> list[Finding]:
    """Everything that needs more than one client's lines."""
    of_leaders = (*_dropped(rebalances), *without_assignments(rebalances))
    of_partitions = (*_unowned(clients), *went_elsewhere(clients, rebalances), *_on_one_partition(clients))
    return [*of_leaders, *of_partitions, *common_causes(clients)]


def _dropped(rebalances: Sequence[LoggedRebalance]) -> Iterator[Finding]:
    for one, absent in absent_members(rebalances):
        seen = tuple(fact for fact in one.facts if listed(fact))
        for member_id in absent:
            who = shortest_name(member_id)
            yield Finding("member_dropped", f"{who} is not a member of generation {one.generation_id} any more.", seen)
            held = one.held_by
            if held is not None and held.member_id == member_id and held.length_ms is not None:
                yield suggested(
                    "rebalance_timeout_expired",
                    f"The others waited {duration(held.length_ms)} for {who} and continued without it.",
                    seen,
                    "it did not join again in time",
                    "its session expired",
                    "it left",
                )


def _unowned(clients: Sequence[Sequence[LoggedFact]]) -> Iterator[Finding]:
    """Partitions between those that these clients were given last, and that no client was given."""
    owned: dict[str, set[int]] = {}
    lines, generations = [], set[int | None]()
    for facts in clients:
        given, line, generation_id = _owned_last(facts)
        if line is not None and given:
            lines.append(line)
            generations.add(generation_id)
        for topic, partition in sorted(given):
            owned.setdefault(topic, set()).add(partition)
    # Of clients whose lines end in several generations, each was given partitions of another time.
    for topic, partitions in owned.items() if len(lines) > 1 and len(generations) == 1 else ():
        places = range(max(partitions) if max(partitions) < MOST_PARTITIONS else 0)
        between = [one for one in places if one not in partitions]
        if between:
            yield Finding(
                "partitions_missing",
                f"These {len(lines)} clients were not given partition {some(map(str, between))} of {topic}: others "
                "have them, or nobody has.",
                tuple(lines),
            )


def _owned_last(facts: Sequence[LoggedFact]) -> tuple[Partitions, LoggedFact | None, int | None]:
    """What a client owned after its last assignment, the line of that, and the latest generation by its lines."""
    owned = last = Partitions()
    line, generation_id = None, None
    for fact in facts:
        generation_id = generation_id if fact.generation_id is None else fact.generation_id
        if is_of_partitions(fact):
            owned = owned_after(owned, fact) or Partitions()
            if fact.kind is FactKind.PARTITIONS_ADDED:
                last, line = owned, fact
    return last, line, generation_id


def _on_one_partition(clients: Sequence[Sequence[LoggedFact]]) -> Iterator[Finding]:
    """A commit that was refused after another client had been given the partition."""
    said: set[tuple[int, int]] = set()
    owners: dict[tuple[str, int], tuple[int, LoggedFact]] = {}
    dated = [(place, fact) for place, facts in enumerate(clients) for fact in facts if fact.at_ms is not None]
    for place, fact in sorted(dated, key=lambda one: one[1].at_ms or 0):
        if fact.kind is FactKind.PARTITIONS_ADDED:
            owners.update(dict.fromkeys(partitions_in(fact), (place, fact)))
        elif fact.kind is FactKind.COMMIT_REFUSED:
            for owner, given in (owners[one] for one in sorted(partitions_in(fact)) if one in owners):
                if owner != place and (owner, place) not in said:
                    said.add((owner, place))
                    yield _shared(fact, given)


def _shared(refused: LoggedFact, given: LoggedFact) -> Finding:
    topic, partition = min(partitions_in(refused) & partitions_in(given))
    whose, whom = _name(given), _name(refused)
    since = duration(between_ms(given, refused) or 0)
    are_apart = given.file != refused.file
    return trouble(
        "two_consumers_on_one_partition",
        f"{whose} was given {topic}-{partition}, and {since} later {whom} still worked on it: its commit was refused.",
        (given, refused),
        is_inferred=are_apart,
        candidates=_OF_TWO_FILES if are_apart else (),
    )


def _name(fact: LoggedFact) -> str:
    return fact.instance_id or fact.client_id or fact.source or "a client"
