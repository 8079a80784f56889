"""Follows a table: the rows that each new commit appended (`rollcall.tables.delta_log.Commit.appended`).

A commit is one small file in the table's log, so asking whether the next one is there costs one look at the disk.

Knows Delta's log on a local disk; must not know what is in a row.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.unread import left_out, lies_in_the_file

log = logging.getLogger("rollcall.tables")

_LOST_AFTER_S = 5.0
"""After this long without the next version the folder is listed: later versions may be there."""


class TableFollower:
    """Reads what commits append to a table from now on, or from a version on. columns: those to read."""

    def __init__(self, path: Path, columns: Sequence[str], *, from_version: int | None = None) -> None:
        self._path = path
        self._log = DeltaLog(path)
        self._columns = list(columns)
        self.next_version = self._log.latest() + 1 if from_version is None else from_version
        self._looked_at = float("-inf")

    def has_news(self) -> bool:
        """Whether the next version is there; costs one look at a file's name."""
        if self._log.has(self.next_version):
            return True
        now = time.monotonic()
        if now - self._looked_at < _LOST_AFTER_S:
            return False
        self._looked_at = now
        return self._has_found_place()

    def _has_found_place(self) -> bool:
        """Skips versions that were cleaned away, starts again in a table made anew; returns whether there is a next
        version."""
        versions = self._log.versions()
        first = min((version for version in versions if version >= self.next_version), default=None)
        if first is None:
            if max(versions, default=-1) < self.next_version - 1:
                self.next_version = 0
            return False
        if first > self.next_version and self._log.has(self.next_version):
            # A folder that grows may be listed with a gap.
            first = self.next_version
        if first > self.next_version:
            log.warning("%s: versions %d to %d are gone unread", self._path.name, self.next_version, first - 1)
        self.next_version = first
        return True

    def read_next(self) -> list[pa.Table]:
        """What the next version appended, one Arrow table a file.

        A version or file that is broken or missing is left out, and `rollcall.tables.unread` logs it. Raises OSError:
        it cannot be read just now, and stays the next.
        """
        version = self.next_version
        try:
            paths = list(self._log.appended(version) or ())
        except ValueError as error:
            left_out(self._path.name, f"version {version}", error)
            paths = []
        found = [rows for rows in (self._rows_of(path, version) for path in paths) if rows is not None]
        self.next_version = version + 1
        self._looked_at = time.monotonic()
        return found

    def _rows_of(self, path: Path, version: int) -> pa.Table | None:
        try:
            # By file, not by folder: a reader of folders would take the partition from the path.
            return pq.ParquetFile(path).read(columns=self._columns)
        except Exception as error:
            if not lies_in_the_file(error):
                raise
            left_out(self._path.name, f"{path.name} of version {version}", error)
            return None

    def poll(self) -> Iterator[pa.Table]:
        """The rows of every commit since the last poll, in order; nothing if there is none."""
        while self.has_news():
            yield from self.read_next()
