"""The versions of a table for code outside `tables/`: which there are, and which files each appended. Other packages
know how a table is kept only by this, `appending`, `upkeep` and `in_spark`.

Must not know what is in a row, nor load pyarrow or deltalake.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tables.delta_log import LOG_FOLDER, DeltaLog, DeltaLogError

TableError = DeltaLogError
"""A table that cannot be read as asked; the text names it and says why."""


class Appended(NamedTuple):
    """A file whose rows are new with a version."""

    path: Path
    rows: int | None
    """How many rows it has; None where its writer did not say."""


class Versions:
    """The versions of one table on this machine's disk; reads the disk at each call."""

    def __init__(self, table: Path) -> None:
        self._log = DeltaLog(table)

    def all(self) -> list[int]:
        """Every version that can still be read by itself, in no order."""
        return self._log.versions()

    def latest(self) -> int:
        """The latest version, -1 if there is no table."""
        return self._log.latest()

    def has(self, version: int) -> bool:
        return self._log.has(version)

    def appended(self, version: int) -> list[Appended] | None:
        """What a version appended, None if it is not there. Raises ValueError: it cannot be read."""
        commit = self._log.read(version)
        if commit is None:
            return None
        return [Appended(self._log.path_of(file), file.rows) for file in commit.appended]


def is_table(path: str | Path) -> bool:
    """Whether there is a table at a path of this machine."""
    return Path(path, LOG_FOLDER).is_dir()
