"""Follows a growing log on a home for ever: each fact once, however the program ends.

A source makes facts of the lines. Each commit of facts carries a number, and the state under that number says how far
the log was read by then (`NumberedState`). Knows when facts are committed. Must not know what a line says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, Protocol
from uuid import uuid4

from rollcall.inputs.following.numbered_state import NumberedState
from rollcall.inputs.quarantined import append_lines_once
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.recorded import Quarantined
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.home_tables import open_effects, open_quarantine
from rollcall.jobs.stream.upkeep import Upkeep
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.rows import typed_rows

LINES_AT_ONCE = 2_000
ROWS_A_COMMIT = 20_000
COMMIT_EVERY_S = 0.5
PAUSE_S = 1.0
"""A log without new lines for this long has written its last one to the end."""
_KEEP_EVERY_S = 30.0
"""How often the place in the log is kept while nothing is due."""


class Known(NamedTuple):
    """All facts before this time are known, ms since the epoch."""

    by_group: Mapping[str, int]
    all_others_ms: int

    def of(self, group_id: str) -> int:
        return self.by_group.get(group_id, self.all_others_ms)


class Tail(Protocol):
    """Where lines come from."""

    @property
    def position(self) -> Position: ...

    def poll(self, lines_at_most: int) -> list[LogLine]: ...

    def close(self) -> None: ...


class Source(Protocol):
    """Makes facts of one log's lines."""

    folder: str
    """Where states are kept in the home."""
    app_id: str
    """The key of the number in a commit."""
    not_known: tuple[str, ...]
    """What the log does not show, in sentences."""
    unfit: list[Quarantined]
    """Lines that were not understood, and are not yet in quarantine."""

    @property
    def shown(self) -> str: ...

    @property
    def counts(self) -> str: ...

    @property
    def due_rows(self) -> int:
        """How many rows wait to be committed."""

    def read(self, lines: list[LogLine], *, is_pause: bool) -> None:
        """Takes new lines. is_pause: nothing was written for a while."""

    def look(self, silent_ms: float) -> None:
        """Finds what is due. silent_ms: how long the log has not grown."""

    def take_due(self) -> list[str]:
        """The facts that are due, as texts (`effect_rows.texts_of`), each once."""

    def state(self, position: Position) -> Any:
        """The state behind the facts that were taken. position: how far the log was read."""

    def settle(self, number: int) -> None:
        """Writes what belongs to the commit of facts with this number, if it is not there yet."""

    def known(self, hold_ms: int, now_ms: float, silent_ms: float) -> Known:
        """See Following. silent_ms: how long the log has not grown."""

    def closing_lines(self) -> Iterable[str]: ...


class Following:
    """Follows a log on a home that is locked and checked. status: gets each commit. clock: seconds."""

    def __init__(
        self,
        home: Home,
        source: Source,
        tail: Tail,
        config: JobConfig,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._source, self._tail, self._status, self._clock = source, tail, status, clock
        self._states = NumberedState[Any](
            home.path / source.folder,
            open_effects(home, config),
            source.app_id,
            commit_every_s=COMMIT_EVERY_S,
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

    def upkeeps(self) -> list[Upkeep]:
        return [self._upkeep]

    def step(self) -> bool:
        """One look at the log; returns whether more lines may be there."""
        lines = self._tail.poll(LINES_AT_ONCE)
        now = self._clock()
        if lines:
            self._grown_at = now
        self._source.read(lines, is_pause=now - self._grown_at >= PAUSE_S)
        self._source.look(self._silent_ms())
        if self._states.may_commit or self._source.due_rows >= ROWS_A_COMMIT:
            self.commit()
        if now - self._states.kept_at > _KEEP_EVERY_S and not self._has_due:
            self._keep()
        return len(lines) == LINES_AT_ONCE

    def known(self, hold_ms: int, now_ms: float) -> Known:
        """Up to which time the facts of each group are in the home; commits what is due first.

        hold_ms: how long after its time a line may be written, and how long a silent log is waited for. now_ms: the
        time of this machine, which counts while the log is silent.
        """
        self.commit()
        return self._source.known(hold_ms, now_ms, self._silent_ms())

    def commit(self) -> None:
        """Appends what is due, with the place in the log behind it; bad lines are in quarantine before."""
        if not self._has_due:
            return
        unfit = len(self._source.unfit)
        append_lines_once(self._quarantine, self._source.unfit, self._source.app_id)
        self._source.unfit.clear()
        rows = typed_rows(self._source.take_due())
        self._states.commit(self._source.state(self._tail.position), rows)
        self._source.settle(self._states.number)
        self._status.batch_done(self._states.number, rows.num_rows, unfit)

    def finish(self, is_urgent: Callable[[], bool] = lambda: False) -> None:
        """Commits what is due by now."""
        self.commit()
        self._keep()

    def failure(self) -> None:
        return None

    def closing_lines(self) -> Iterable[str]:
        return self._source.closing_lines()

    def _silent_ms(self) -> float:
        """How long the log has not grown."""
        return (self._clock() - self._grown_at) * 1000

    @property
    def _has_due(self) -> bool:
        return bool(self._source.due_rows or self._source.unfit)

    def _keep(self) -> None:
        self._states.keep(self._source.state(self._tail.position))
