"""A group's facts of one stretch of time, with the earlier facts that say how things were when it began.

Knows which facts stay true after their moment. Must not know what is drawn of them.
"""

from __future__ import annotations

from dataclasses import dataclass

from schemas.membership_messages import LONGEST_RUN_MS
from why.explanation import LONGEST_SESSION_MS, Read
from why.facts import DEEDS, HOLDINGS, MEMBERSHIPS, REBALANCES, Fact, facts_of, in_order
from why.members import Membership, Names, memberships_of
from why.rebalances import Rebalance, rebalances_of


@dataclass(frozen=True)
class Stretch:
    """A stretch of a group's time."""

    group_id: str
    from_ms: int
    to_ms: int
    facts: list[Fact]
    """In order, with the earlier ones that were still true in it."""
    memberships: list[Membership]
    rebalances: list[Rebalance]
    names: Names

    @property
    def lanes(self) -> list[str]:
        """The names of all members, in the order in which they joined."""
        return list(dict.fromkeys(self.names.of(one.member_id) for one in self.memberships))


class NothingToShow(Exception):
    """The group has no fact in that stretch; the text is the sentence to show."""


def stretch_of(group_id: str, read: Read, from_ms: int, to_ms: int) -> Stretch:
    """Reads a stretch. Raises NothingToShow: there was no member in it."""
    lasting = facts_of(read((*REBALANCES, *MEMBERSHIPS), 0, to_ms))
    memberships = [one for one in memberships_of(lasting) if one.is_member_in(from_ms, to_ms)]
    if not memberships:
        raise NothingToShow(f"GROUP={group_id}: had no members then.")
    rebalances = rebalances_of(lasting)
    settled = [one.started_at_ms for one in rebalances if one.outcome == "completed" and one.started_at_ms < from_ms]
    since_ms = max(settled, default=0)
    deeds_from_ms = max(from_ms - LONGEST_SESSION_MS, 0)
    rows = [
        *read(HOLDINGS, since_ms, deeds_from_ms - 1),
        *read((*DEEDS, *HOLDINGS), deeds_from_ms, to_ms + LONGEST_RUN_MS),
    ]
    facts = sorted([*lasting, *facts_of(rows)], key=in_order)
    facts = [fact for fact in facts if fact.at_ms <= to_ms]
    shown = [one for one in rebalances if one.ended_at_ms is None or one.ended_at_ms >= from_ms]
    return Stretch(group_id, from_ms, to_ms, facts, memberships, shown, Names(memberships))
