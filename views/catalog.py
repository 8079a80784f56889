"""Every view, once: in the order in which people read of them, and in the order in which they are registered.

Knows the views, and which of them another one's SQL reads from. Must not know where their tables are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from schemas.effect_names import EffectName
from views.assignments import ASSIGNMENTS
from views.deploys import DEPLOYS
from views.double_owners import DOUBLE_OWNERS
from views.flapping_members import FLAPPING_MEMBERS
from views.groups import GROUPS
from views.heartbeat_slack import HEARTBEAT_SLACK
from views.join_waits import JOIN_WAITS
from views.leader_only_loops import LEADER_ONLY_LOOPS
from views.members import MEMBERS
from views.near_misses import NEAR_MISSES
from views.offsets import OFFSETS
from views.rebalances import REBALANCES
from views.replies import REPLIES
from views.sessions import SESSIONS
from views.standstills import STANDSTILLS
from views.storms import STORMS
from views.tables import TABLE_VIEWS
from views.view import View

LISTED: tuple[View, ...] = (
    GROUPS,
    MEMBERS,
    REBALANCES,
    JOIN_WAITS,
    ASSIGNMENTS,
    SESSIONS,
    HEARTBEAT_SLACK,
    OFFSETS,
    REPLIES,
    STANDSTILLS,
    STORMS,
    FLAPPING_MEMBERS,
    LEADER_ONLY_LOOPS,
    NEAR_MISSES,
    DEPLOYS,
    DOUBLE_OWNERS,
)
"""The one list of views, in the order in which people read of them; a new view is added here."""


def foundations_first(views: Iterable[View]) -> tuple[View, ...]:
    """The views in an order in which each comes after those that its SQL reads from."""
    left, ordered = list(views), list[View]()
    while left:
        names = {view.name for view in left}
        free = [view for view in left if not (_reads_from(view) & (names - {view.name}))]
        if not free:
            raise ValueError(f"views that read from each other: {', '.join(sorted(names))}")
        ordered += free
        left = [view for view in left if view not in free]
    return tuple(ordered)


def _reads_from(view: View) -> set[str]:
    return set(re.findall(r"\b(?:FROM|JOIN)\s+(\w+)", view.sql))


VIEWS = foundations_first(LISTED)
"""Every view, in the order in which they are registered."""

NAMES = (*(table.name for table in TABLE_VIEWS), *(view.name for view in VIEWS))
"""Everything that a query may name."""


DETECTORS: dict[str, View] = {view.name: view for view in LISTED if view.detector is not None}
"""The views that look for trouble, by name, in the order in which people read of them."""


def facts_read(view: View) -> set[str]:
    """The kinds of effects that a view's SQL names, those of the views that it stands on included."""
    below = (facts_read(one) for one in LISTED if one is not view and one.name in _reads_from(view))
    return (set(re.findall(r"'(\w+)'", view.sql)) & set(EffectName)).union(*below)


def names_in(query: str) -> set[str]:
    """The views and tables that a query names."""
    return set(re.findall(r"\w+", query.lower())) & set(NAMES)


def with_foundations(names: Collection[str]) -> set[str]:
    """The names and those of every view and table that their SQL stands on."""
    found = {name for name in NAMES if name in names}
    for view in reversed(VIEWS):
        if view.name in found:
            found |= names_in(view.sql)
    return found
