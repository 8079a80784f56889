"""What a removal by the coordinator and the removed client's own lines show together.

A client learns that it was removed by the answer to its next request, which may be long after. Knows facts in order.
Must not know how lines are worded.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence

from app_logs.combined import CLOCKS_MS
from app_logs.entries import Clock
from app_logs.logged_facts import (
    OFFSETS_NOT_COMMITTED,
    PRODUCER_FENCED,
    TASKS_MIGRATED,
    FactKind,
    LoggedFact,
    between_ms,
    is_unknown_member,
    printer_of,
)
from app_logs.logged_rebalances import Finding, LoggedGroup, LoggedRebalance, client_id_of, configured_id
from app_logs.session_findings import at_once
from app_logs.wording import lasting
from schemas.causes import CauseKind
from why.words import count, duration, some

REMOVED_WITHIN_MS = 600_000
"""A removal longer ago than this is laid beside a client's line only by the member id."""
_EXPIRED = (FactKind.MEMBER_EXPIRED, FactKind.MEMBER_EXPIRED_EPOCH)
_OUT = ("its session expired, and the coordinator removed it", "it left by itself at its own poll timeout")
_FENCED = ("another producer with its transactional.id fenced it", "its transaction outlasted its timeout")
_WHY_MIGRATED = {OFFSETS_NOT_COMMITTED: _OUT, PRODUCER_FENCED: _FENCED, "": (*_OUT, "another producer fenced its own")}
"""What fits a Streams thread that gives its tasks away, by what it was refused at."""
_BEATS_APART_MS = 5_000
"""Members that are cut off at once expire within the time between two heartbeats: 3 s as shipped."""
_AROUND_MS = 60_000
"""Where others expire as well within this time before and after, some do so at once by chance."""


def _removals_in(facts: Sequence[LoggedFact]) -> list[LoggedFact]:
    """The broker's lines about members that expired."""
    return [fact for fact in facts if fact.kind is FactKind.MEMBER_EXPIRED]


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

    Only for clients of which no line names a group.
    """
    removals = _removals_in(facts)
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
    removals, member_id = _removals_in(of_broker), ""
    alone: list[tuple[LoggedFact, str]] = []
    """Those of which no broker's line tells, each with the member id."""
    for fact in facts:
        if fact.kind is FactKind.MEMBERSHIP_LOST:
            removed = _removal_of(removals, fact, fact.member_id or member_id)
            if removed is None and is_unknown_member(fact):
                alone.append((fact, fact.member_id or member_id))
                member_id = ""
                continue
            yield _learnt_of_it(fact, removed, fact.member_id or member_id)
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
        return next((one for one in own if (ms := _late_ms(one, lost)) is None or ms >= -CLOCKS_MS), None)
    near = [
        one
        for one in _shortly_before(removals, lost)
        if (
            client_id_of(one.member_id) == configured_id(lost.client_id)
            if lost.client_id
            else _is_of_the_library(one, lost)
        )
    ]
    return near[0] if len(near) == 1 else None


def _learnt_of_it(lost: LoggedFact, removed: LoggedFact | None, member_id: str) -> Finding:
    who = member_id or lost.client_id or "The client"
    if lost.state == TASKS_MIGRATED:
        return Finding(
            "client_learned_of_it",
            f"{who} was refused{f' ({lost.reason})' if lost.reason else ''}, gives all its tasks away and joins anew.",
            (lost,),
            is_inferred=True,
            candidates=_WHY_MIGRATED[lost.reason],
        )
    if not is_unknown_member(lost):
        sentence = f"{who} learnt that its generation was over: the group had rebalanced without it."
        if "EPOCH" in lost.error.upper():
            sentence = f"{who} learnt that its coordinator has another epoch for it: it gives all up and joins anew."
        return Finding("client_learned_of_it", sentence, (lost,))
    sentence = f"{who} learnt from its coordinator's answer that it was no member any more"
    late_ms = None if removed is None else _late_ms(removed, lost)
    if removed is not None and late_ms is not None and CLOCKS_MS <= late_ms <= REMOVED_WITHIN_MS:
        late = duration(late_ms)
        only = f"; the only removal that fits is that of {removed.member_id}, {late} before"
        sentence += f", {late} after it had been removed" if member_id else only
    return Finding("client_learned_of_it", f"{sentence}.", (lost,) if removed is None else (removed, lost))


def _learnt_again(lost: Sequence[tuple[LoggedFact, str]]) -> Finding:
    facts = tuple(fact for fact, _ in lost)
    ids = {client_id_of(member_id) or member_id for _, member_id in lost if member_id}
    who = next((fact.client_id for fact in facts if fact.client_id), min(ids) if len(ids) == 1 else "The client")
    within = lasting(" within {}", facts[0], facts[-1])
    sentence = (
        f"{who} learnt from its coordinator's answers that it was no member any more, in {len(facts)} lines{within}."
    )
    return Finding("client_learned_of_it", sentence, facts)


def _alive(lost: LoggedFact, removed: LoggedFact) -> Finding:
    return Finding(
        "process_was_alive",
        f"{removed.member_id} expired, and its process was alive: it printed that it was out. Its heartbeats did not "
        "reach the coordinator.",
        (removed, lost),
        is_inferred=True,
        candidates=(
            "the program's own work kept its heartbeats from running",
            "its process or machine was paused",
            "the network or the broker was silent",
            "another process has that client id",
        ),
    )


def returns(group: LoggedGroup) -> Iterator[Finding]:
    """A client id whose member expired, and that soon joined under another member id."""
    joins: dict[str, list[LoggedRebalance]] = {}
    for one in group.rebalances:
        if one.cause.kind is CauseKind.MEMBER_JOINED and one.began_at_ms is not None:
            joins.setdefault(client_id_of(one.cause.member_id), []).append(one)
    for own in joins.values():
        own.sort(key=_began_ms)
    for removed in group.facts:
        client_id = client_id_of(removed.member_id) if removed.kind is FactKind.MEMBER_EXPIRED else ""
        if not client_id or removed.at_ms is None:
            continue
        own = joins.get(client_id, [])
        place = bisect_left(own, removed.at_ms, key=_began_ms)
        if place == len(own) or _began_ms(own[place]) - removed.at_ms > REMOVED_WITHIN_MS:
            continue
        came = own[place]
        yield Finding(
            "same_client_new_member_id",
            f"{client_id} joined {duration(_began_ms(came) - removed.at_ms)} after its member had expired, under the "
            f"new member id {came.cause.member_id}.",
            (removed, *came.facts[:1]),
            is_inferred=True,
            candidates=("the same process came back", "another process has that client id"),
        )


def _began_ms(one: LoggedRebalance) -> int:
    return one.began_at_ms or 0


def expired_together(groups: Iterable[LoggedGroup]) -> Iterator[tuple[LoggedGroup, Finding]]:
    """Members of several groups that one coordinator removed at once while it removed few others: for each group.

    Those that a coordinator has not heard at all since it loaded their group are another matter.
    """
    by_broker: dict[tuple[str, Clock], list[tuple[int, int, LoggedFact]]] = {}
    every = [*groups]
    for place, group in enumerate(every):
        for fact in _expired_later_than_loaded(group):
            if fact.at_ms is not None:
                by_broker.setdefault((fact.broker_id, fact.clock), []).append((fact.at_ms, place, fact))
    for (broker_id, _), expired in by_broker.items():
        expired.sort(key=lambda one: one[:2])
        for together in at_once(expired):
            places = sorted({place for _, place, _ in together})
            if len(places) > 1 and _stand_out(together[0][0], together[-1][0], [ms for ms, _, _ in expired]):
                facts = tuple(fact for _, _, fact in together)
                finding = _of_one_cause(facts, [every[place].group_id for place in places], broker_id)
                yield from ((every[place], finding) for place in places)


def _stand_out(first_ms: int, last_ms: int, all_ms: Sequence[int]) -> bool:
    """Whether those that expired between two times are more than two, and twice as many as those around them."""
    expired = bisect_right(all_ms, last_ms) - bisect_left(all_ms, first_ms)
    around = bisect_right(all_ms, last_ms + _AROUND_MS) - bisect_left(all_ms, first_ms - _AROUND_MS) - expired
    return last_ms - first_ms <= _BEATS_APART_MS and expired > 2 and 2 * around <= expired


def _expired_later_than_loaded(group: LoggedGroup) -> Iterator[LoggedFact]:
    loaded: LoggedFact | None = None
    for fact in group.facts:
        if fact.kind is FactKind.GROUP_TAKEN_OVER:
            loaded = fact
        elif fact.kind in _EXPIRED:
            since_ms = None if loaded is None else between_ms(loaded, fact)
            if since_ms is None or since_ms > REMOVED_WITHIN_MS:
                yield fact


def _of_one_cause(facts: tuple[LoggedFact, ...], group_ids: Sequence[str], broker_id: str) -> Finding:
    within = duration(max(0, between_ms(facts[0], facts[-1]) or 0))
    broker = f"broker {broker_id}" if broker_id else "the broker"
    who = f"{count(len({fact.member_id for fact in facts}), 'member')} of {len(group_ids)} groups ({some(group_ids)})"
    return Finding(
        "common_cause",
        f"{who} expired within {within} on {broker}: that each of them fell silent by itself does not fit well.",
        facts,
        is_inferred=True,
        candidates=(
            f"{broker} stood still, and then found all their sessions at an end",
            f"the network between them and {broker} failed",
            "their processes were stopped at once, as by a machine that failed",
        ),
    )
