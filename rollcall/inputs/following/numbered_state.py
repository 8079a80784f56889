"""The state of a program that feeds a table, in a file beside it: each row once, however the program ends.

Before rows are committed, the state after them is written under the number that the commit will carry. So the table's
last commit says which state is valid. Knows files and commits. Must not know what is in a state.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import msgspec
import pyarrow as pa

from rollcall.tables.appending import OpenTable, append_once, last_number
from rollcall.tables.home import HomeError
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
