"""What makes facts of a growing input, one or two, for a program that commits them.

Must not know what an item says, nor when facts are committed.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, Protocol, TypeVar

from rollcall.inputs.following.merging_feed import Known
from rollcall.inputs.quarantined import quarantine_of_lines
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.programs.errors import UserError
from rollcall.schemas.effect_rows import EffectRow
from rollcall.tables.appending import OpenTable, append_once

ITEMS_AT_ONCE = 2_000
PAUSE_S = 1.0
"""A log without new lines for this long has written its last one to the end."""
Item = TypeVar("Item")
"""What is read: a line or a record."""
Place = TypeVar("Place")
"""How far an input was read."""
_Item_co = TypeVar("_Item_co", covariant=True)
_Place_co = TypeVar("_Place_co", covariant=True)


class InputLost(UserError):
    """An input cannot be followed any further; the text says why."""


class Tail(Protocol[_Item_co, _Place_co]):
    """Where items come from."""

    @property
    def position(self) -> _Place_co: ...

    def poll(self, at_most: int, /) -> Sequence[_Item_co]:
        """Raises InputLost."""

    def close(self) -> None: ...


class Followed(Protocol):
    """What is followed: one input or both."""

    folder: str
    """Where states are kept in the home."""
    app_id: str
    """The key of the number in a commit."""

    @property
    def shown(self) -> str:
        """Its name for the user."""

    @property
    def counts(self) -> str:
        """What was read, in a line."""

    @property
    def not_known(self) -> tuple[str, ...]:
        """What is not shown, in sentences."""

    @property
    def due_rows(self) -> int:
        """How many rows wait to be committed."""

    @property
    def unfit_rows(self) -> int:
        """How many items were not understood, and are not yet in quarantine."""

    def step(self) -> bool:
        """One look at it; returns whether there may be more to read. Raises InputLost."""

    def set_aside(self, quarantine: OpenTable) -> None:
        """Puts what was not understood into quarantine, now or with what `settle` writes."""

    def take_due(self) -> list[EffectRow]:
        """The facts that are due, each once. A commit of them follows, and `settle`."""

    def state(self) -> Any:
        """The state behind the facts that were taken."""

    def settle(self, number: int) -> None:
        """Writes what belongs to the commit of facts with this number, if it is not there yet."""

    def closing_lines(self) -> Iterable[str]:
        """Sentences for a successful end."""


class Part(Followed, Protocol):
    """One of both."""

    def known(self, hold_ms: int, now_ms: float) -> Known:
        """Up to which time the facts of each group are known, those that are due among them.

        hold_ms: how long after its time an item may be written, and how long a silent log is waited for. now_ms: the
        time of this machine, which counts while the log is silent.
        """


class Source(ABC, Generic[Item, Place]):
    """Makes facts of one input's items; it is a `Followed`. tail: where they come from. clock: seconds."""

    def __init__(self, tail: Tail[Item, Place], clock: Callable[[], float]) -> None:
        self._tail, self._clock = tail, clock
        self._grown_at = clock()

    @abstractmethod
    def read(self, items: Sequence[Item], *, is_pause: bool) -> None:
        """Takes new items. is_pause: nothing was written for a while."""

    @abstractmethod
    def look(self) -> None:
        """Finds what is due."""

    def step(self) -> bool:
        items = self._tail.poll(ITEMS_AT_ONCE)
        now = self._clock()
        if items:
            self._grown_at = now
        self.read(items, is_pause=now - self._grown_at >= PAUSE_S)
        self.look()
        # A client of Kafka gives what it has fetched by now, so a look that is not full says nothing.
        return bool(items)

    def closing_lines(self) -> Iterable[str]:
        return ()

    def close(self) -> None:
        self._tail.close()

    @property
    def silent_ms(self) -> float:
        """How long the input has not grown."""
        return (self._clock() - self._grown_at) * 1000


class LogSource(Source[LogLine, Position]):
    """A log. Lines that were not understood are numbered, so each comes into quarantine once."""

    app_id: str

    def __init__(self, tail: Tail[LogLine, Position], clock: Callable[[], float]) -> None:
        super().__init__(tail, clock)
        self.unfit: list[Quarantined] = []

    @property
    def unfit_rows(self) -> int:
        return len(self.unfit)

    def set_aside(self, quarantine: OpenTable) -> None:
        """Appends the lines, except those that the table already has from before a crash."""
        done = quarantine.transaction_version(self.app_id) or 0
        left = [line for line in self.unfit if line.line > done]
        if left:
            last = max(line.line for line in left)
            append_once(quarantine, quarantine_of_lines(left), self.app_id, last, has_upkeep=True)
        self.unfit.clear()
