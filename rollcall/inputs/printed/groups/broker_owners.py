"""What members of a consumer or share group own by their coordinator's lines, which name topics by id.

Knows one group's facts in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterator

from rollcall.history.words import count, partitions, some_that_fit
from rollcall.inputs.printed.groups.logged_members import members_in
from rollcall.inputs.printed.logged_facts import BROKER, REMOVED_EPOCH, FactKind, LoggedFact
from rollcall.inputs.printed.logged_partitions import partitions_in, partitions_said
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, suggested

_ENDS = REMOVED_EPOCH | {FactKind.MEMBER_EXPIRED}
_FORGETS = (FactKind.GROUP_CONVERTED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)
_GIVES_UP = ("UNREVOKED_PARTITIONS", "revoking")
"""The state of a member that has more than what it is to keep."""


def owners(group: LoggedGroup) -> Iterator[Finding]:
    """Find what each member owns at the end of the lines."""
    latest: dict[str, LoggedFact] = {}
    owners_of: dict[tuple[str, int], str] = {}
    for fact in group.facts if group.facts_of(FactKind.MEMBER_PROGRESSED) else ():
        if fact.dialect != BROKER:
            continue
        if says_owner(fact):
            latest[fact.member_id], own = fact, partitions_in(fact)
            others = {owners_of.get(one, fact.member_id) for one in own} if fact.group_type != "share" else set()
            for other in others - {fact.member_id}:
                if other in latest and own & partitions_in(latest[other]):
                    del latest[other]  # What else it has now, its next line says.
            owners_of.update(dict.fromkeys(own, fact.member_id))
        elif fact.kind in _ENDS:
            latest.pop(fact.member_id, None)
        elif fact.kind is FactKind.MEMBER_JOINED_EPOCH:
            latest.pop(fact.other_member_id, None)
        elif fact.kind is FactKind.TARGET_COMPUTED and (members := members_in(fact)):
            latest = {member_id: own for member_id, own in latest.items() if member_id in members}
        elif fact.kind in _FORGETS:
            latest.clear()
    if latest:
        of_members = []
        for member_id, fact in latest.items():
            least = "at least " if fact.state in _GIVES_UP else ""
            of_members.append(f"{member_id}: {least}{partitions(partitions_in(fact)) or 'none'}")
        named = some_that_fit(of_members)
        yield Finding("owners", f"Partitions at the end of these lines, by topic id: {named}.", tuple(latest.values()))


def never_given_up(group: LoggedGroup) -> Iterator[Finding]:
    """Find members that are assigned again what they were to give up, by the lines of Kafka 3.7, which have both."""
    for fact in group.facts_of(FactKind.MEMBER_PROGRESSED):
        if not says_owner(fact):
            continue
        kept = partitions_in(fact) & partitions_in(fact._replace(partitions=fact.operation))
        if kept:
            yield suggested(
                "revocation_never_confirmed",
                f"{fact.member_id} was to give {count(len(kept), 'partition')} up, and is assigned them again in epoch "
                f"{fact.generation_id}: no line shows that it gave them up.",
                (fact,),
                "its target assignment changed back before it gave them up",
                "another member was given them meanwhile (KAFKA-16147)",
            )


def says_owner(fact: LoggedFact) -> bool:
    """Return True for a coordinator's line that has the partitions of a member."""
    is_state = fact.kind is FactKind.MEMBER_PROGRESSED and fact.dialect == BROKER and fact.group_type != "streams"
    return is_state and bool(fact.partitions) and partitions_said(fact) is not None
