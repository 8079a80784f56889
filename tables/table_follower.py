"""Follows a table: what each new commit added, and nothing else.

A commit is one small file in the table's log; asking whether the next one is there costs one look at the disk. Files
that upkeep rewrites bring no new fact and are passed over.

Knows Delta's log on a local disk; knows no effect.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tables.delta_log import DeltaLog

log = logging.getLogger("rollcall.tables")

_LOST_AFTER_S = 5.0
"""If a version has not come for so long, it is looked whether later ones have."""


class TableFollower:
    """Reads what commits add to a table from now on, or from a version on. columns: those to read."""

    def __init__(self, path: Path, columns: Sequence[str], *, from_version: int | None = None) -> None:
        self._path = path
        self._log = DeltaLog(path)
        self._columns = list(columns)
        self._next = self._log.latest() + 1 if from_version is None else from_version
        self._looked_at = float("-inf")

    def go_on_after(self, version: int) -> None:
        """What the table held in this version is known already."""
        self._next = version + 1

    def has_news(self) -> bool:
        """Whether the next version is there; costs one look at a file's name."""
        if self._log.has(self._next):
            return True
        now = time.monotonic()
        if now - self._looked_at < _LOST_AFTER_S:
            return False
        self._looked_at = now
        return self._has_found_place()

    def _has_found_place(self) -> bool:
        """Goes on behind a gap: old versions are cleaned away, and a home may be made anew."""
        versions = self._log.versions()
        first = min((version for version in versions if version >= self._next), default=None)
        if first is None:
            if max(versions, default=-1) < self._next - 1:
                self._next = 0
            return False
        if first > self._next:
            log.warning("%s: versions %d to %d are gone unread", self._path.name, self._next, first - 1)
        self._next = first
        return True

    def read_next(self) -> list[pa.Table]:
        """What the next version added, a table a file."""
        paths = self._log.appended(self._next) or []
        self._next += 1
        self._looked_at = time.monotonic()
        # By file, not by folder: a reader of folders would take the partition from the path.
        return [pq.ParquetFile(path).read(columns=self._columns) for path in paths]

    def poll(self) -> Iterator[pa.Table]:
        """The rows of every commit since the last poll, in order; nothing if there is none."""
        while self.has_news():
            yield from self.read_next()
