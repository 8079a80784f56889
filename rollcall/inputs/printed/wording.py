"""What was found in printed lines, in sentences: a rebalance's cause, who held it up, and what the lines leave open.

Knows what causes are called (`rollcall.schemas.causes`). Must not know a terminal.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from rollcall.history.sentences import OUTCOMES, cause_clause, fitting, outcome_words, with_host
from rollcall.history.words import count, duration, short, some
from rollcall.inputs.printed.error_names import error_said
from rollcall.inputs.printed.groups.assigned import OWN as OWN_PARTITIONS
from rollcall.inputs.printed.groups.assigned import OWNERS
from rollcall.inputs.printed.groups.leaders import HAS_TO_ASSIGN, leader_of
from rollcall.inputs.printed.groups.own_part import LEFT, OWN
from rollcall.inputs.printed.logged_facts import BROKER, LEAVES, FactKind, LoggedFact, between_ms, printer_of
from rollcall.inputs.printed.logged_partitions import says_owner
from rollcall.inputs.printed.logged_rebalances import (
    Holder,
    LoggedGroup,
    LoggedRebalance,
    Source,
    shortest_name,
)
from rollcall.schemas.causes import Cause, CauseKind, row_of

_LONGEST_WORDS = 120
"""Characters of a client's own reason."""
WORTH_SAYING_MS = 100
"""A request that took less was not waited for."""


def who_of(cause: Cause) -> str:
    """The shortest name that the lines have of the culprit, or of the only member that fits."""
    fit = {(one.member_id, one.client_id) for one in cause.candidates}
    only = shortest_name(*min(fit)) if len(fit) == 1 else ""
    return cause.group_instance_id or shortest_name(cause.member_id, cause.client_id) or only


_BEGINS = (FactKind.CLIENT_STARTED, FactKind.JOIN_SENT, FactKind.REJOIN_WANTED, FactKind.GROUP_IS_REBALANCING)
"""Lines of a client about a rebalance's beginning, which may have no time."""


def cause_sentence(rebalance: LoggedRebalance) -> str:
    """What set it off."""
    cause, source = rebalance.cause, rebalance.source
    if cause.is_open:
        return _nothing_known(rebalance)
    who, fits = who_of(cause), fitting(cause, shortest_name)
    too_slow = (one.length_ms for one in rebalance.facts if one.kind is FactKind.MEMBER_TOO_SLOW_EPOCH)
    terms = rebalance.terms._replace(who=who, poll_ms=next(too_slow, rebalance.terms.poll_ms))
    # Of a leave it is not the reason that is inferred.
    is_leave = rebalance.outcome == LEFT and cause.is_inferred and not fits
    shown = replace(cause, is_inferred=False) if is_leave else cause
    # Only a broker's line or the culprit's own says who set it off: another client's shows who is gone.
    is_seen = any(one.dialect == BROKER or one.kind in LEAVES for one in rebalance.facts)
    is_seen = is_seen if source is Source.LINES else not cause.is_inferred
    clause = cause_clause(shown, terms, fits, doubt="" if is_seen else "inferred; ")
    clause = clause if who and clause.startswith(with_host(who, cause.client_host)) else clause[0].upper() + clause[1:]
    if cause.kind is CauseKind.UNKNOWN or (cause.kind is CauseKind.MEMBER_REJOINED and fits):
        return f"{clause}. {source.does_not_say} which."
    if is_leave:
        return f"{clause}. Inferred: no other rebalance was running then."
    words = cause.client_reason
    if cause.is_inferred or not who or not words or any(each in words for each in _OF_EVERY_FIRST_JOIN):
        return f"{clause}."
    return f'{clause}; reason given: "{short(cause.client_reason or "", _LONGEST_WORDS)}".'


def _nothing_known(rebalance: LoggedRebalance) -> str:
    if rebalance.source is not Source.LINES:
        return f"{rebalance.source.does_not_say} what set it off."
    if rebalance.began_at_ms is None and not any(one.reason or one.kind in _BEGINS for one in rebalance.facts):
        return "Its beginning is not in these lines, so its cause is unknown."
    if all(one.dialect != BROKER for one in rebalance.facts):
        return "These are clients' lines, and they do not say who began it."
    return "The line of its beginning gives no reason that is known, so its cause is unknown."


_OF_EVERY_FIRST_JOIN = ("need to re-join with the given member-id", "MemberIdRequiredException")


def holder_sentence(holder: Holder) -> str:
    """Who kept the join phase waiting."""
    length = "long (inferred)" if holder.length_ms is None else duration(holder.length_ms)
    if holder.why == HAS_TO_ASSIGN:
        waited = "" if holder.length_ms is None else f", for {length} by now"
        return f"{holder.member_id} is waited for (inferred){waited}: {holder.why}."
    if not holder.member_id and holder.why in OWN:
        return f"The client of these lines kept the others waiting for {length} (inferred): {holder.why}."
    if not holder.member_id:
        names = [*map(shortest_name, holder.candidates)]
        fit = f" Known by name: {some(names, 3)}." if names else ""
        inferred = " (inferred)" if holder.is_inferred and holder.length_ms is not None else ""
        return f"The join phase took {length}{inferred}: {holder.why}. These lines do not say who.{fit}"
    who = shortest_name(holder.member_id, holder.client_id)
    more = f" and {count(len(holder.candidates) - 1, 'other')}" if len(holder.candidates) > 1 else ""
    inferred = " (inferred)" if holder.is_inferred and holder.length_ms is not None else ""
    return f"{who}{more} kept the others waiting for {length}{inferred}: {holder.why}."


def own_part(rebalance: LoggedRebalance) -> str:
    """What the lines of one client show of its own part: whether it led, and how long its requests took."""
    if any(fact.dialect == BROKER for fact in rebalance.facts[:1]) or len(set(map(printer_of, rebalance.facts))) != 1:
        return ""
    leader_id, is_own = leader_of(rebalance)
    first = {fact.kind: fact for fact in reversed(rebalance.facts)}
    asked, joined, synced = map(first.get, (FactKind.JOIN_SENT, FactKind.JOINED, FactKind.SYNCED))
    parts = ["was the leader"] if is_own else []
    for name, begin, end in (("JoinGroup", asked, joined), ("SyncGroup", joined, synced)):
        took_ms = None if begin is None or end is None else between_ms(begin, end)
        if took_ms is not None and took_ms >= WORTH_SAYING_MS:
            parts.append(f"waited {duration(took_ms)} for the answer to its {name}")
    named = next((fact for fact in rebalance.facts if fact.client_id or fact.member_id), None)
    who = "" if named is None else shortest_name(named.member_id, named.client_id)
    own = f"{who or 'The client of these lines'} {' and '.join(parts)}." if parts else ""
    leader = f"Its leader was {leader_id}." if leader_id and not is_own else ""
    return " ".join(filter(None, (leader, own)))


def end_words(rebalance: LoggedRebalance) -> str:
    """How it ended, and with how many members."""
    members = f", {count(rebalance.members, 'member')}" if rebalance.members else ""
    if rebalance.outcome in OUTCOMES:
        return f"{outcome_words(rebalance.outcome, rebalance.length_ms)}{members}"
    if rebalance.joined_at_ms is not None:
        return f"join phase ended{members}; no assignment in these lines"
    return f"its end is not in {rebalance.source}"


def trouble_of(group: LoggedGroup) -> int:
    """How many things of a group nobody wants; the most first."""
    causes = sum(row_of(one.cause.kind).is_trouble or one.held_by is not None for one in group.rebalances)
    return causes + sum(one.is_trouble for one in group.findings)


def left_open(groups: list[LoggedGroup]) -> list[str]:
    """What these lines cannot tell, and which file would."""
    found = [*may_be_forged(groups)]
    rebalances = [one for group in groups for one in group.rebalances]
    open_causes = [one for one in rebalances if len(one.cause.candidates) > 1]
    if open_causes:
        is_logged = all(one.source is Source.REQUEST_LOG for one in open_causes)
        or_log = "" if is_logged else ", or the broker's request log (kafka-request.log at DEBUG)"
        found.append(f"Why a member left or joined again, where it gave no reason: its own log says it{or_log}.")
    if any(one.held_by is not None and not one.held_by.member_id and one.held_by.why not in OWN for one in rebalances):
        found.append(
            "Who joined again last and so kept the others waiting: the logs of all members say it, or the broker's "
            "request log."
        )
    of_lines = (group for group in groups if all(one.source is Source.LINES for one in group.rebalances))
    if not all(group.has_epochs for group in of_lines):  # A recording has hosts.
        found.append("On which hosts members ran: a dump of __consumer_offsets has it, or the broker's request log.")
    found += _who_owned(groups)
    if any(row_of(one.cause.kind).is_expiry for one in rebalances):
        found.append(
            "Why a member was silent until its session expired: its process may have died, or lived on without "
            "reaching the broker. Its own log says it."
        )
    return found


def _who_owned(groups: Iterable[LoggedGroup]) -> Iterator[str]:
    """Which other file says who owned what, of groups whose lines do not."""
    open_ones = [
        group
        for group in groups
        if not any(map(says_owner, group.facts_of(FactKind.MEMBER_PROGRESSED)))
        and all(one.finding != OWNERS for one in group.findings)
    ]
    of_lines = [group for group in open_ones if any(one.source is Source.LINES for one in group.rebalances)]
    if of_lines:
        whose = "the members' own logs" if any(group.has_epochs for group in of_lines) else "the leader's own log"
        is_partly = all(any(one.finding == OWN_PARTITIONS for one in group.findings) for group in open_ones)
        who = "Who else" if is_partly else "Who"
        yield f"{who} owned which partition: a dump of __consumer_offsets has it, the request log, or {whose}."


def may_be_forged(groups: Iterable[LoggedGroup]) -> Iterator[str]:
    """Which lines a client's text may have written, once for each file."""
    lines: dict[str, list[int]] = {}
    for fact in (fact for group in groups for fact in group.facts if fact.may_be_forged):
        lines.setdefault(fact.file, []).append(fact.line_number)
    for file, numbers in lines.items():
        first, last = min(numbers), max(numbers)
        which = f"line {first}" if first == last else f"lines {first} to {last}"
        yield (
            f"Whether the broker wrote {which} of {file}: a client id or reason with line breaks may "
            "have written some of them. What rests on them is inferred. A JSON layout or the request log proves it."
        )


def lasting(form: str, first: LoggedFact, last: LoggedFact) -> str:
    """Say the time between two lines; empty if a line has no time."""
    length_ms = between_ms(first, last)
    return "" if length_ms is None else form.format(duration(max(0, length_ms)))


def how_often(lines: Sequence[object]) -> str:
    """How often something stands in lines; nothing for once."""
    return "" if len(lines) == 1 else f" {len(lines)} times"


def how_often_within(lines: Sequence[LoggedFact]) -> str:
    """How often something stands in lines, and within which time; nothing for once."""
    return "" if len(lines) == 1 else f"{how_often(lines)}{lasting(' within {}', lines[0], lines[-1])}"


def errors_in(facts: Iterable[LoggedFact]) -> str:
    """The errors of lines, each once: by Kafka's name where that is known."""
    named = (error_said(fact.error) for fact in facts if fact.error)
    return some(dict.fromkeys(named))
