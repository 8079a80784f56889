"""A replay's tables while they are made, apart from the home, so that a stopped replay leaves nothing behind.

And the tools to make them: progress bars, and writers of tables. Knows a home's folders and tables. Must not know what
is replayed.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pyarrow as pa
from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from rollcall.inputs.replay.row_files import take_rows
from rollcall.schemas.tables import OF_A_HISTORY
from rollcall.tables.appending import OpenTable, append
from rollcall.tables.home import Home

BYTES_A_COMMIT = 16 << 20


@contextmanager
def built(home: Home) -> Iterator[Home]:
    """A home for building: its tables are moved into this one when all are complete; on an error they are deleted."""
    building = home.building
    shutil.rmtree(building.location, ignore_errors=True)
    try:
        building.path.mkdir(parents=True)
        yield building
        # The effects come last: with them a replay is complete.
        for table in reversed(OF_A_HISTORY):
            if Path(made := building.place_of(table)).exists():
                Path(made).rename(home.place_of(table))
    finally:
        shutil.rmtree(building.location, ignore_errors=True)


class Shown:
    """The progress of a replay, with a bar for each kind of work."""

    def __init__(self, console: Console) -> None:
        columns = [SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()]
        self.progress = Progress(*columns, TimeRemainingColumn(), console=console)
        self._tasks: dict[str, TaskID] = {}

    def show(self, what: str, more: int, *, total: int) -> None:
        """more: how much was done since the last call."""
        if what not in self._tasks:
            for earlier in self._tasks.values():
                self.progress.update(earlier, completed=self.progress.tasks[earlier].total)
            self._tasks[what] = self.progress.add_task(what, total=total)
        self.progress.advance(self._tasks[what], more)


class TableWriters:
    """Appends rows from files to tables, by the files' suffixes, many at once."""

    def __init__(self, tables: Mapping[str, OpenTable]) -> None:
        self._tables = {f".{name}": table for name, table in tables.items()}
        self._held: dict[str, list[pa.Table]] = {suffix: [] for suffix in self._tables}
        self._held_bytes = dict.fromkeys(self._tables, 0)

    def add(self, files: Iterable[Path]) -> None:
        """Takes files of rows, and deletes them."""
        for file in files:
            rows = take_rows(file)
            self._held[file.suffix].append(rows)
            self._held_bytes[file.suffix] += rows.nbytes
            if self._held_bytes[file.suffix] >= BYTES_A_COMMIT:
                self._append(file.suffix)

    def flush(self) -> None:
        """Appends the held rows."""
        for suffix in self._tables:
            self._append(suffix)

    def _append(self, suffix: str) -> None:
        if held := self._held[suffix]:
            append(self._tables[suffix], pa.concat_tables(held))
            held.clear()
            self._held_bytes[suffix] = 0
