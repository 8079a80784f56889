"""What clients' lines show of who was given which partitions, at the end of the lines and where a member got none.

Knows one group's facts and rebalances. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rollcall.history.words import count, partitions, some, some_that_fit
from rollcall.inputs.printed.groups.leaders import listed
from rollcall.inputs.printed.groups.logged_holdings import Partitions, given_by_leaders
from rollcall.inputs.printed.logged_facts import BROKER, OWN_ENDS, FactKind, LoggedFact, printer_of
from rollcall.inputs.printed.logged_partitions import names_no_partition, partitions_in, partitions_said
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedRebalance, suggested
from rollcall.inputs.printed.templates import counted

OWNERS = "owners"
OWN = "own_partitions"
"""What those members were given whose lines are here: others may have more."""
_OF_IDLE = ("more_members_than_partitions", "given_nothing")
_ENDS = (*OWN_ENDS, FactKind.JOIN_SENT)
"""Lines of a member that has left, or that joins anew."""
_GIVEN = (FactKind.PARTITIONS_ADDED, FactKind.SYNCED, FactKind.JOINED_AND_SYNCED)


def assigned_last(facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Find what the latest lines about assignments give to each member: a leader's, or members' of newer groups."""
    own = [fact for fact in facts if fact.dialect != BROKER]
    by_leader = _that_took_effect(own)
    latest = {} if by_leader is not None else _assigned(own)
    if by_leader is not None:
        given = _given_by(by_leader)
        sentence = f"The leader's assignment of generation {by_leader.generation_id}: {_said(given)}."
        yield Finding(OWNERS, sentence, (by_leader,))
    elif latest:
        given = {member_id: partitions_in(fact) for member_id, fact in latest.items()}
        yield Finding(OWN, f"Assigned at the end of these lines: {_said(given)}.", tuple(latest.values()))


def _assigned(facts: Iterable[LoggedFact]) -> dict[str, LoggedFact]:
    """Latest assignment by member, without members that left or that lost a partition to another since."""
    latest: dict[str, LoggedFact] = {}
    for fact in facts:
        if fact.kind is FactKind.RECONCILING and fact.member_id and partitions_said(fact) is not None:
            others = partitions_in(fact) if fact.group_type != "share" else frozenset()
            latest = {one: held for one, held in latest.items() if not others & partitions_in(held)}
            latest[fact.member_id] = fact
        elif fact.kind in _ENDS:
            latest = {one: held for one, held in latest.items() if printer_of(held) != printer_of(fact)}
    return latest


def _that_took_effect(facts: Iterable[LoggedFact]) -> LoggedFact | None:
    """The latest whole assignment by a leader, if its coordinator did not refuse it."""
    latest: LoggedFact | None = None
    for fact in facts:
        if _is_whole(fact):
            latest = fact
        elif fact.kind is FactKind.SYNC_REFUSED and latest is not None and printer_of(fact) == printer_of(latest):
            latest = None
    return latest


def answered(findings: Iterable[Finding], facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Yield the findings; why a member was given nothing, as its leader's line answers it, for what else would fit."""
    for one in findings:
        answer = next(_left_out(facts, one.facts[0].client_id), None) if one.finding in _OF_IDLE else None
        yield one if answer is None else answer


def _left_out(facts: Sequence[LoggedFact], client_id: str) -> Iterator[Finding]:
    """Find the assignments in which a leader left a client out, in order."""
    member_ids = {fact.member_id for fact in facts if fact.client_id and fact.client_id == client_id}
    for fact in facts:
        if not _is_whole(fact):
            continue
        given = _given_by(fact)
        without = [member_id for member_id, owned in given.items() if not owned and member_id in member_ids]
        others = {member_id: owned for member_id, owned in given.items() if owned}
        if without and others:
            number = sum(map(len, others.values()))
            yield Finding(
                _OF_IDLE[0],
                f"In generation {fact.generation_id} the leader assigned {count(number, 'partition')}: all to "
                f"{some(others, 2)}, none to {some(without, 1)}.",
                (fact,),
            )


def went_elsewhere(clients: Sequence[Sequence[LoggedFact]], rebalances: Sequence[LoggedRebalance]) -> Iterator[Finding]:
    """Find another member that no line names: the only client gave partitions up, and got fewer of them back."""
    if len(clients) != 1 or any(one.members for one in rebalances):
        return
    revoked: LoggedFact | None = None
    fewer: list[tuple[LoggedFact, LoggedFact]] = []
    for fact in clients[0]:
        if fact.kind is FactKind.PARTITIONS_REVOKED and not names_no_partition(fact):
            revoked = fact
        elif fact.kind in _GIVEN and fact.partitions and revoked is not None:
            if _are_fewer(revoked, fact):
                fewer.append((revoked, fact))
            revoked = None
    if fewer:
        before, after = fewer[-1]
        who = after.client_id or after.source or "The client of these lines"
        often = f" {len(fewer)} times got fewer partitions than it gave up; the last time it" if len(fewer) > 1 else ""
        yield suggested(
            "another_member",
            f"{who}{often} gave {count(_number(before), 'partition')} up and got {_number(after)} back: another member "
            "has the others.",
            tuple(fact for pair in fewer for fact in pair),
            "a second consumer of the same program",
            "another program with the same group id",
        )


def _are_fewer(revoked: LoggedFact, given: LoggedFact) -> bool:
    """Whether partitions of topics that a client still has went to others."""
    before, after = partitions_in(revoked), partitions_in(given)
    if not (before and after):
        return 0 < _number(given) < _number(revoked)
    topics = {topic for topic, _ in after}
    return after < before and all(topic in topics for topic, _ in before)


def _number(fact: LoggedFact) -> int:
    number = counted(fact.partitions.strip())
    return len(partitions_in(fact)) if number is None else number


def _is_whole(fact: LoggedFact) -> bool:
    is_placed = fact.kind is FactKind.ASSIGNED_ALL and fact.generation_id is not None
    return is_placed and fact.partitions.endswith("}") and bool(listed(fact))


def _given_by(leader: LoggedFact) -> dict[str, Partitions]:
    return {member_id: Partitions().union(*each) for (_, member_id), each in given_by_leaders([leader]).items()}


def _said(given: dict[str, Partitions]) -> str:
    """`orders-1-...: orders 0-3, orders-2-...: none`."""
    return some_that_fit(f"{member_id}: {partitions(owned) or 'none'}" for member_id, owned in given.items())
