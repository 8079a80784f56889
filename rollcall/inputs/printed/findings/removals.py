"""What a removal by the coordinator and the removed client's own lines show together.

A client learns that it was removed by the answer to its next request, which may be long after. Knows facts in order.
Must not know how lines are worded.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence

from rollcall.history.words import duration
from rollcall.inputs.printed.logged_facts import (
    OFFSETS_NOT_COMMITTED,
    PRODUCER_FENCED,
    TASKS_MIGRATED,
    FactKind,
    LoggedFact,
    between_ms,
    is_unknown_member,
    printer_of,
)
from rollcall.inputs.printed.logged_rebalances import (
    Finding,
    LoggedGroup,
    LoggedRebalance,
    client_id_of,
    configured_id,
    shortest_name,
    suggested,
)
from rollcall.inputs.printed.wording import lasting
from rollcall.inputs.tolerances import CLOCKS_WITHIN_MS, REMOVED_WITHIN_MS
from rollcall.schemas.causes import CauseKind

_JOINS = (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.JOINED_AND_SYNCED)
_OUT = ("its session expired, and the coordinator removed it", "it left on its own at its poll timeout")
_FENCED = ("another producer with its transactional.id fenced it", "its transaction outlasted its timeout")
_WHY_MIGRATED = {OFFSETS_NOT_COMMITTED: _OUT, PRODUCER_FENCED: _FENCED, "": (*_OUT, "another producer fenced its own")}
"""What fits a Streams thread that gives its tasks away, by what it was refused at."""


def _shortly_before(removals: Sequence[LoggedFact], lost: LoggedFact) -> list[LoggedFact]:
    """Those of the removals that a client's line may be about, by time."""
    late_ms = ((one, _late_ms(one, lost)) for one in removals)
    return [one for one, ms in late_ms if ms is not None and 0 <= ms <= REMOVED_WITHIN_MS]


def _late_ms(removed: LoggedFact, lost: LoggedFact) -> int | None:
    return between_ms(removed, lost) if removed.clock is lost.clock else None


def _is_of_the_library(removed: LoggedFact, lost: LoggedFact) -> bool:
    """Whether a member id begins with the default client id of a client's library: its name and version."""
    return removed.member_id.startswith(f"{lost.dialect}-")


def groups_of_removed(facts: Sequence[LoggedFact]) -> dict[tuple[str, ...], set[str]]:
    """By client: the group that had removed the one member whose id has the default name of the client's library.

    Only for clients whose group no line names.
    """
    removals = [fact for fact in facts if fact.kind is FactKind.MEMBER_EXPIRED]
    named = {printer_of(fact) for fact in facts if fact.group_id}
    groups: dict[tuple[str, ...], set[str]] = {}
    for fact in facts:
        if fact.kind is FactKind.MEMBERSHIP_LOST and printer_of(fact) not in named:
            removed = [one for one in _shortly_before(removals, fact) if _is_of_the_library(one, fact)]
            if len(removed) == 1:
                groups.setdefault(printer_of(fact), set()).add(removed[0].group_id)
    return groups


def removal_findings(of_broker: Sequence[LoggedFact], facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Of one client's lines: when it learnt that it was out, and that its process was alive."""
    removals, member_id = [fact for fact in of_broker if fact.kind is FactKind.MEMBER_EXPIRED], ""
    alone: list[tuple[LoggedFact, str]] = []
    """Those that no broker's line mentions, each with the member id."""
    left: LoggedFact | None = None
    for fact in facts:
        if fact.kind is FactKind.LEAVE_SENT:
            left = fact
        elif fact.kind in _JOINS:
            left = None
        if fact.kind is FactKind.MEMBERSHIP_LOST:
            removed = _removal_of(removals, fact, fact.member_id or member_id)
            if removed is None and is_unknown_member(fact):
                alone.append((fact, fact.member_id or member_id))
                member_id = ""
                continue
            yield _learnt_of_it(fact, removed, fact.member_id or member_id, left)
            if removed is not None and is_unknown_member(fact):
                yield _alive(fact, removed)
            member_id = ""
        else:
            member_id = fact.member_id or member_id
    if alone:
        yield _learnt_again(alone) if len(alone) > 1 else _learnt_of_it(alone[0][0], None, alone[0][1])


def _removal_of(removals: Sequence[LoggedFact], lost: LoggedFact, member_id: str) -> LoggedFact | None:
    """The broker's line about the client's removal: by its member id, or the only one that fits."""
    if member_id:
        own = [one for one in removals if one.member_id == member_id]
        return next((one for one in own if (ms := _late_ms(one, lost)) is None or ms >= -CLOCKS_WITHIN_MS), None)
    near = _shortly_before(removals, lost)
    if lost.client_id:
        near = [one for one in near if client_id_of(one.member_id) == configured_id(lost.client_id)]
    else:
        near = [one for one in near if _is_of_the_library(one, lost)]
    return near[0] if len(near) == 1 else None


def _learnt_of_it(
    lost: LoggedFact, removed: LoggedFact | None, member_id: str, left: LoggedFact | None = None
) -> Finding:
    who = member_id or lost.client_id or "The client"
    if lost.state == TASKS_MIGRATED and left is not None and lost.reason != PRODUCER_FENCED:
        return suggested(
            "client_learned_of_it",
            f"{who} was refused since it had left on its own{lasting(' {} before', left, lost)}. It gives all its "
            "tasks away and joins anew.",
            (left, lost),
        )
    if lost.state == TASKS_MIGRATED:
        return suggested(
            "client_learned_of_it",
            f"{who} was refused{f' ({lost.reason})' if lost.reason else ''}, gives all its tasks away and joins anew.",
            (lost,),
            *_WHY_MIGRATED[lost.reason],
        )
    if not is_unknown_member(lost):
        sentence = f"{who} learnt that its generation had ended: the group had rebalanced without it."
        if "EPOCH" in lost.error.upper():
            sentence = f"{who} learnt that its coordinator has another epoch for it: it gives all up and joins anew."
        return Finding("client_learned_of_it", sentence, (lost,))
    sentence = f"{who} learnt from its coordinator's answer that it was no longer a member"
    late_ms = None if removed is None else _late_ms(removed, lost)
    if removed is not None and late_ms is not None and CLOCKS_WITHIN_MS <= late_ms <= REMOVED_WITHIN_MS:
        late = duration(late_ms)
        only = f"; the only removal that fits is that of {removed.member_id}, {late} before"
        sentence += f", {late} after it had been removed" if member_id else only
    return Finding("client_learned_of_it", f"{sentence}.", (lost,) if removed is None else (removed, lost))


def _learnt_again(lost: Sequence[tuple[LoggedFact, str]]) -> Finding:
    facts = tuple(fact for fact, _ in lost)
    ids = {shortest_name(member_id) for _, member_id in lost if member_id}
    who = next((fact.client_id for fact in facts if fact.client_id), min(ids) if len(ids) == 1 else "The client")
    lines = f"in {len(facts)} lines{lasting(' within {}', facts[0], facts[-1])}"
    sentence = f"{who} learnt from its coordinator's answers that it was no longer a member, {lines}."
    return Finding("client_learned_of_it", sentence, facts)


def _alive(lost: LoggedFact, removed: LoggedFact) -> Finding:
    return suggested(
        "process_was_alive",
        f"{removed.member_id} expired, and its process was alive: it printed that it was out. Its heartbeats did not "
        "reach the coordinator.",
        (removed, lost),
        "the program's own work kept its heartbeats from running",
        "its process or machine was paused",
        "the network or the broker was silent",
        "another process has that client id",
    )


def returns(group: LoggedGroup) -> Iterator[Finding]:
    """A client id whose member expired, and that soon joined under another member id."""
    joins: dict[str, list[LoggedRebalance]] = {}
    for one in group.rebalances:
        if one.cause.kind is CauseKind.MEMBER_JOINED and one.began_at_ms is not None:
            joins.setdefault(client_id_of(one.cause.member_id), []).append(one)
    for own in joins.values():
        own.sort(key=_began_ms)
    for removed in group.facts_of(FactKind.MEMBER_EXPIRED):
        client_id = client_id_of(removed.member_id)
        if not client_id or removed.at_ms is None:
            continue
        own = joins.get(client_id, [])
        place = bisect_left(own, removed.at_ms, key=_began_ms)
        if place == len(own) or _began_ms(own[place]) - removed.at_ms > REMOVED_WITHIN_MS:
            continue
        came = own[place]
        yield suggested(
            "same_client_new_member_id",
            f"{client_id} joined {duration(_began_ms(came) - removed.at_ms)} after its member had expired, under the "
            f"new member id {came.cause.member_id}.",
            (removed, *came.facts[:1]),
            "the same process came back",
            "another process has that client id",
        )


def _began_ms(one: LoggedRebalance) -> int:
    return one.began_at_ms or 0
