"""Follows a growing log, or a topic, on a home for ever: each fact once, however the program ends.

A source makes facts of its items, which are lines or records. Each commit of facts carries a number, and the state
under that number says how far the input was read by then (`NumberedState`). Knows when facts are committed. Must not
know what an item says.
"""

from __future__ import annotations

import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from rollcall.inputs.following.numbered_state import NumberedState
from rollcall.inputs.quarantined import append_lines_once
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.programs.errors import UserError
from rollcall.tables.appending import OpenTable
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter

ITEMS_AT_ONCE = 2_000
ROWS_A_COMMIT = 20_000
COMMIT_EVERY_S = 0.5
PAUSE_S = 1.0
"""A log without new lines for this long has written its last one to the end."""
_KEEP_EVERY_S = 30.0
"""How often the place in the input is kept while nothing is due."""
Item = TypeVar("Item")
"""What is read: a line or a record."""
Place = TypeVar("Place")
"""How far an input was read."""
_Item_co = TypeVar("_Item_co", covariant=True)
_Place_co = TypeVar("_Place_co", covariant=True)


class Known(NamedTuple):
    """All facts before this time are known, ms since the epoch."""

    by_group: Mapping[str, int]
    all_others_ms: int

    def of(self, group_id: str) -> int:
        return self.by_group.get(group_id, self.all_others_ms)


class Beside(Protocol):
    """Work in a thread of its own while a job runs."""

    def start(self) -> None: ...
    def stop(self) -> None: ...


class Failure(NamedTuple):
    """Why an input can no longer be followed."""

    reason: str
    whole_story: str
    """The traceback."""


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

    def take_due(self) -> pa.Table:
        """The rows of the facts that are due, each once. A commit of them follows, and `settle`."""

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
        return len(items) == ITEMS_AT_ONCE

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
        append_lines_once(quarantine, self.unfit, self.app_id)
        self.unfit.clear()


class Following:
    """Follows it on a home that is locked and checked. status: gets each commit. clock: seconds. beside: what works
    beside it, with the upkeep of the tables.
    """

    def __init__(
        self,
        home: Home,
        source: Followed,
        config: JobConfig,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
        beside: Sequence[Beside] = (),
    ) -> None:
        self.source, self._status, self._clock = source, status, clock
        self._states = NumberedState[Any](
            home.path / source.folder,
            open_effects(home, config),
            source.app_id,
            commit_every_s=config.trigger_interval_ms / 1000 or COMMIT_EVERY_S,
            clock=clock,
        )
        self._quarantine = open_quarantine(home, config)
        self.beside: list[Beside] = [*beside, Upkeep(home, config, lambda: 0)]
        self.failure: Failure | None = None
        status.running(str(uuid4()), int(time.time() * 1000))
        source.settle(self._states.number)
        self.finish()

    def step(self) -> bool:
        """One look at the input; returns whether more may be there."""
        try:
            has_more = self.source.step()
        except InputLost as error:
            self.failure = Failure(str(error), traceback.format_exc())
            return False
        if self._states.may_commit or self.source.due_rows >= ROWS_A_COMMIT:
            self.commit()
        if self._clock() - self._states.kept_at > _KEEP_EVERY_S and not self._has_due:
            self._keep()
        return has_more

    def commit(self) -> None:
        """Appends what is due, with the place in the input behind it."""
        if not self._has_due:
            return
        unfit = self.source.unfit_rows
        self.source.set_aside(self._quarantine)
        rows = self.source.take_due()
        self._states.commit(self.source.state(), rows)
        self.source.settle(self._states.number)
        self._status.batch_done(self._states.number, rows.num_rows, unfit)

    def finish(self) -> None:
        """Commits what is due by now."""
        self.commit()
        self._keep()

    @property
    def _has_due(self) -> bool:
        return bool(self.source.due_rows or self.source.unfit_rows)

    def _keep(self) -> None:
        self._states.keep(self.source.state())
