"""A Delta table's log on the local disk: its versions, what each one did, the files of one, and how one more is taken.

A commit is one small file of JSON named after its version. All followers of a table read its commits here, so there is
one rule for which commits bring new rows: `Commit.appended`.

A checkpoint is read by DuckDB, which loads fast and is also there in the job. Knows the log's files; must not know what
is in a row, nor load pyarrow or deltalake. Source: the Delta protocol, "Delta Log Entries", "Add File and Remove File",
"Checkpoints" and "Action Reconciliation".
"""

from __future__ import annotations

import json
import os
import re
import time
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import msgspec

from rollcall.tables.unread import left_out

LOG_FOLDER = "_delta_log"
_COMMIT = re.compile(r"(\d{20})\.json")
_CHECKPOINT = re.compile(r"(\d{20})\.checkpoint(?:\.(\d{10})\.(\d{10}))?\.parquet")
_TRIES = 5


class DeltaLogError(ValueError):
    """A log that cannot be read as asked; the text names the table and says why."""


class GapError(OSError):
    """The version before was cleaned away: the free version is a gap in the past, not the end."""


class AddedFile(msgspec.Struct, rename="camel", frozen=True, omit_defaults=True):
    """A data file that a commit adds: the protocol's action `add`, as far as it is used here."""

    path: str
    """Relative to the table's folder, and URL-encoded: `DeltaLog.path_of` gives the file."""
    partition_values: dict[str, str | None] = {}
    """Text by partition column; the value is not in the file."""
    size: int = 0
    """Bytes."""
    data_change: bool = True
    """False: the file's rows were in the table before."""
    stats: str | None = None
    """JSON: numRecords, and minValues, maxValues and nullCount by column where the writer gives them."""
    deletion_vector: dict[str, Any] | None = None
    """Set where some of the file's rows are deleted; no table of a home has such files."""

    @property
    def rows(self) -> int | None:
        """How many rows the file has; None where its writer did not say."""
        return None if self.stats is None else _stats_decoder.decode(self.stats).num_records


class RemovedFile(msgspec.Struct, rename="camel", frozen=True):
    """A data file that a commit removes: the protocol's action `remove`."""

    path: str
    data_change: bool = True
    """False: the file's rows are in the table still."""


class _Stats(msgspec.Struct, rename="camel"):
    num_records: int | None = None


class _Action(msgspec.Struct):
    add: AddedFile | None = None
    remove: RemovedFile | None = None


_stats_decoder = msgspec.json.Decoder(_Stats)
_action_decoder = msgspec.json.Decoder(_Action)


class Commit(NamedTuple):
    """The files that one version adds and removes."""

    added: list[AddedFile]
    removed: list[RemovedFile]

    @property
    def appended(self) -> list[AddedFile]:
        """The files whose rows are new with this version; all other files are upkeep's.

        A commit that removes a file brings no new row: compaction (`dataChange` is false) and the deletion of old rows
        (`dataChange` is true) both write the rows that stay into a new file, and those rows were read before.
        `dataChange` alone would give them twice after each deletion. A file added with `dataChange` false brings none
        either, also in a commit that removes nothing (Spark adds a file again when it computes statistics).

        So a commit that both removes files and adds new rows (an overwrite, an update) would be skipped. A home's
        tables are only appended to, compacted and shortened, by writers of this project.
        """
        return [] if self.removed else [file for file in self.added if file.data_change]


class Checkpoint(NamedTuple):
    """The state of a table at a version, in one or several Parquet files."""

    version: int
    paths: list[Path]


class DeltaLog:
    """The log of one table; reads the disk at each call and remembers nothing."""

    def __init__(self, table: Path) -> None:
        self.table = table
        self.folder = table / LOG_FOLDER
        self._prefix = f"{self.folder}/"

    def versions(self) -> list[int]:
        """Every version whose commit is there, in no order. Lists the folder."""
        return [int(found.group(1)) for found in map(_COMMIT.fullmatch, self._names()) if found]

    def latest(self) -> int:
        """The latest version, -1 if there is none. Lists the folder."""
        return max(self.versions(), default=-1)

    def has(self, version: int) -> bool:
        # Asked a hundred times a second: without a Path.
        return os.path.exists(f"{self._prefix}{version:020d}.json")

    def read(self, version: int) -> Commit | None:
        """What a version did, None if its commit is not there."""
        try:
            lines = self.commit_path(version).read_bytes().splitlines()
        except FileNotFoundError:
            return None
        actions = [_action_decoder.decode(line) for line in lines if line]
        added = [action.add for action in actions if action.add is not None]
        return Commit(added, [action.remove for action in actions if action.remove is not None])

    def written_ms(self, version: int) -> int | None:
        """When a version's commit was written, None if it is not there."""
        try:
            return self.commit_path(version).stat().st_mtime_ns // 1_000_000
        except FileNotFoundError:
            return None

    def appended(self, version: int) -> dict[Path, AddedFile] | None:
        """The data files whose rows are new with a version (see `Commit.appended`), by where they lie; None if its
        commit is not there. Raises ValueError: it cannot be read.
        """
        commit = self.read(version)
        return None if commit is None else {self.path_of(file): file for file in commit.appended}

    def last_checkpoint(self, at_most: int) -> Checkpoint | None:
        """The last whole checkpoint of a version that is at most this one, None if there is none. Lists the folder."""
        parts: defaultdict[tuple[int, int], list[Path]] = defaultdict(list)
        for found in filter(None, map(_CHECKPOINT.fullmatch, self._names())):
            version, _, count = found.groups()
            if int(version) <= at_most:
                parts[int(version), int(count or 1)].append(self.folder / found.group())
        whole = [(version, paths) for (version, count), paths in parts.items() if len(paths) == count]
        if not whole:
            return None
        version, paths = max(whole)
        return Checkpoint(version, sorted(paths))

    def path_of(self, file: AddedFile) -> Path:
        return self.table / unquote(file.path)

    def commit_path(self, version: int) -> Path:
        return self.folder / f"{version:020d}.json"

    @contextmanager
    def waiting_commit(
        self, operation: str, parameters: Mapping[str, str], actions: Iterable[Mapping[str, Any]]
    ) -> Iterator[Path]:
        """The file of a commit that has no version yet. Raises OSError: it cannot be written."""
        info = {"timestamp": time.time_ns() // 1_000_000, "operation": operation, "operationParameters": parameters}
        waiting = self.folder / f"_commit_{uuid.uuid4()}.json.tmp"
        try:
            waiting.write_text("".join(f"{json.dumps(action)}\n" for action in [{"commitInfo": info}, *actions]))
            yield waiting
        finally:
            # Once the commit is there nothing may fail any more.
            with suppress(OSError):
                waiting.unlink(missing_ok=True)

    def try_commit(self, waiting: Path, version: int) -> bool:
        """Takes a version for a commit; False if another commit has it. Raises GapError: it is a gap. The commit is a
        hard link to a finished file, as with every Delta writer on a local disk, so it is never partial.
        """
        taken = self.commit_path(version)
        try:
            os.link(waiting, taken)
        except FileExistsError:
            return False
        if version > 0 and not self.has(version - 1):
            taken.unlink()
            raise GapError(f"{self.table}: version {version - 1} is gone")
        return True

    def _names(self) -> list[str]:
        try:
            return os.listdir(self.folder)
        except FileNotFoundError:
            return []


class LiveFiles(NamedTuple):
    version: int
    files: list[AddedFile]
    """In the order they were added, as far as the log says."""
    paths: list[Path]
    """Where they lie, in the same order."""


def live_files(log: DeltaLog, version: int | None = None) -> LiveFiles:
    """The data files at a version, by default the latest.

    Raises DeltaLogError: there is no table, no such version (any more), or a file has a deletion vector. Upkeep may
    remove a checkpoint or a commit between two looks at the disk, and a folder that grows may be listed with a gap; so
    this is tried again before it fails.
    """
    for _ in range(_TRIES - 1):
        with suppress(DeltaLogError, FileNotFoundError):
            return _looked_at(log, version)
    return _looked_at(log, version)


def _looked_at(log: DeltaLog, version: int | None) -> LiveFiles:
    there = set(log.versions())
    if not there:
        raise DeltaLogError(f"{log.table}: there is no Delta table")
    wanted = max(there) if version is None else version
    checkpoint = log.last_checkpoint(wanted)
    commits = range(0 if checkpoint is None else checkpoint.version + 1, wanted + 1)
    if wanted > max(there) or not there.issuperset(commits):
        raise DeltaLogError(
            f"{log.table}: version {wanted} cannot be read: the log has versions {min(there)} to {max(there)}"
        )
    live = {} if checkpoint is None else {file.path: file for file in _in_checkpoint(checkpoint.paths)}
    for number in commits:
        try:
            commit = log.read(number)
        except ValueError as error:
            left_out(log.table.name, f"version {number}", error)
            continue
        if commit is None:
            raise FileNotFoundError(log.commit_path(number))
        # A commit may remove a file and add it again with other statistics: the file stays.
        for removed in commit.removed:
            live.pop(removed.path, None)
        live |= {added.path: added for added in commit.added}
    for file in live.values():
        if file.deletion_vector is not None:
            raise DeltaLogError(f"{log.table}: {file.path} has a deletion vector, which only Spark reads")
    return LiveFiles(wanted, list(live.values()), [log.path_of(file) for file in live.values()])


def _in_checkpoint(paths: Sequence[Path]) -> list[AddedFile]:
    """The live files that a checkpoint lists. Raises OSError: it cannot be read."""
    # Imported here: a table without a checkpoint needs none.
    import duckdb

    try:
        with duckdb.connect(config={"threads": 1}) as database:
            asked = "SELECT add FROM read_parquet($paths) WHERE add IS NOT NULL"
            rows = database.execute(asked, {"paths": [str(path) for path in paths]}).fetchall()
    except duckdb.Error as error:
        is_gone = not all(path.exists() for path in paths)
        raise (FileNotFoundError if is_gone else OSError)(f"{paths[0]}: {error}") from error
    return [msgspec.convert(add, AddedFile) for (add,) in rows]
