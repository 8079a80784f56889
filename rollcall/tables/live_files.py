"""The data files that make up a table at a version: the last checkpoint's, and what the commits after it did to them.

A checkpoint is read by DuckDB, which loads fast and is also there in the job. Knows how a log's parts fit together;
must not know rows, nor load pyarrow or deltalake. Source: the Delta protocol, "Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from rollcall.tables.delta_log import AddedFile, DeltaLog, DeltaLogError
from rollcall.tables.unread import left_out

_TRIES = 5


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
