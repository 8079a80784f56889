"""What a coordinator's lines show of itself: groups that it loads, hands over, removes, or cannot keep as they are,
and what members of a consumer or share group own, by topic id.

Each rule looks at one group. Knows one group's facts. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise

from rollcall.history.words import count, duration, partitions, some_that_fit
from rollcall.inputs.printed.error_names import error_said
from rollcall.inputs.printed.groups.holders import is_a_timeout
from rollcall.inputs.printed.groups.logged_members import members_in
from rollcall.inputs.printed.groups.reasons import capacity_in
from rollcall.inputs.printed.logged_facts import BROKER, REMOVED_EPOCH, FactKind, LoggedFact, between_ms
from rollcall.inputs.printed.logged_partitions import partitions_in, says_owner
from rollcall.inputs.printed.logged_rebalances import Finding, LoggedGroup, suggested
from rollcall.inputs.printed.wording import lasting

Rule = Callable[[LoggedGroup], Iterator[Finding]]
_HANDS_OVER = (FactKind.GROUP_UNLOADED, FactKind.GROUPS_DELETED)
"""Lines that a broker prints which is the coordinator no more."""
_ENDS = REMOVED_EPOCH | {FactKind.MEMBER_EXPIRED}
_FORGETS = (FactKind.GROUP_CONVERTED, FactKind.GROUP_DIED, FactKind.GROUPS_DELETED)
_GIVES_UP = ("UNREVOKED_PARTITIONS", "revoking")
"""The state of a member that has more than what it is to keep."""


_OF_ONE_LINE = {
    FactKind.WRITE_FAILED: ("write_failed", "The broker could not write the group's metadata: {error}."),
    FactKind.GROUP_TAKEN_OVER: ("coordinator_moved", "{broker} became the group's coordinator and loaded it{at}."),
    FactKind.GROUP_UNLOADED: ("coordinator_moved", "{broker} ceased to be the group's coordinator{at}."),
    FactKind.GROUPS_DELETED: ("group_deleted", "The group was deleted."),
    # From 0.10 on it had no committed offsets either; before, a group without members went at once.
    FactKind.GROUP_DIED: ("group_removed", "The coordinator removed the group, which had no members left."),
    FactKind.GROUP_EMPTIED: ("group_emptied", "The group had no member left, in generation {generation}."),
}
"""Lines that are a finding each: its key and its sentence."""


def _one_line_each(group: LoggedGroup) -> Iterator[Finding]:
    for fact in group.facts_of(*_OF_ONE_LINE):
        finding, sentence = _OF_ONE_LINE[fact.kind]
        values = {
            "error": error_said(fact.error),
            "broker": f"Broker {fact.broker_id}" if fact.broker_id else "A broker",
            "at": "" if fact.generation_id is None else f" with generation {fact.generation_id}",
            "generation": fact.generation_id,
        }
        is_trouble = fact.kind is FactKind.WRITE_FAILED
        yield Finding(finding, sentence.format_map(values), (fact,), is_trouble=is_trouble)


def _elsewhere(group: LoggedGroup) -> Iterator[Finding]:
    """A broker whose first line follows the last line of another one: it took the group over, and no line says so."""
    printed = [one for one in group.facts if one.dialect == BROKER and one.broker_id and one.kind not in _HANDS_OVER]
    first = {one.broker_id: one for one in reversed(printed)}
    last = {one.broker_id: one for one in printed}
    for before, fact in pairwise(printed) if len(last) > 1 else ():
        is_said = fact.kind is FactKind.GROUP_TAKEN_OVER
        if before is last[before.broker_id] and fact is first[fact.broker_id] and not is_said:
            yield Finding(
                "coordinator_moved",
                f"Broker {before.broker_id} coordinated the group up to this line, and broker {fact.broker_id} does "
                f"from its own first line on{lasting(', {} later', before, fact)}. No line says why.",
                (before, fact),
            )


def _silent_since_loaded(group: LoggedGroup) -> Iterator[Finding]:
    """A member that expired one session after its coordinator had loaded the group never spoke with that one."""
    loaded: LoggedFact | None = None
    for fact in group.facts if group.facts_of(FactKind.GROUP_TAKEN_OVER) else ():
        if fact.kind is FactKind.GROUP_TAKEN_OVER:
            loaded = fact
        elif loaded is not None and fact.kind is FactKind.MEMBER_EXPIRED:
            after_ms = between_ms(loaded, fact)
            if after_ms is not None and is_a_timeout(after_ms):
                yield suggested(
                    "never_spoke_with_the_new_coordinator",
                    f"{fact.member_id} expired {duration(after_ms)} after this coordinator had loaded the group, which "
                    "is a whole session timeout: the new coordinator did not hear from it at all.",
                    (loaded, fact),
                    "its process was down",
                    "it still spoke with the broker that was the coordinator before",
                    "its network did not reach this broker",
                    is_trouble=True,
                )
        elif fact.kind in (FactKind.REBALANCE_BEGAN, FactKind.MEMBER_ADDED):
            loaded = None


def _over_capacity(group: LoggedGroup) -> Iterator[Finding]:
    """How many members a group above group.max.size has, if earlier lines or its reason say so."""
    loaded: dict[str, LoggedFact] = {}
    for place in group.places_of(FactKind.MEMBER_LOADED, FactKind.REBALANCE_BEGAN):
        fact = group.facts[place]
        if fact.kind is FactKind.MEMBER_LOADED:
            loaded = loaded if place and group.facts[place - 1].kind is fact.kind else {}
            loaded[fact.member_id] = fact
            continue
        members, limit = capacity_in(fact.reason)
        members = members or len(loaded)
        if limit is not None and members > limit:
            yield Finding(
                "over_capacity",
                f"group.max.size is {limit}, and the group has {count(members, 'member')}: at least {members - limit} "
                "of them cannot stay.",
                (*loaded.values(), fact),
            )
        loaded = {}


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


COORDINATOR_RULES: Sequence[Rule] = (_one_line_each, _silent_since_loaded, _over_capacity, _elsewhere)
