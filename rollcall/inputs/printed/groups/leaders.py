"""What clients' lines show of their leader: who is a member, who leads, and whose assignment has not come.

Knows rebalances of clients, and their facts. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

import re2

from rollcall.inputs.printed.error_names import CONFIG_MISMATCH
from rollcall.inputs.printed.logged_facts import LEADS, FactKind, LoggedFact, between_ms, printer_of
from rollcall.inputs.printed.logged_rebalances import Finding, Holder, LoggedRebalance, inferred, trouble
from rollcall.inputs.tolerances import BACK_AT_HEARTBEAT_MS
from rollcall.schemas.causes import CauseKind

GIVEN = re2.compile(
    r"(?:\A\{|, )(?P<member_id>[^=,(){}\[\]]+)=Assignment\((?:partitions=\[(?P<partitions>[^\[\]]*)\])?"
)
"""What a leader's line gives to a member; partitions within which a line is cut are left out."""
_LEADS = (FactKind.ASSIGNED_ALL, FactKind.LEADER_CONFIGS_BEHIND)
_AWAITS_ASSIGNMENT = "wait-sync"
"""The state of a client that has joined and has no assignment yet."""
HAS_TO_ASSIGN = "it leads the generation, and its assignment had not come when the lines end"


def listed(fact: LoggedFact) -> list[str]:
    """Return the members that a line of a leader has."""
    if fact.kind is FactKind.ASSIGNED_ALL:
        return [given["member_id"] for given in GIVEN.finditer(fact.partitions)]
    return [fact.member_id] if fact.kind is FactKind.MEMBER_FOUND else []


def with_members(rebalances: Iterable[LoggedRebalance]) -> Iterator[tuple[LoggedRebalance, list[str]]]:
    """Yield each rebalance with the members of its generation, if its leader's lines list them."""
    for one in rebalances:
        yield one, list(dict.fromkeys(member_id for fact in one.facts for member_id in listed(fact)))


def leader_of(one: LoggedRebalance) -> tuple[str, bool]:
    """Return the leader's member id as far as a client's lines have it, and whether it is the client itself."""
    joined = next((fact for fact in reversed(one.facts) if fact.kind is FactKind.JOINED), None)
    leader_id = "" if joined is None else joined.other_member_id
    leads = any(fact.kind in _LEADS or fact.state == LEADS for fact in one.facts)
    is_own = leads or (joined is not None and leader_id == joined.member_id != "")
    return (leader_id or joined.member_id if is_own and joined is not None else leader_id), is_own


def say_what_leaders_show(rebalances: Sequence[LoggedRebalance]) -> None:
    """Lay what a leader knows beside each rebalance: how many members, its own joins, that all wait for it."""
    for one in rebalances:
        one.members = one.members or members_of(one)
        _say_who_assigns(one)
    for before, one in pairwise(rebalances):
        leader_id = _refused_leader(before)
        is_next = before.generation_id is not None and one.generation_id == before.generation_id + 1
        if leader_id and is_next and one.cause.is_open and _refused_leader(one) == leader_id and leader_of(one)[1]:
            one.cause = inferred(CauseKind.MEMBER_REJOINED, leader_id)


def without_assignments(rebalances: Iterable[LoggedRebalance]) -> Iterator[Finding]:
    """Find members that wait for their leader's assignment until their lines end."""
    for one in rebalances:
        if one.held_by is not None and one.held_by.why == HAS_TO_ASSIGN:
            joined = next(fact for fact in reversed(one.facts) if fact.kind is FactKind.JOINED)
            yield trouble(
                "no_assignment",
                f"{joined.member_id} joined generation {one.generation_id}, and its assignment had not come when the "
                "lines end.",
                (joined, one.facts[-1]),
            )


def members_of(one: LoggedRebalance) -> int | None:
    """Return how many members its leader has, by one whole line; None if no line has them."""
    for fact in one.facts:
        if fact.kind is FactKind.ASSIGNED_ALL and fact.partitions.endswith("}"):
            return len(listed(fact)) or None
        if fact.kind is FactKind.JOINED and fact.members:
            return fact.members
    return None


def _say_who_assigns(one: LoggedRebalance) -> None:
    """A member that waits for its assignment until its lines end waits for the leader."""
    leader_id, is_own = leader_of(one)
    latest = one.facts[-1] if one.facts else None
    if not leader_id or is_own or one.held_by is not None or one.outcome or latest is None:
        return
    joined = next(fact for fact in reversed(one.facts) if fact.kind is FactKind.JOINED)
    length_ms = between_ms(joined, latest)
    is_alone = len({printer_of(fact) for fact in one.facts}) == 1
    if is_alone and latest.state == _AWAITS_ASSIGNMENT and (length_ms is None or length_ms >= BACK_AT_HEARTBEAT_MS):
        one.held_by = Holder(length_ms, leader_id, True, HAS_TO_ASSIGN)


def _refused_leader(one: LoggedRebalance) -> str:
    """The leader whose assignment all workers of Connect refuse, and join again; empty: there is none."""
    refused = (fact for fact in one.facts if fact.kind is FactKind.SYNC_REFUSED)
    return next((fact.other_member_id for fact in refused if fact.error.startswith(CONFIG_MISMATCH)), "")
