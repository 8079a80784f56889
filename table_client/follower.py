"""Follows a home's effects table: what each new commit added, and nothing else.

A commit is one small file in the table's log; asking whether the next one is there costs one look at the disk. Files
that upkeep rewrites bring no new fact and are passed over.

Knows Delta's log on a local disk; knows no effect.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

_COMMIT = re.compile(r"(\d{20})\.json$")


class _Add(msgspec.Struct, rename="camel"):
    path: str
    data_change: bool = True


class _Action(msgspec.Struct):
    add: _Add | None = None


_action_decoder = msgspec.json.Decoder(_Action)


class TableFollower:
    """Reads what commits add to a table from now on, or from a version on. columns: those to read."""

    def __init__(self, path: Path, columns: Sequence[str], *, from_version: int | None = None) -> None:
        self._path = path
        self._columns = list(columns)
        self._next = from_version if from_version is not None else _last_version(path) + 1

    def poll(self) -> Iterator[pa.Table]:
        """The rows of every commit since the last poll, in order; nothing if there is none."""
        while True:
            log = self._path / "_delta_log" / f"{self._next:020d}.json"
            try:
                lines = log.read_bytes().splitlines()
            except FileNotFoundError:
                first = _first_version(self._path)
                if first is None or first <= self._next:
                    return
                # The log was cleaned before it was read: what those commits added can only be read as a whole table.
                self._next = first
                continue
            self._next += 1
            yield from self._added(lines)

    def _added(self, lines: list[bytes]) -> Iterator[pa.Table]:
        for line in lines:
            added = _action_decoder.decode(line).add
            if added is None or not added.data_change:
                continue
            # By file, not by folder: a reader of folders would take the partition from the path.
            yield pq.ParquetFile(self._path / unquote(added.path)).read(columns=self._columns)


def _versions(path: Path) -> list[int]:
    try:
        names = [entry.name for entry in (path / "_delta_log").iterdir()]
    except FileNotFoundError:
        return []
    return [int(found[1]) for name in names if (found := _COMMIT.match(name))]


def _last_version(path: Path) -> int:
    return max(_versions(path), default=-1)


def _first_version(path: Path) -> int | None:
    return min(_versions(path), default=None)
