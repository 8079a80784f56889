"""What it proves that a line is not there: something only where the log could have held it.

A logger that prints only warnings has no line of a join, whatever its client did. So each line of a client keeps the
lowest level that its log has shown by then, or shows soon after, and whoever infers from an absence asks here. A
library that has no words for a kind of line never shows it. Knows at which levels dialects print. Must not know what a
line means.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.lines.entries import Level
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact, between_ms, printer_of
from rollcall.inputs.tolerances import LEVEL_SHOWN_WITHIN_MS

_LEVELS = {
    (dialect.name, template.kind): dialect.level_of(template.kind)
    for dialect in DIALECTS
    for template in dialect.templates.all
}


def with_shown_levels(facts: Iterable[LoggedFact]) -> list[LoggedFact]:
    """Return the facts, each with the lowest level that its client's log has shown by then."""
    facts = [*facts]
    if len({fact.level for fact in facts}) < 2:
        return facts
    found: list[LoggedFact] = []
    before: dict[tuple[str, ...], Level] = {}
    for fact in facts:
        client = printer_of(fact)
        before[client] = min(fact.level, before.get(client, fact.level))
        found.append(_at_level(fact, before[client]))
    after: dict[tuple[str, ...], LoggedFact] = {}
    for place in range(len(found) - 1, -1, -1):
        fact = found[place]
        shown = after.setdefault(printer_of(fact), fact)
        if fact.level <= shown.level:
            after[printer_of(fact)] = fact
        elif (between_ms(fact, shown) or 0) <= LEVEL_SHOWN_WITHIN_MS:
            found[place] = _at_level(fact, shown.level)
    return found


def _at_level(fact: LoggedFact, level: Level) -> LoggedFact:
    return fact if fact.level is level else fact._replace(level=level)


def could_stand(at: LoggedFact, *kinds: FactKind) -> bool:
    """Return whether a line of one of some kinds, had it been printed, would stand in the log of a line by then."""
    needed = (_LEVELS.get((at.dialect, kind)) for kind in kinds)
    return any(level is not None and at.level <= level for level in needed)
