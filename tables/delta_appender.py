"""Adds a commit to a Delta table's log on the local disk, without a Delta library.

A gateway commits thirty times a second. Delta libraries read the list of all the table's files anew for each commit,
tens of milliseconds of a core; appending needs none of it. A commit is one small file of JSON that comes into being
under the next version's name, as a whole, and only if no other commit has that name (a hard link does both), as every
Delta writer does on a local disk. `tables.compaction` puts the files together likewise; delta-rs makes tables and
cleans them.

Knows how a version is taken; must not know what is in a row. Source: the Delta protocol, "Delta Log Entries" and "Add
File and Remove File".
"""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

from tables.delta_commit import GapError, becomes, waiting_commit
from tables.delta_log import DeltaLog

_TRUSTED_S = 10.0
"""For so long after a look at the folder a writer takes its own count of versions as right; it is far shorter than the
time that old commits are kept."""


class DeltaAppender:
    """Appends data files to one table."""

    def __init__(self, table: Path) -> None:
        self._log = DeltaLog(table)
        self._version = -1
        self._looked_at = 0.0

    def append(self, file_name: str, rows: int) -> int:
        """Adds a data file that lies in the table's folder; the version it became. Raises OSError."""
        add = {"add": _added(self._log.table / file_name, rows)}
        with waiting_commit(self._log, "WRITE", {"mode": "Append"}, [add]) as waiting:
            return self._take_next_version(waiting)

    def _take_next_version(self, waiting: Path) -> int:
        while True:
            if time.monotonic() - self._looked_at > _TRUSTED_S:
                self._version = self._log.latest()
            self._looked_at = time.monotonic()
            try:
                is_taken = becomes(self._log, waiting, self._version + 1)
            except GapError:
                self._looked_at = 0.0
                continue
            self._version += 1
            if is_taken:
                return self._version


def _added(path: Path, rows: int) -> dict[str, Any]:
    return {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": time.time_ns() // 1_000_000,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows}),
    }
