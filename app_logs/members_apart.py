"""Lines of one file that are several clients' and name none: told apart by the members that they name.

Knows facts in order. Must not know how lines are worded.
"""

from __future__ import annotations

from app_logs.logged_facts import FactKind, LoggedFact

_NAMES_MEMBER = (FactKind.JOINED, FactKind.MEMBER_PROGRESSED)


def apart(facts: list[LoggedFact]) -> list[list[LoggedFact]]:
    """One client's lines as they are. Of several clients, each one's lines that name its member, and no others.

    A member id that a client has lost never returns: if ids take turns, several clients printed the lines.
    """
    turns = [fact.member_id for fact in facts if fact.kind in _NAMES_MEMBER and fact.member_id]
    ids = [member_id for place, member_id in enumerate(turns) if place == 0 or turns[place - 1] != member_id]
    if len(ids) == len({*ids}):
        return [facts]
    return [[fact for fact in facts if fact.member_id == member_id] for member_id in dict.fromkeys(ids)]
