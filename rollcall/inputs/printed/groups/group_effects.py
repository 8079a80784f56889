"""A group's lines as the effects of its coordinator, as far as the lines prove them: the facts of a home.

Knows one group and its ledger. Must not know how lines are worded, nor a table.
"""

from __future__ import annotations

import logging

from rollcall.inputs.printed.groups.logged_effects import place_of
from rollcall.inputs.printed.groups.standing import SILENT_BUMPS
from rollcall.inputs.printed.lines.entries import reason_of
from rollcall.inputs.printed.logged_facts import BROKER, is_dated
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, LoggedGroup
from rollcall.schemas.effects import Effect, GroupNotCovered
from rollcall.schemas.shown_effects import ShownEffect

log = logging.getLogger("rollcall.lines")


def effects_of(group: LoggedGroup, *, goes_on: bool = False) -> list[Effect]:
    """Return only the effects of `shown_effects_of`."""
    return [one.effect for one in shown_effects_of(group, goes_on=goes_on)]


def shown_effects_of(group: LoggedGroup, *, goes_on: bool = False) -> list[ShownEffect]:
    """Return the group's effects, in order of time; none if its lines have no dates, or do not name it.

    They rest on the lines and the rebalances that the group has. goes_on: of a broker's log that grows, whose next line
    may be about what runs after the last one.
    """
    dated = sorted(filter(is_dated, group.facts), key=lambda fact: fact.dialect != BROKER)
    if not dated or group.group_id.startswith(GROUP_NOT_NAMED[:-1]):
        return []
    first = dated[0]
    if goes_on and first.dialect != BROKER:
        return []
    try:
        if group.ledger is None:
            log.error("group %a: its lines could not be followed", group.group_id)
            return []
        if group.group_type in SILENT_BUMPS:
            return [ShownEffect(GroupNotCovered(at_ms=first.at_ms or 0, why=group.group_type), place_of(first))]
        rests_on = {*map(id, group.facts), *map(id, group.rebalances)}
        return group.ledger.effects(rests_on, goes_on=goes_on)
    except Exception as error:
        # Lines are input: whatever one group's make a rule raise, the others have their effects.
        log.error("group %a: its lines could not be followed: %s", group.group_id, reason_of(error))
        return []
