"""What a client's lines show of its membership: that it was out, why its commits failed, and that this continues.

A client that is asked to rejoin again and again, or is out soon after each join, is in what people call a loop. Knows
facts of one client. Must not know how lines are worded, but for the errors that brokers answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from rollcall.history.words import count, duration, some
from rollcall.inputs.printed.error_names import NOT_COORDINATOR, OF_COORDINATORS, OF_NO_MEMBER, error_name
from rollcall.inputs.printed.groups.leaders import listed
from rollcall.inputs.printed.groups.own_part import JOINS
from rollcall.inputs.printed.logged_facts import (
    COMMITS,
    HEARTBEATS_STOPPED,
    SESSION_RELEASED,
    TASKS_MIGRATED,
    FactKind,
    LoggedFact,
    between_ms,
    is_unknown_member,
)
from rollcall.inputs.printed.logged_rebalances import Finding, Rule, one_finding, one_trouble, suggested, trouble
from rollcall.inputs.printed.wording import errors_in, how_often, how_often_within
from rollcall.inputs.tolerances import AT_ONCE_MS, SHORT_GENERATION_MS

OFTEN = 3
"""This number of short generations after each other is a loop."""
_REFUSED = (FactKind.JOIN_REFUSED, FactKind.SYNC_REFUSED, FactKind.INSTANCE_FENCED)
_NO_ANSWER = ("disconnect", "timeout")
"""In the errors of requests that may have been carried out."""
_TAIL = 12
"""Characters of an id."""
_ID_NEEDED = "MemberIdRequired"
"""The error by which a new member is given its id: it asks again with it."""
_NOT_IN_IT = "it was out, or the group had rebalanced without it"
_STOCK_PHRASE = "max.poll.interval.ms"
_OF_MEMBERS = ("a commit", "a heartbeat", "a JoinGroup or a SyncGroup")
_OF_OTHERS = (*_OF_MEMBERS, "a request of an admin client or of a transactional producer")
"""Requests that may get an error of a coordinator."""
_NOT_PROVEN = " Its stock phrase, that it polled too seldom, proves nothing."


def _commits_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    by_meaning: dict[str, list[LoggedFact]] = {}
    for fact in facts:
        if fact.kind is FactKind.COMMIT_REFUSED:
            by_meaning.setdefault(_meaning_of(error_name(fact.error)), []).append(fact)
    for meaning, refused in by_meaning.items():
        phrase = _NOT_PROVEN if any(_STOCK_PHRASE in fact.error for fact in refused) else ""
        says, errors = "says" if len(refused) == 1 else "say", errors_in(refused)
        failed = f"{count(len(refused), 'line')} of {who} {says} that a commit failed{f': {errors}' if errors else ''}"
        yield trouble("commit_refused", f"{failed}. {meaning}{phrase}", tuple(refused))


def _meaning_of(error: str) -> str:
    if error in OF_COORDINATORS:
        return "The broker that it asked does not coordinate the group, or not yet: that takes no partition away."
    again = "The next owner may process the records since its last commit again."
    return f"I{_NOT_IN_IT[1:]}. {again}" if error in OF_NO_MEMBER else again


def _lost(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Yield that a client gave its partitions up as lost, if no line has the answer that made it do so."""
    lost = [one for one in facts if one.kind is FactKind.PARTITIONS_LOST and error_name(one.reason) in OF_NO_MEMBER]
    if lost and all(fact.kind is not FactKind.MEMBERSHIP_LOST or fact.state == TASKS_MIGRATED for fact in facts):
        yield Finding(
            "partitions_lost",
            f"{who} gave its partitions away as lost: {_NOT_IN_IT}. Others may already have had them.",
            tuple(lost),
        )


def _joins_failed(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Attempts to join that ended with an exception, which no line before it explains."""
    failed: list[LoggedFact] = []
    is_explained = False
    for fact in facts:
        if fact.kind is FactKind.JOIN_FAILED:
            if not (is_explained or _ID_NEEDED in fact.error):
                failed.append(fact)
            is_explained = False
        elif fact.kind in (FactKind.JOIN_SENT, *_REFUSED):
            is_explained = fact.kind in _REFUSED
    if failed:
        why = f": {errors}" if (errors := errors_in(failed)) else ""
        yield trouble("join_failed", f"{who} asked to join, and that failed{how_often(failed)}{why}.", tuple(failed))


def _joined_twice(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """A leader whose join got no answer, and who finds another member with its client id: that join may be in force."""
    failed: LoggedFact | None = None
    own = {fact.generation_id: fact.member_id for fact in facts if fact.kind in (FactKind.JOINED, FactKind.SYNCED)}
    for fact in facts:
        if fact.kind is FactKind.JOIN_FAILED and any(each in fact.error.lower() for each in _NO_ANSWER):
            failed = fact
        elif fact.kind is FactKind.ASSIGNED_ALL and failed is not None:
            member_id = own.get(fact.generation_id) or ""
            named, client_id, _ = member_id.rpartition(fact.client_id)
            alike = [one for one in listed(fact) if one.startswith(f"{named}{client_id}-")]
            others = [one for one in alike if one != member_id and len(one) == len(member_id)] if client_id else []
            if others:
                yield suggested(
                    "joined_twice",
                    f"Generation {fact.generation_id} has {len(others) + 1} members with the client id of {who}, and "
                    f"its own join had got no answer before. It is {_end(member_id)}; the other id is "
                    f"{some(map(_end, others))}.",
                    (failed, fact),
                    "the other id is of its own first join, and nobody reads its partitions",
                    "another process has that client id",
                )
            failed = None


def _end(member_id: str) -> str:
    """The end of a long id, by which ids of one client id differ."""
    return f"...{member_id[-_TAIL:]}"


def _syncs_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Errors instead of assignments; apart, those of a broker that answers JoinGroup as the coordinator."""
    joined: LoggedFact | None = None
    denied: list[LoggedFact] = []
    others: list[LoggedFact] = []
    for fact in facts:
        if fact.kind is FactKind.JOINED:
            joined = fact
        elif fact.kind is FactKind.SYNC_REFUSED:
            (denied if joined is not None and error_name(fact.error) == NOT_COORDINATOR else others).append(fact)
            joined = None
    if others:
        yield trouble("assignment_refused", _without_an_assignment(who, others), tuple(others))
    if denied:
        yield trouble(
            "coordinator_refuses_syncs",
            f"{_without_an_assignment(who, denied)} No assignment of these generations took effect.",
            tuple(denied),
            candidates=(
                "the broker cannot write to the group's partition of __consumer_offsets",
                "the group's coordinator moved between JoinGroup and SyncGroup",
            ),
        )


def _without_an_assignment(who: str, refused: Sequence[LoggedFact]) -> str:
    """Which member's SyncGroup came too late, or why, is not in its log."""
    return f"{who} joined and got an error instead of an assignment{how_often_within(refused)}: {errors_in(refused)}."


def _offsets_refused(who: str, refused: Sequence[LoggedFact]) -> str:
    what = f"A broker refused {who} its committed offsets{how_often(refused)}: {errors_in(refused)}."
    return f"{what} After that its client joins again."


def _requests_refused(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    by_error: dict[str, list[LoggedFact]] = {}
    for fact in facts:
        if fact.kind is FactKind.REQUEST_REFUSED:
            by_error.setdefault(fact.error, []).append(fact)
    for error, refused in by_error.items():
        yield trouble(
            "request_refused",
            f"A request of {who} was answered with {error}{how_often(refused)}; the lines do not say which request.",
            tuple(refused),
            candidates=_OF_OTHERS if error in OF_COORDINATORS else _OF_MEMBERS,
        )


def _not_authorized(who: str, refused: Sequence[LoggedFact]) -> str:
    group = f"the group {refused[0].group_id} (READ on the group)"
    times = how_often(refused)
    return f"A broker refused {who}{times}: its user is not authorized to access {group}. That is not a rebalance."


def _without_a_topic(who: str, lines: Sequence[LoggedFact]) -> str:
    times = how_often(lines)
    return f"No topic that {who} can see matches its subscription{times}: it joins without one, and is given nothing."


def _commits_while_it_joins(who: str, early: Sequence[LoggedFact]) -> str:
    generations = some(dict.fromkeys(str(fact.generation_id) for fact in early))
    return f"{who} committed{how_often(early)} as a member of generation {generations} while it joined the next one."


def _takes_too_slowly(who: str, slow: Sequence[LoggedFact]) -> str:
    messages = f"the messages of {some(sorted({fact.partitions for fact in slow}))} within {slow[0].reason}"
    return (
        f"The program of {who} did not take {messages}{how_often(slow)}: its client reads on once they are taken. "
        "That is not a rebalance."
    )


def _notified_again_and_again(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    rounds = _rounds(facts, lambda fact: fact.kind is FactKind.GROUP_IS_REBALANCING)
    if len(rounds) >= OFTEN:
        yield Finding(
            "rebalances_in_a_loop",
            f"{who} learned of the next rebalance {len(rounds)} times, {_after(rounds)} after it had joined: what "
            "triggers them is not in this client's lines.",
            tuple(fact for one in rounds for fact in one),
        )


def _out_again_and_again(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    rounds = _rounds(facts, is_unknown_member)
    if len(rounds) >= OFTEN - 1:
        yield suggested(
            "removed_in_a_loop",
            f"{who} was out of its group {len(rounds)} times, {_after(rounds)} after it had joined.",
            tuple(fact for one in rounds for fact in one),
            "its program is busy for longer than its session timeout and sends no heartbeats meanwhile",
            "it did not join again within the rebalance timeout",
            "its coordinator moved or lost the group",
        )


def _sessions_outlived(who: str, facts: Sequence[LoggedFact]) -> Iterator[Finding]:
    """Went on with a session whose heartbeats had stopped: they stop as it is released, unless an answer ended them."""
    stopped: dict[int | None, LoggedFact] = {}
    for fact in facts:
        if fact.state == HEARTBEATS_STOPPED:
            stopped[fact.generation_id] = fact
        elif fact.state == SESSION_RELEASED and (before := stopped.get(fact.generation_id)) is not None:
            later_ms = between_ms(before, fact) or 0
            if later_ms >= AT_ONCE_MS:
                yield suggested(
                    "session_outlived",
                    f"{fact.member_id or who} stopped its heartbeats in generation {fact.generation_id}, and its "
                    f"program kept that session for {duration(later_ms)} more: others may have worked on the same "
                    "partitions.",
                    (before, fact),
                    "the coordinator had answered that it is not a member of that generation",
                    "its heartbeats got no answer",
                )


def _rounds(facts: Sequence[LoggedFact], ends: Callable[[LoggedFact], bool]) -> list[tuple[LoggedFact, LoggedFact]]:
    """Each join with the end of its generation for this client, where that came soon; the longest run of such."""
    found: list[tuple[LoggedFact, LoggedFact]] = []
    best: list[tuple[LoggedFact, LoggedFact]] = []
    joined: LoggedFact | None = None
    for fact in facts:
        if fact.kind in JOINS:
            joined = fact
        elif joined is not None and ends(fact):
            lasted_ms = between_ms(joined, fact)
            is_soon = lasted_ms is not None and 0 <= lasted_ms <= SHORT_GENERATION_MS
            found = found if is_soon else []
            found += [(joined, fact)] if is_soon else []
            best = max(best, found, key=len)
            joined = None
    return best


def _after(rounds: Sequence[tuple[LoggedFact, LoggedFact]]) -> str:
    """`3 s`, or `3 s to 9 s`."""
    lengths_ms = sorted(between_ms(*one) or 0 for one in rounds)
    return " to ".join(dict.fromkeys((duration(lengths_ms[0]), duration(lengths_ms[-1]))))


MEMBERSHIP_RULES: Sequence[Rule] = (
    _commits_refused,
    _lost,
    _joins_failed,
    _joined_twice,
    _syncs_refused,
    one_trouble("offsets_refused", lambda fact: fact.kind is FactKind.OFFSETS_REFUSED, _offsets_refused),
    _requests_refused,
    one_finding("not_authorized", lambda fact: fact.kind is FactKind.NOT_AUTHORIZED, _not_authorized),
    one_trouble("no_topic", lambda fact: fact.kind is FactKind.NO_TOPIC, _without_a_topic),
    one_finding("commit_during_rebalance", lambda fact: fact.operation == COMMITS, _commits_while_it_joins),
    one_trouble("processing_too_slow", lambda fact: fact.kind is FactKind.TAKEN_TOO_SLOWLY, _takes_too_slowly),
    _notified_again_and_again,
    _out_again_and_again,
    _sessions_outlived,
)
