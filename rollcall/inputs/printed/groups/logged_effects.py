"""A group's effects as lines show them, in the order of their moments.

Knows effects and lines. Must not know what follows from a line.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from operator import itemgetter

from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.schemas.effects import Effect

Place = tuple[int, float]
"""A moment, ms since the epoch, and an order among the effects of one group."""


@dataclass
class Written:
    """A group's effects so far, and the moment, the generation and the line of the next one."""

    at_ms: int = 0
    generation_id: int | None = None
    """None: not known."""
    line: LoggedFact | None = None
    _ordered: list[tuple[Place, Effect]] = field(default_factory=list)

    @property
    def place(self) -> Place:
        """That of the next effect."""
        return self.at_ms, float(len(self._ordered))

    @property
    def is_doubtful(self) -> bool:
        """Whether a client's text may have written the line."""
        return self.line is not None and self.line.may_be_forged

    @property
    def effects(self) -> list[Effect]:
        """All of them, in order."""
        return [effect for _, effect in sorted(self._ordered, key=itemgetter(0))]

    def emit(self, effect: Effect) -> None:
        """Add an effect at its own moment."""
        self._ordered.append(((effect.at_ms, self.place[1]), effect))

    def insert(self, place: Place, effect: Effect) -> None:
        """Add an effect before the one that came at a place."""
        self._ordered.append(((place[0], place[1] - 0.5), effect))
