"""Follows a growing log, or a topic, on a home for ever: each fact once, however the program ends.

A source makes facts of its items, which are lines or records. Each commit of facts carries a number, and the state
under that number says how far the input was read by then (`NumberedState`). Knows when facts are committed. Must not
know what an item says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, Protocol, TypeVar
from uuid import uuid4

import pyarrow as pa

from rollcall.inputs.following.numbered_state import NumberedState
from rollcall.inputs.quarantined import append_lines_once
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.jobs.config import JobConfig
from rollcall.jobs.shadow.program import Beside, Failure
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.jobs.stream.upkeep import Upkeep
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
_Item_contra = TypeVar("_Item_contra", contravariant=True)
_Place_contra = TypeVar("_Place_contra", contravariant=True)


class Known(NamedTuple):
    """All facts before this time are known, ms since the epoch."""

    by_group: Mapping[str, int]
    all_others_ms: int

    def of(self, group_id: str) -> int:
        return self.by_group.get(group_id, self.all_others_ms)


class Tail(Protocol[_Item_co, _Place_co]):
    """Where items come from."""

    @property
    def position(self) -> _Place_co: ...

    def poll(self, at_most: int, /) -> Sequence[_Item_co]: ...

    def close(self) -> None: ...


class Source(Protocol[_Item_contra, _Place_contra]):
    """Makes facts of one input's items."""

    folder: str
    """Where states are kept in the home."""
    app_id: str
    """The key of the number in a commit."""
    not_known: tuple[str, ...]
    """What the input does not show, in sentences."""

    @property
    def shown(self) -> str: ...

    @property
    def counts(self) -> str: ...

    @property
    def due_rows(self) -> int:
        """How many rows wait to be committed."""

    @property
    def unfit_rows(self) -> int:
        """How many items were not understood, and are not yet in quarantine."""

    def read(self, items: Sequence[_Item_contra], *, is_pause: bool) -> None:
        """Takes new items. is_pause: nothing was written for a while."""

    def look(self, silent_ms: float) -> None:
        """Finds what is due. silent_ms: how long the input has not grown."""

    def set_aside(self, quarantine: OpenTable) -> None:
        """Puts what was not understood into quarantine, now or with what `settle` writes."""

    def take_due(self) -> pa.Table:
        """The rows of the facts that are due, each once."""

    def state(self, position: _Place_contra) -> Any:
        """The state behind the facts that were taken. position: how far the input was read."""

    def settle(self, number: int) -> None:
        """Writes what belongs to the commit of facts with this number, if it is not there yet."""

    def known(self, hold_ms: int, now_ms: float, silent_ms: float) -> Known:
        """See Following. silent_ms: how long the input has not grown."""

    def closing_lines(self) -> Iterable[str]: ...


class UnfitLines:
    """Lines that were not understood, and are not yet in quarantine. They are numbered, so each comes there once."""

    app_id: str

    def __init__(self) -> None:
        self.unfit: list[Quarantined] = []

    @property
    def unfit_rows(self) -> int:
        return len(self.unfit)

    def set_aside(self, quarantine: OpenTable) -> None:
        append_lines_once(quarantine, self.unfit, self.app_id)
        self.unfit.clear()


class Following(Generic[Item, Place]):
    """Follows an input on a home that is locked and checked. status: gets each commit. clock: seconds."""

    def __init__(
        self,
        home: Home,
        source: Source[Item, Place],
        tail: Tail[Item, Place],
        config: JobConfig,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._tail, self._status, self._clock = source, tail, status, clock
        self._states = NumberedState[Any](
            home.path / source.folder,
            open_effects(home, config),
            source.app_id,
            commit_every_s=config.trigger_interval_ms / 1000 or COMMIT_EVERY_S,
            clock=clock,
        )
        self._quarantine = open_quarantine(home, config)
        self._upkeep = Upkeep(home, config, lambda: 0)
        self._grown_at = clock()
        source.settle(self._states.number)
        self._keep()
        status.running(str(uuid4()), int(time.time() * 1000))

    @property
    def shown(self) -> str:
        return self._source.shown

    @property
    def counts(self) -> str:
        return self._source.counts

    def goes_on(self) -> bool:
        return True

    def not_known(self) -> tuple[str, ...]:
        return self._source.not_known

    def upkeeps(self) -> list[Beside]:
        return [self._upkeep]

    def step(self) -> bool:
        """One look at the input; returns whether more may be there."""
        items = self._tail.poll(ITEMS_AT_ONCE)
        now = self._clock()
        if items:
            self._grown_at = now
        self._source.read(items, is_pause=now - self._grown_at >= PAUSE_S)
        self._source.look(self._silent_ms())
        if self._states.may_commit or self._source.due_rows >= ROWS_A_COMMIT:
            self.commit()
        if now - self._states.kept_at > _KEEP_EVERY_S and not self._has_due:
            self._keep()
        return len(items) == ITEMS_AT_ONCE

    def known(self, hold_ms: int, now_ms: float) -> Known:
        """Up to which time the facts of each group are in the home; commits what is due first.

        hold_ms: how long after its time a line may be written, and how long a silent log is waited for. now_ms: the
        time of this machine, which counts while the log is silent.
        """
        self.commit()
        return self._source.known(hold_ms, now_ms, self._silent_ms())

    def commit(self) -> None:
        """Appends what is due, with the place in the input behind it."""
        if not self._has_due:
            return
        unfit = self._source.unfit_rows
        self._source.set_aside(self._quarantine)
        rows = self._source.take_due()
        self._states.commit(self._source.state(self._tail.position), rows)
        self._source.settle(self._states.number)
        self._status.batch_done(self._states.number, rows.num_rows, unfit)

    def finish(self, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Commits what is due by now."""
        self.commit()
        self._keep()

    def failure(self) -> Failure | None:
        return None

    def closing_lines(self) -> Iterable[str]:
        return self._source.closing_lines()

    def _silent_ms(self) -> float:
        """How long the input has not grown."""
        return (self._clock() - self._grown_at) * 1000

    @property
    def _has_due(self) -> bool:
        return bool(self._source.due_rows or self._source.unfit_rows)

    def _keep(self) -> None:
        self._states.keep(self._source.state(self._tail.position))
