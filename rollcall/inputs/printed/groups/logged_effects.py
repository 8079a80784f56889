"""A group's effects as lines show them, in the order of their moments, each with what it rests on.

Knows effects, lines and a group's ledger. Must not know what follows from a line, nor a table.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import NamedTuple

from rollcall.inputs.printed.lines.entries import reason_of
from rollcall.inputs.printed.logged_facts import BROKER, LoggedFact, is_dated
from rollcall.inputs.printed.logged_rebalances import GROUP_NOT_NAMED, LoggedGroup, LoggedRebalance
from rollcall.schemas.effects import Effect, GroupNotCovered
from rollcall.schemas.shown_effects import ShownEffect

Later = Callable[[], Effect | None]
"""Makes an effect that later lines may complete, once all are read. None: it is not a fact."""
Place = tuple[int, float]
"""A moment, ms since the epoch, and an order among the effects of one group."""

SILENT_BUMPS = ("share", "streams")
"""Types of groups in which a member that goes has no line, so that lines do not count the members."""
log = logging.getLogger("rollcall.lines")


class LoggedEffect(NamedTuple):
    place: Place
    content: Effect | Later
    of: LoggedRebalance | LoggedFact | None
    """What it rests on: all lines of a rebalance, or one line. None: clients' lines."""


def made(effects: Iterable[LoggedEffect]) -> list[ShownEffect]:
    """Return the effects themselves, once all lines are read."""
    contents = ((one.content() if callable(one.content) else one.content, one.of) for one in effects)
    return [ShownEffect(effect, _shown_by(effect, of)) for effect, of in contents if effect is not None]


def _shown_by(effect: Effect, of: LoggedRebalance | LoggedFact | None) -> str:
    """Return the line of an effect; of a rebalance, the first that was printed at that moment."""
    lines = of.facts if isinstance(of, LoggedRebalance) else [of] if of else []
    first = next((line for line in lines if line.at_ms == effect.at_ms), next(iter(lines), None))
    return place_of(first) if first else ""


def place_of(line: LoggedFact) -> str:
    """Return where a line stands, as the id of a request of a log has it."""
    return f"{line.file}:{line.line_number}"


@dataclass
class Written:
    """A group's effects so far, and the moment, the generation and the line of the next one."""

    at_ms: int = 0
    generation_id: int | None = None
    """None: not known."""
    line: LoggedFact | None = None
    _ordered: list[LoggedEffect] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """That of the next effect."""
        return self.at_ms, float(len(self._ordered))

    @property
    def is_doubtful(self) -> bool:
        """Whether a client's text may have written the line."""
        return self.line is not None and self.line.may_be_forged

    @property
    def effects(self) -> list[LoggedEffect]:
        """All of them, in order."""
        return sorted(self._ordered, key=attrgetter("place"))

    def emit(self, effect: Effect) -> None:
        """Add an effect at its own moment."""
        self._ordered.append(LoggedEffect((effect.at_ms, self.place[1]), effect, self.line))

    def emit_later(self, at_ms: int, effect: Later, of: LoggedRebalance) -> None:
        """Add an effect of a rebalance."""
        self._ordered.append(LoggedEffect((at_ms, self.place[1]), effect, of))

    def insert(self, place: Place, effect: Effect) -> None:
        """Add an effect before the one that came at a place."""
        self._ordered.append(LoggedEffect((place[0], place[1] - 0.5), effect, self.line))


def effects_of(group: LoggedGroup, *, is_ongoing: bool = False) -> list[Effect]:
    """Return only the effects of `shown_effects_of`."""
    return [one.effect for one in shown_effects_of(group, is_ongoing=is_ongoing)]


def shown_effects_of(group: LoggedGroup, *, is_ongoing: bool = False) -> list[ShownEffect]:
    """Return the group's effects, in order of time; none if its lines have no dates, or do not name it.

    They rest on the lines and the rebalances that the group has. is_ongoing: of a broker's log that grows, whose next
    line may be about what runs after the last one.
    """
    dated = sorted(filter(is_dated, group.facts), key=lambda fact: fact.dialect != BROKER)
    if not dated or group.group_id.startswith(GROUP_NOT_NAMED[:-1]):
        return []
    first = dated[0]
    if is_ongoing and first.dialect != BROKER:
        return []
    try:
        if group.ledger is None:
            log.error("group %a: its lines could not be followed", group.group_id)
            return []
        if group.group_type in SILENT_BUMPS:
            return [ShownEffect(GroupNotCovered(at_ms=first.at_ms or 0, why=group.group_type), place_of(first))]
        rests_on = {*map(id, group.facts), *map(id, group.rebalances)}
        return group.ledger.effects(rests_on, is_ongoing=is_ongoing)
    except Exception as error:
        # Lines are input: whatever one group's make a rule raise, the others have their effects.
        log.error("group %a: its lines could not be followed: %s", group.group_id, reason_of(error))
        return []
