"""Follows a growing log, a topic, or both on a home for ever: each fact once, however the program ends.

Before facts are committed, the state after them is written under the number that the commit will carry
(`NumberedState`). So the table's last commit says which state is valid, and how far the input was read by then. Knows
when facts are committed. Must not know what makes them, nor what is in a state.
"""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar
from uuid import uuid4

import msgspec
import pyarrow as pa

from rollcall.inputs.following.source import Followed, InputLost
from rollcall.tables.appending import OpenTable, append_once, last_number
from rollcall.tables.home import Home, HomeError
from rollcall.tables.home_tables import open_effects, open_quarantine
from rollcall.tables.job_status import StatusWriter
from rollcall.tables.properties import VERSIONS_RETENTION_MINUTES
from rollcall.tables.rows import effects_table
from rollcall.tables.versions import is_table
from rollcall.tables.whole_file import write_whole

COMMITS_SHARE = 0.1
"""The share of time that commits may take: slow commits are made less often."""
State = TypeVar("State")


class NumberedState(Generic[State]):
    """States in a folder, by the number of a table's commit. app_id: the key of that number in a commit."""

    def __init__(
        self,
        folder: Path,
        table: OpenTable,
        app_id: str,
        *,
        commit_every_s: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.folder = folder
        self.number = table.transaction_version(app_id) or 0
        """The last commit's."""
        self._table, self._app_id = table, app_id
        self._commit_every_s, self._clock = commit_every_s, clock
        self._commit_at = 0.0
        self.kept_at = clock()

    @property
    def may_commit(self) -> bool:
        """Whether enough time has passed since the last commit."""
        return self._clock() >= self._commit_at

    def keep(self, state: State) -> None:
        """Writes the state that belongs to the table's present version."""
        self._write(state, self.number)

    def commit(self, state: State, rows: pa.Table) -> None:
        """Appends rows, with the state after them."""
        began = self._clock()
        self._write(state, self.number + 1)
        append_once(self._table, rows, self._app_id, self.number + 1, has_upkeep=True)
        self.number += 1
        for path in self.folder.glob("*.state"):
            if path != state_path(self.folder, self.number):
                path.unlink()
        self._commit_at = began + max(self._commit_every_s, (self._clock() - began) / COMMITS_SHARE)

    def _write(self, state: State, number: int) -> None:
        self.folder.mkdir(exist_ok=True)
        write_whole(state_path(self.folder, number), msgspec.msgpack.encode(state))
        self.kept_at = self._clock()


def last_state(folder: Path, table: str, app_id: str, kind: type[State], unknown: str) -> State | None:
    """The state as of the last commit of a table; None without one. Raises HomeError, as `read_state`."""
    return read_state(folder, last_number(table, app_id) or 0, kind, unknown) if is_table(table) else None


def read_state(folder: Path, number: int, kind: type[State], unknown: str) -> State | None:
    """The state that belongs to a commit; None if none was ever kept.

    unknown: what is lost without it, for the error. Raises HomeError: it is missing after a commit, or cannot be read.
    """
    path = state_path(folder, number)
    try:
        return msgspec.msgpack.decode(path.read_bytes(), type=kind)
    except FileNotFoundError:
        if not number:
            return None
        raise HomeError(f"{path} is missing: without it nobody knows {unknown}.") from None
    except (OSError, msgspec.MsgspecError) as error:
        raise HomeError(f"{path} cannot be read: {error}.") from None


def state_path(folder: Path, number: int) -> Path:
    """The file of a state."""
    return folder / f"{number:012d}.state"


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
