"""A group's lines as those of each client. Where one file has several and names none, the members tell them apart.

Knows facts in order. Must not know how lines are worded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact, program_of

_NAMES_MEMBER = (FactKind.JOINED, FactKind.MEMBER_PROGRESSED)


def by_client(facts: Sequence[LoggedFact]) -> list[list[LoggedFact]]:
    """The lines of each client: of one client id in one program. A program that starts anew is another client."""
    found: list[list[LoggedFact]] = []
    latest: dict[tuple[str, str, str], list[LoggedFact]] = {}
    only = only_clients(facts)
    for fact in facts:
        if fact.dialect == BROKER:
            continue
        client = (fact.file, fact.source, fact.client_id or only.get(program_of(fact), ""))
        if client not in latest or fact.kind is FactKind.CLIENT_STARTED:
            latest[client] = []
            found.append(latest[client])
        latest[client].append(fact)
    return [facts for own in found for facts in _apart(own)]


def only_clients(facts: Iterable[LoggedFact]) -> dict[tuple[str, str, str], str]:
    """The client id of each program whose lines name a single one: its lines that name none are this client's."""
    named: dict[tuple[str, str, str], set[str]] = {}
    for fact in facts:
        if fact.dialect != BROKER and fact.client_id:
            named.setdefault(program_of(fact), set()).add(fact.client_id)
    return {program: min(ids) for program, ids in named.items() if len(ids) == 1}


def _apart(facts: list[LoggedFact]) -> list[list[LoggedFact]]:
    """One client's lines as they are. Of several clients, each one's lines that name its member, and no others.

    A member id that a client has lost never returns: if ids take turns, several clients printed the lines.
    """
    turns = [fact.member_id for fact in facts if fact.kind in _NAMES_MEMBER and fact.member_id]
    ids = [member_id for place, member_id in enumerate(turns) if place == 0 or turns[place - 1] != member_id]
    if len(ids) == len({*ids}):
        return [facts]
    return [[fact for fact in facts if fact.member_id == member_id] for member_id in dict.fromkeys(ids)]
