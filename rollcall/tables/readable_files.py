"""Which of a table's files can be read: damaged files are left out, and so are rows that are too large. It reads every
file, so readers use it only after a query has failed. Rows that are too large come from earlier versions. Knows files
and their longest column; must not know the query, nor load pyarrow or deltalake.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

import duckdb

from rollcall.schemas.tables import EFFECTS
from rollcall.tables.duck_database import open_database, quoted, spill_folder
from rollcall.tables.unread import left_out, row_named

_Answer = TypeVar("_Answer")
MOST_BYTES = 16_000_000
"""A row whose detail is longer is left out of a file that cannot be read whole."""
_MEMORY_MB = 160
"""Less than any reader has."""
_CHUNK_BYTES = 1 << 20
_read_as: dict[str, str | None] = {}
"""By a file's path, what is read in its place: itself, a copy without large rows, or nothing."""


def ask_readable(ask: Callable[[Sequence[str]], _Answer], files: Sequence[str]) -> _Answer:
    """What is asked of files; where that fails, what is asked of those that can be read.

    Raises duckdb.Error: it fails, and all of them can be read; OSError, as `readable`.
    """
    try:
        return ask(files)
    except duckdb.Error:
        whole = readable(files)
        if whole == list(files):
            raise
        return ask(whole)


def readable(files: Sequence[str]) -> list[str]:
    """The same files without damaged ones, and with a copy in place of each with large rows; each is logged.

    The same list where every file can be read. Raises OSError: the system cannot read one just now.
    """
    for path in files:
        if path not in _read_as:
            _read_as[path] = _looked_at(path)
    places = (_read_as[path] for path in files)
    return [path for path in places if path is not None]


def _looked_at(path: str) -> str | None:
    with Path(path).open("rb") as file:
        while file.read(_CHUNK_BYTES):
            pass
    rows = f"read_parquet('{quoted(path)}', hive_partitioning = false)"
    try:
        with open_database(memory_mb=_MEMORY_MB) as database:
            # Without this a column is not read if the file's statistics are enough to count it.
            database.execute("SET disabled_optimizers = 'statistics_propagation'")
            database.execute(f"SELECT count(hash(COLUMNS(*))) FROM {rows}")
    except duckdb.OutOfMemoryException:
        return _copy_without_large_rows(Path(path), rows)
    except duckdb.Error as error:
        left_out(_table_of(path), Path(path).name, error)
        return None
    return path


def _copy_without_large_rows(path: Path, rows: str) -> str | None:
    # The day of a file's rows stands in its folder's name.
    copy = spill_folder() / f"readable-{len(_read_as)}" / path.parent.name / path.name
    copy.parent.mkdir(parents=True, mode=0o700)
    try:
        with duckdb.connect(config={"threads": 1, "temp_directory": str(spill_folder())}) as database:
            large = database.execute(f"SELECT group_id, seq FROM {rows} WHERE strlen(detail) > {MOST_BYTES}").fetchall()
            others = f"SELECT * FROM {rows} WHERE coalesce(strlen(detail), 0) <= {MOST_BYTES}"
            database.execute(f"COPY ({others}) TO '{quoted(copy)}'")
    except duckdb.Error as error:
        left_out(_table_of(path), path.name, error)
        return None
    for group_id, seq in large:
        left_out(_table_of(path), row_named(group_id, seq), f"its detail is longer than {MOST_BYTES} bytes")
    return str(copy)


def _table_of(path: str | Path) -> str:
    return EFFECTS.name if EFFECTS.name in Path(path).parts else Path(path).parent.name
