"""Every view, once, in the order of the documentation, and what each reads from.

Knows the views, and what their SQL reads from. Must not know where their tables are.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from functools import cache

from rollcall.answers.views.assignments import ASSIGNMENTS
from rollcall.answers.views.deploys import DEPLOYS
from rollcall.answers.views.double_owners import DOUBLE_OWNERS
from rollcall.answers.views.falling_behind import FALLING_BEHIND
from rollcall.answers.views.flapping_members import FLAPPING_MEMBERS
from rollcall.answers.views.group_configs import GROUP_CONFIGS
from rollcall.answers.views.groups import GROUPS
from rollcall.answers.views.heartbeat_slack import HEARTBEAT_SLACK
from rollcall.answers.views.held_not_moving import HELD_NOT_MOVING
from rollcall.answers.views.join_waits import JOIN_WAITS
from rollcall.answers.views.lag import LAG
from rollcall.answers.views.lag_history import LAG_HISTORY
from rollcall.answers.views.leader_only_loops import LEADER_ONLY_LOOPS
from rollcall.answers.views.members import MEMBERS
from rollcall.answers.views.members_removed import MEMBERS_REMOVED
from rollcall.answers.views.near_misses import NEAR_MISSES
from rollcall.answers.views.offsets import OFFSETS
from rollcall.answers.views.partition_lag import PARTITION_LAG
from rollcall.answers.views.rebalance_costs import REBALANCE_COSTS
from rollcall.answers.views.rebalance_goes_on import REBALANCE_GOES_ON
from rollcall.answers.views.rebalances import REBALANCES
from rollcall.answers.views.records_lost import RECORDS_LOST
from rollcall.answers.views.replies import REPLIES
from rollcall.answers.views.sessions import SESSIONS
from rollcall.answers.views.standstills import STANDSTILLS
from rollcall.answers.views.storms import STORMS
from rollcall.answers.views.unconsumed import UNCONSUMED
from rollcall.answers.views.view import View
from rollcall.answers.views.went_empty import WENT_EMPTY
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import TABLES

VIEWS: tuple[View, ...] = (
    GROUPS,
    MEMBERS,
    REBALANCES,
    JOIN_WAITS,
    ASSIGNMENTS,
    SESSIONS,
    HEARTBEAT_SLACK,
    OFFSETS,
    GROUP_CONFIGS,
    LAG,
    LAG_HISTORY,
    PARTITION_LAG,
    REBALANCE_COSTS,
    REPLIES,
    STANDSTILLS,
    STORMS,
    FLAPPING_MEMBERS,
    LEADER_ONLY_LOOPS,
    NEAR_MISSES,
    MEMBERS_REMOVED,
    WENT_EMPTY,
    REBALANCE_GOES_ON,
    DEPLOYS,
    DOUBLE_OWNERS,
    FALLING_BEHIND,
    HELD_NOT_MOVING,
    RECORDS_LOST,
    UNCONSUMED,
)
"""The one list of views, in the order of the documentation; a new view is added here."""


_NAMED = re.compile(r"\b(?:FROM|JOIN)\s+(\w+)")
_OWN = re.compile(r"\b(\w+) AS \(")
"""A table of a WITH."""
_TEXT = re.compile(r"'(\w+)'")


@cache
def reads_from(view: View) -> frozenset[str]:
    """The tables and views that a view's SQL names, which is searched, as it takes long to parse."""
    return frozenset(_NAMED.findall(view.sql)).difference(_OWN.findall(view.sql))


NAMES = (*(table.name for table in TABLES), *(view.name for view in VIEWS))
"""Everything that a query may name."""


DETECTORS: dict[str, View] = {view.name: view for view in VIEWS if view.detector is not None}
"""The views that look for trouble, by name, in the order of the documentation."""


JOINED_AS_WRITTEN = {view.name for view in VIEWS if view.is_joined_as_written}


def facts_read(view: View) -> set[str]:
    """The kinds of effects that a view's SQL names, including those of the views that it reads from."""
    below = (facts_read(one) for one in VIEWS if one is not view and one.name in reads_from(view))
    return set(EffectName).intersection(_TEXT.findall(view.sql)).union(*below)


def does_with_recent_commits(names: Collection[str]) -> bool:
    """Whether of all commits those that `rollcall.tables.recent_commits` keeps suffice for all that a query names."""
    reading = [view for view in views_of(names) if EffectName.OFFSETS_COMMITTED in facts_read(view)]
    return bool(reading) and "effects" not in names and all(view.does_with_recent_commits for view in reading)


def names_in(query: str) -> set[str]:
    """The views and tables whose names occur in a query other than as a function's."""
    return set(re.findall(r"\b\w+\b(?!\s*\()", query.lower())) & set(NAMES)


def with_foundations(names: Iterable[str], views: Iterable[View] = VIEWS) -> tuple[str, ...]:
    """The names, each after those of the views and tables that its SQL reads from.

    Raises ValueError: views that read from each other.
    """
    known = {view.name: view for view in views}
    found, under_way = dict[str, None](), dict[str, None]()

    def take(name: str) -> None:
        if name in found:
            return
        if name in under_way:
            raise ValueError(f"views that read from each other: {', '.join(sorted(under_way))}")
        under_way[name] = None
        if name in known:
            for below in sorted(reads_from(known[name])):
                take(below)
        found[name] = under_way.pop(name)

    for name in names:
        take(name)
    return tuple(found)


def views_of(names: Iterable[str]) -> list[View]:
    """The views of these names and those that they read from, each after those."""
    known = {view.name: view for view in VIEWS}
    return [known[name] for name in with_foundations(names) if name in known]
