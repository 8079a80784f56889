"""The data files that make up a table at a version: the last checkpoint's, and what the commits after it did to them.

How a checkpoint's Parquet is read is the caller's affair: pass `tables.checkpoints.read_checkpoint`, which uses
pyarrow, or a function of your own engine.

Knows how a log's pieces go together; must not know rows, nor load pyarrow or deltalake. Source: the Delta protocol,
"Action Reconciliation".
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from tables.delta_log import AddedFile, Checkpoint, Commit, DeltaLog, DeltaLogError
from tables.unread import left_out

ReadCheckpoint = Callable[[Sequence[Path]], Iterable[AddedFile]]
"""Gives the column `add` of a checkpoint's files, where it is not null: path, partitionValues, size, stats and
deletionVector. A checkpoint lists live files alone, so its column `remove` is of no use here."""
_TRIES = 5


class LiveFiles(NamedTuple):
    """A table's data files at a version."""

    version: int
    files: list[AddedFile]
    """In the order they were added, as far as the log tells it."""
    paths: list[Path]
    """Where they lie, in the same order."""


class LogPieces(NamedTuple):
    """What has to be read to know a table at a version."""

    version: int
    checkpoint: Checkpoint | None
    """None: the commits go back to version 0."""
    commits: range
    """The versions to be applied after the checkpoint, in order."""


def live_files(log: DeltaLog, read_checkpoint: ReadCheckpoint, version: int | None = None) -> LiveFiles:
    """The data files at a version, by default the latest.

    Raises DeltaLogError: there is no table, no such version (any more), or a file has a deletion vector. Upkeep may
    remove a checkpoint or a commit between two looks at the disk, and a folder that grows may be listed with a gap; so
    this is tried again before it fails.
    """
    tries = 0
    while True:
        tries += 1
        try:
            pieces = log_pieces(log, version)
            found = _applied(log, pieces, read_checkpoint)
        except (DeltaLogError, FileNotFoundError):
            if tries == _TRIES:
                raise
            continue
        return LiveFiles(pieces.version, found, [log.path_of(file) for file in found])


def log_pieces(log: DeltaLog, version: int | None = None) -> LogPieces:
    """What has to be read to know a version, by default the latest. Raises DeltaLogError, see live_files."""
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
    return LogPieces(wanted, checkpoint, commits)


def _applied(log: DeltaLog, pieces: LogPieces, read_checkpoint: ReadCheckpoint) -> list[AddedFile]:
    live = {}
    if pieces.checkpoint is not None:
        live = {file.path: file for file in read_checkpoint(pieces.checkpoint.paths)}
    for version in pieces.commits:
        try:
            commit = _commit(log, version)
        except ValueError as error:
            left_out(log.table.name, f"version {version}", error)
            continue
        _apply(live, commit)
    for file in live.values():
        if file.deletion_vector is not None:
            raise DeltaLogError(f"{log.table}: {file.path} has a deletion vector, which only Spark reads")
    return list(live.values())


def _commit(log: DeltaLog, version: int) -> Commit:
    commit = log.read(version)
    if commit is None:
        raise FileNotFoundError(log.commit_path(version))
    return commit


def _apply(live: dict[str, AddedFile], commit: Commit) -> None:
    # A commit may remove a file and add it again with other statistics: the file stays.
    for removed in commit.removed:
        live.pop(removed.path, None)
    for added in commit.added:
        live[added.path] = added
