"""What lines say of each group: which are about it, its rebalances, and what else they show, in order, each once.

Knows facts in order. Must not know files, wordings or a terminal.
"""

from __future__ import annotations

import heapq
from bisect import bisect_left
from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import TypeVar

from rollcall.inputs.printed.absence import with_shown_levels
from rollcall.inputs.printed.findings.between_clients import findings_between
from rollcall.inputs.printed.findings.client_findings import client_findings
from rollcall.inputs.printed.findings.common_causes import expired_together
from rollcall.inputs.printed.findings.group_findings import findings_of
from rollcall.inputs.printed.findings.removals import groups_of_removed, removal_findings, returns
from rollcall.inputs.printed.groups.assigned import OWNERS, answered, assigned_last
from rollcall.inputs.printed.groups.causes import Causes
from rollcall.inputs.printed.groups.combined import combined
from rollcall.inputs.printed.groups.epochs import stored_lines, topics_changed_ms
from rollcall.inputs.printed.groups.forgeable import doubt_forgeable, with_forgeable
from rollcall.inputs.printed.groups.ledger import ClientLedger, Ledger
from rollcall.inputs.printed.groups.logged_effects import SILENT_BUMPS
from rollcall.inputs.printed.groups.logged_members import OF_TASKS
from rollcall.inputs.printed.groups.own_epochs import own_history
from rollcall.inputs.printed.lines.entries import DATED, reason_of
from rollcall.inputs.printed.logged_facts import BROKER, NEWER, FactKind, LoggedFact, is_dated, printer_of, program_of
from rollcall.inputs.printed.logged_rebalances import (
    GROUP_NOT_NAMED,
    NOT_NAMED,
    Finding,
    LoggedGroup,
    LoggedRebalance,
    client_id_of,
    configured_id,
    trouble,
)
from rollcall.inputs.printed.wording import how_often_within
from rollcall.inputs.tolerances import AT_ONCE_MS

_OF_A_PARTITION = (FactKind.PARTITION_LOADING, FactKind.PARTITION_LOADED, FactKind.PARTITION_UNLOADED)
_SHIPPED_IDS = ("", "rdkafka")
NOT_FOLLOWED = "not_followed"
_OF_NEWER = ("JOINING", "LEAVING")
"""States that only members of the newer protocols have."""
_SOME_NEWER = "newer"
"""A type that is not classic: which one, other lines say."""
_NAMES_MEMBER = (FactKind.JOINED, FactKind.MEMBER_PROGRESSED)
_Key = TypeVar("_Key", bound=Hashable)
_Place = tuple[int, int]
"""A dated time, and a line's place among the group's."""


def groups_in(
    facts: Sequence[LoggedFact],
    from_line: int = 0,
    read_until_ms: float = 0,
    *,
    is_ongoing: bool = False,
    is_marked: bool = False,
) -> list[LoggedGroup]:
    """Every group that the lines name, with its story, in the order of its first line.

    from_line: of one file that grows, where it is new. Groups without a line from there on are left out.
    read_until_ms: the time up to which it has no other lines. is_ongoing: more lines may come. is_marked: the facts say
    already which of them may be forged.
    """
    facts = facts if is_marked else with_forgeable(facts, is_ongoing=is_ongoing)
    shown = with_shown_levels(facts)
    by_group = {group_id: stored_lines(own) for group_id, own in _by_group(_with_groups(shown)).items()}
    times_ms = [fact.at_ms for fact in facts if fact.at_ms is not None]
    log_ends_ms = max(read_until_ms, max(times_ms)) if times_ms else None
    of_brokers = {group_id: [fact for fact in own if fact.dialect == BROKER] for group_id, own in by_group.items()}
    topics_ms = sorted((ms, group_id) for group_id, own in of_brokers.items() for ms in topics_changed_ms(own))
    found = []
    for group_id, own in by_group.items():
        if own[-1].line_number < from_line:
            continue
        try:
            found.append(_group_of(group_id, own, of_brokers[group_id], topics_ms, log_ends_ms))
        except Exception as error:
            # Lines are input: whatever one group's make a rule raise, the others are read.
            sentence = f"Rollcall failed to follow the lines of this group ({reason_of(error)})."
            found.append(LoggedGroup(group_id, facts=own, findings=[trouble(NOT_FOLLOWED, sentence, (own[0],))]))
    for group, finding in expired_together(found):
        group.findings.append(finding)
    for group in found:
        if any(fact.may_be_forged for fact in group.facts):
            doubt_forgeable(group)
        group.findings = each_once(group.findings)
        group.findings = in_order(group)
    return found


def _group_of(
    group_id: str,
    own: list[LoggedFact],
    printed: Sequence[LoggedFact],
    topics_ms: Sequence[tuple[int, str]],
    log_ends_ms: float | None,
) -> LoggedGroup:
    """One group's story. printed: of its lines those of brokers."""
    group_type = _type_of(printed) or _type_of(own) or "classic"
    clients = _by_client(own)
    causes = Causes(printed, log_ends_ms, partial(_changed_elsewhere, topics_ms, group_id))
    ledger = Ledger(printed, clients, causes, names_goers=group_type not in SILENT_BUMPS)
    histories = [own_history(facts) for facts in clients]
    rebalances = combined(ledger.rebalances, histories)
    walked = ledger if any(map(is_dated, printed)) else ClientLedger(group_type, histories, rebalances)
    group = LoggedGroup(group_id, group_type, own, rebalances, ledger=walked)
    of_clients = [one for facts in clients for one in client_findings(facts)]
    of_removed = [*returns(group), *(one for facts in clients for one in removal_findings(printed, facts))]
    between = findings_between(clients, group.rebalances) if clients else []
    group.findings = [*findings_of(group), *answered(of_clients, own), *of_removed, *between]
    if all(finding.finding != OWNERS for finding in group.findings):
        group.findings += assigned_last(own)
    return group


def _changed_elsewhere(topics_ms: Sequence[tuple[int, str]], group_id: str, at_ms: int) -> bool:
    first, end = bisect_left(topics_ms, (at_ms - AT_ONCE_MS,)), bisect_left(topics_ms, (at_ms + AT_ONCE_MS + 1,))
    return any(topics_ms[place][1] != group_id for place in range(first, end))


def _with_groups(facts: Sequence[LoggedFact]) -> Iterator[LoggedFact]:
    """Clients' lines that name no group have that of the client's other lines, or of brokers' lines about it.

    By a client id that all of a library's clients have, brokers' lines are about none.
    A leader's assignment that names no generation is of the one that it joined.
    """
    if all(fact.dialect == BROKER for fact in facts):
        yield from facts
        return
    groups = groups_of_removed(facts)
    own = ((printer_of(fact), fact.group_id) for fact in facts if fact.dialect != BROKER and fact.group_id)
    for client, named in _sets(own).items():
        groups.setdefault(client, set()).update(named)
    ids = ((client_id_of(fact.member_id), fact.group_id) for fact in facts if fact.dialect == BROKER and fact.group_id)
    of_brokers = _sets(each for each in ids if each[0] not in _SHIPPED_IDS)
    only = _only_clients(facts)
    joined: dict[tuple[str, ...], int | None] = {}
    for fact in facts:
        if fact.kind is FactKind.JOINED:
            joined[printer_of(fact)] = fact.generation_id
        elif fact.kind is FactKind.ASSIGNED_ALL and fact.generation_id is None:
            fact = fact._replace(generation_id=joined.get(printer_of(fact)))
        if fact.dialect == BROKER or fact.group_id:
            yield fact
            continue
        program = program_of(fact)
        named = groups.get((*program, fact.client_id or only.get(program, "")), set())
        named = named or of_brokers.get(configured_id(fact.client_id), set())
        if len(named) == 1:
            yield fact._replace(group_id=min(named))
        elif fact.kind not in (FactKind.CLIENT_STATE, FactKind.TOPIC_SEEN) or fact.member_id:
            yield fact._replace(group_id=f"({NOT_NAMED}; table {fact.table})" if fact.table else GROUP_NOT_NAMED)


def _sets(pairs: Iterable[tuple[_Key, str]]) -> dict[_Key, set[str]]:
    """By the first of each pair, all that stand second."""
    found: dict[_Key, set[str]] = {}
    for key, one in pairs:
        found.setdefault(key, set()).add(one)
    return found


def _by_group(facts: Iterable[LoggedFact]) -> dict[str, list[LoggedFact]]:
    """Each group's lines. A line that names no group belongs to the group that it can only mean."""
    found: dict[str, list[LoggedFact]] = {}
    group_of_instance: dict[tuple[int | None, str], str] = {}
    latest: dict[tuple[str, int | None], str] = {}
    every = [*facts]
    is_needed = any(one.kind is FactKind.MEMBER_FENCED for one in every)
    of_brokers = (one for one in every if is_needed and one.dialect == BROKER and one.group_id)
    named = _sets((each, one.group_id) for one in of_brokers for each in _ids_of(one))
    for fact in every:
        match fact.kind:
            case FactKind.GROUPS_DELETED:
                for group_id in fact.member_ids:
                    found.setdefault(group_id, []).append(fact._replace(group_id=group_id, member_ids=()))
                continue
            case FactKind.STATIC_JOIN_WITHOUT_REBALANCE:
                group_id = latest.get((fact.broker_id, fact.partition), "")
            case FactKind.MEMBER_FENCED if not fact.group_id:
                groups = {one for each in _ids_of(fact) for one in named.get(each, ())}
                only = min(groups) if len(groups) == 1 else ""
                group_id = group_of_instance.get((fact.partition, fact.instance_id), only)
            case kind if kind in _OF_A_PARTITION:
                continue
            case _:
                group_id = fact.group_id
        if not group_id:
            continue
        latest[fact.broker_id, fact.partition] = group_id
        if fact.instance_id:
            group_of_instance[fact.partition, fact.instance_id] = group_id
        found.setdefault(group_id, []).append(fact if fact.group_id == group_id else fact._replace(group_id=group_id))
    return found


def _ids_of(fact: LoggedFact) -> Iterable[str]:
    return filter(None, (fact.member_id, fact.other_member_id, fact.instance_id))


def _type_of(facts: Sequence[LoggedFact]) -> str:
    """The group's type by the latest line that shows one; empty: none does."""
    is_newer = False
    for fact in reversed(facts):
        shown = _type_by(fact)
        is_newer = is_newer or shown == _SOME_NEWER
        if shown not in ("", _SOME_NEWER):
            return "consumer" if is_newer and shown == "classic" else shown
    return "consumer" if is_newer else ""


def _type_by(fact: LoggedFact) -> str:
    """The type that a line shows; empty: none, or several fit."""
    if fact.kind is FactKind.GROUP_CONVERTED:
        return fact.to_state.lower()
    if fact.kind in (FactKind.REBALANCE_BEGAN, FactKind.JOIN_PHASE_ENDED, FactKind.JOINED):
        return "classic"
    if fact.kind is FactKind.TARGET_COMPUTED and OF_TASKS in fact.partitions:
        return "streams"
    is_newer = fact.kind in NEWER or fact.kind is FactKind.RECONCILING or fact.to_state in _OF_NEWER
    return fact.group_type or (_SOME_NEWER if is_newer else "")


def _by_client(facts: Sequence[LoggedFact]) -> list[list[LoggedFact]]:
    """The lines of each client: of one client id in one program. A program that starts anew is another client."""
    found: list[list[LoggedFact]] = []
    latest: dict[tuple[str, str, str], list[LoggedFact]] = {}
    only = _only_clients(facts)
    for fact in facts:
        if fact.dialect == BROKER:
            continue
        client = (fact.file, fact.source, fact.client_id or only.get(program_of(fact), ""))
        if client not in latest or fact.kind is FactKind.CLIENT_STARTED:
            latest[client] = []
            found.append(latest[client])
        latest[client].append(fact)
    return [facts for own in found for facts in _apart(own)]


def _only_clients(facts: Iterable[LoggedFact]) -> dict[tuple[str, str, str], str]:
    """The client id of each program whose lines name a single one: its lines that name none are this client's."""
    named = ((program_of(fact), fact.client_id) for fact in facts if fact.dialect != BROKER and fact.client_id)
    return {program: min(ids) for program, ids in _sets(named).items() if len(ids) == 1}


def _apart(facts: list[LoggedFact]) -> list[list[LoggedFact]]:
    """One client's lines as they are. With several clients, only each one's lines that name its member.

    A member id that a client has lost never returns: if ids take turns, several clients printed the lines.
    """
    turns = [fact.member_id for fact in facts if fact.kind in _NAMES_MEMBER and fact.member_id]
    ids = [member_id for place, member_id in enumerate(turns) if place == 0 or turns[place - 1] != member_id]
    if len(ids) == len({*ids}):
        return [facts]
    return [[fact for fact in facts if fact.member_id == member_id] for member_id in dict.fromkeys(ids)]


def each_once(findings: Iterable[Finding]) -> list[Finding]:
    """Return the findings; those that say the same are one, with how often it was found."""
    alike: dict[tuple[str, str], list[Finding]] = {}
    for one in findings:
        alike.setdefault((one.finding, one.sentence), []).append(one)
    return [own[0] if len(own) == 1 else _as_one(own) for own in alike.values()]


def _as_one(alike: Sequence[Finding]) -> Finding:
    facts = tuple({id(fact): fact for one in alike for fact in one.facts}.values())
    often = how_often_within([one.first for one in alike]).strip()
    is_inferred = any(one.is_inferred for one in alike)
    return alike[0]._replace(sentence=f"{often}: {alike[0].sentence}", facts=facts, is_inferred=is_inferred)


def in_order(group: LoggedGroup) -> list[Finding]:
    """Return a group's findings by the time of their first lines; lines without a time keep their place."""
    if len(group.findings) < 2:
        return group.findings
    places = _places(group.facts)
    return sorted(group.findings, key=lambda one: _found_at(one, places))


def course(group: LoggedGroup) -> Iterator[LoggedRebalance | Finding]:
    """Yield a group's rebalances in their order, each finding among them where its first line stands.

    A rebalance stands at the time that is printed for it, or by its lines.
    """
    places = _places(group.facts)
    rebalances, latest = [], (0, -1)
    for one in group.rebalances:
        at_ms = next((ms for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms) if ms is not None), None)
        by_lines = _place_of(one.facts, places)
        latest = max(latest, by_lines if at_ms is None or one.clock not in DATED else (at_ms, by_lines[1]))
        rebalances.append((latest, 0, one))
    findings = [(_found_at(one, places), 1, one) for one in group.findings]
    every: Iterable[tuple[_Place, int, LoggedRebalance | Finding]] = heapq.merge(
        rebalances, sorted(findings, key=lambda one: one[0]), key=lambda one: one[:2]
    )
    return (one for _, _, one in every)


def _places(facts: Sequence[LoggedFact]) -> dict[tuple[str, int], _Place]:
    """By file and line, the place of each fact: a line without a dated time has that of the one before."""
    found: dict[tuple[str, int], _Place] = {}
    latest_ms = 0
    for place, fact in enumerate(facts):
        if fact.at_ms is not None and fact.clock in DATED:
            latest_ms = fact.at_ms
        found.setdefault((fact.file, fact.line_number), (latest_ms, place))
    return found


def _place_of(facts: Iterable[LoggedFact], places: dict[tuple[str, int], _Place]) -> _Place:
    known = (places.get((fact.file, fact.line_number)) for fact in facts)
    return min(filter(None, known), default=(0, -1))


def _found_at(one: Finding, places: dict[tuple[str, int], _Place]) -> _Place:
    """Where a finding stands; what several groups have in common comes first."""
    return _place_of(() if one.group_ids else one.facts, places)
