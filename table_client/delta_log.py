"""A Delta table's log on the local disk: which version is the latest, what a version added, and how to add one.

A gateway commits thirty times a second. Delta libraries read the list of all the table's files anew for each commit,
tens of milliseconds of a core; appending needs none of it. A commit is one small file of JSON that comes into being
under the next version's name, whole and only if nobody else's has (a hard link does both), as every Delta writer does
on a local disk. Tables are made, compacted and cleaned by delta-rs alone.

Knows the log's files; knows nothing of rows. Source: the Delta protocol, "Delta Log Entries" and "Add File".
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from pathlib import Path
from urllib.parse import unquote

import msgspec

_COMMIT = re.compile(r"(\d{20})\.json")
_TRUSTED_S = 10.0
"""So long after its last look a writer believes to know the latest version; far less than old commits are kept."""


class _Add(msgspec.Struct, rename="camel"):
    path: str
    data_change: bool = True


class _Action(msgspec.Struct):
    add: _Add | None = None


_action_decoder = msgspec.json.Decoder(_Action)


class DeltaLog:
    """The log of one table."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self._log = table / "_delta_log"
        self._version = -1
        self._looked_at = 0.0

    def versions(self) -> list[int]:
        """Every version whose commit is there, in no order. Lists the folder."""
        try:
            names = os.listdir(self._log)
        except FileNotFoundError:
            return []
        return [int(found.group(1)) for found in map(_COMMIT.fullmatch, names) if found]

    def latest(self) -> int:
        """The latest version, -1 if there is none. Lists the folder."""
        return max(self.versions(), default=-1)

    def has(self, version: int) -> bool:
        return os.path.exists(self._commit(version))

    def added(self, version: int) -> list[Path] | None:
        """The data files with the rows that a version added, None if there is no such version.

        Files that upkeep rewrote are not among them: they change no data, as their commits say.
        """
        try:
            lines = self._commit(version).read_bytes().splitlines()
        except FileNotFoundError:
            return None
        added = [action.add for action in map(_action_decoder.decode, lines) if action.add is not None]
        return [self.table / unquote(file.path) for file in added if file.data_change]

    def append(self, file_name: str, rows: int) -> int:
        """Adds a data file that lies in the table's folder; the version it became. Raises OSError."""
        waiting = self._log / f"_commit_{uuid.uuid4()}.json.tmp"
        waiting.write_bytes(_add_action(self.table / file_name, rows))
        try:
            return self._take_next_version(waiting)
        finally:
            waiting.unlink()

    def _take_next_version(self, waiting: Path) -> int:
        while True:
            if time.monotonic() - self._looked_at > _TRUSTED_S:
                self._version = self.latest()
            self._looked_at = time.monotonic()
            try:
                os.link(waiting, self._commit(self._version + 1))
            except FileExistsError:
                self._version += 1
                continue
            if self._version >= 0 and not self.has(self._version):
                # The version before was cleaned away meanwhile: this is a gap in the past, not the end.
                self._commit(self._version + 1).unlink()
                self._looked_at = 0.0
                continue
            self._version += 1
            return self._version

    def _commit(self, version: int) -> Path:
        return self._log / f"{version:020d}.json"


def _add_action(path: Path, rows: int) -> bytes:
    now_ms = time.time_ns() // 1_000_000
    info = {"timestamp": now_ms, "operation": "WRITE", "operationParameters": {"mode": "Append"}}
    add = {
        "path": path.name,
        "partitionValues": {},
        "size": path.stat().st_size,
        "modificationTime": now_ms,
        "dataChange": True,
        "stats": json.dumps({"numRecords": rows}),
    }
    return f"{json.dumps({'commitInfo': info})}\n{json.dumps({'add': add})}\n".encode()
