"""Follows a growing log, a topic, or both on a home for ever: each fact once, however the program ends.

Each commit of facts carries a number, and the state under that number says how far the input was read by then
(`NumberedState`). Knows when facts are committed. Must not know what makes them.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import Any, NamedTuple
from uuid import uuid4

from rollcall.inputs.following.numbered_state import NumberedState
from rollcall.inputs.following.source import Followed, InputLost
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_effects, open_quarantine
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.properties import VERSIONS_RETENTION_MINUTES
from rollcall.tables.rows import effects_table

ROWS_A_COMMIT = 20_000
COMMIT_EVERY_S = 0.5
_KEEP_EVERY_S = 30.0
"""How often the place in the input is kept while nothing is due."""


class Failure(NamedTuple):
    """Why an input can no longer be followed."""

    reason: str
    whole_story: str
    """The traceback."""


class Following:
    """Follows it on a home that is locked and checked. status: gets each commit. clock: seconds."""

    def __init__(
        self,
        home: Home,
        source: Followed,
        status: StatusWriter,
        clock: Callable[[], float] = time.monotonic,
        *,
        commit_every_s: float = COMMIT_EVERY_S,
        versions_retention_minutes: int = VERSIONS_RETENTION_MINUTES,
    ) -> None:
        self.source, self._status, self._clock = source, status, clock
        self._states = NumberedState[Any](
            home.path / source.folder,
            open_effects(home, versions_retention_minutes),
            source.app_id,
            commit_every_s=commit_every_s,
            clock=clock,
        )
        self._quarantine = open_quarantine(home, versions_retention_minutes)
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
            self._states.keep(self.source.state())
        return has_more

    def commit(self) -> None:
        """Appends what is due, with the place in the input behind it."""
        if not self._has_due:
            return
        unfit = self.source.unfit_rows
        self.source.set_aside(self._quarantine)
        rows = effects_table(self.source.take_due())
        self._states.commit(self.source.state(), rows)
        self.source.settle(self._states.number)
        self._status.batch_done(self._states.number, rows.num_rows, unfit)

    def finish(self) -> None:
        """Commits what is due by now."""
        self.commit()
        self._states.keep(self.source.state())

    @property
    def _has_due(self) -> bool:
        return bool(self.source.due_rows or self.source.unfit_rows)
