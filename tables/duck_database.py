"""DuckDB over the files of a home's tables: how it is set up, and which files a table has.

A database of this process, in memory, that loads nothing from elsewhere and writes to a temporary folder what does not
fit. Knows Delta's log by `tables.live_files`; must not know what is in a table's rows, nor load pyarrow or deltalake.
"""

from __future__ import annotations

import atexit
import os
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import duckdb

from schemas.tables import Table
from tables.delta_log import AddedFile, DeltaLog
from tables.live_files import live_files
from tables.own_folder import own_folder
from tables.unread import fault_of_parquet, left_out

MEMORY_MB = 320
"""What DuckDB may use before it writes to the temporary folder; the process has some 130 MB beside it."""
_MOST_THREADS = 4


def open_database(file: Path | None = None, memory_mb: int = MEMORY_MB) -> duckdb.DuckDBPyConnection:
    """An empty database, in memory or in a new file. memory_mb: what it may use before it writes to a folder."""
    return duckdb.connect(
        str(file or ":memory:"),
        config={
            "threads": min(os.cpu_count() or 1, _MOST_THREADS),
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(spill_folder() if file is None else file.parent / "spilled"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # A name that is not a table's must not be found among the program's variables.
            "python_enable_replacements": "false",
        },
    )


@cache
def spill_folder() -> Path:
    """Where this process's databases in memory write what does not fit; gone with the process."""
    ends = ExitStack()
    atexit.register(ends.close)
    return ends.enter_context(own_folder("rollcall-duckdb-"))


def files_of(folder: Path, database: duckdb.DuckDBPyConnection, version: int | None = None) -> list[str]:
    """The paths of a Delta table's data files at a version, by default the latest; torn and missing ones are left out.

    Raises DeltaLogError: there is no table, or it cannot be read so; OSError; duckdb.Error for a broken checkpoint.
    """

    def read_checkpoint(paths: Sequence[Path]) -> Iterator[AddedFile]:
        read = f"SELECT add.path FROM read_parquet([{_listed(paths)}]) WHERE add IS NOT NULL"
        for (path,) in database.execute(read).fetchall():
            yield AddedFile(path=path)

    def look() -> tuple[list[Path], dict[Path, str]]:
        paths = live_files(DeltaLog(folder), read_checkpoint, version).paths
        return paths, {path: fault for path in paths if (fault := fault_of_parquet(path)) is not None}

    paths, faults = look()
    if faults:
        # A file that is gone may have been replaced while the log was read.
        paths, faults = look()
    for path, fault in faults.items():
        left_out(folder.name, path.name, fault)
    return [str(path) for path in paths if path not in faults]


def rows_of(files: Sequence[str], table: Table) -> str:
    """What stands in FROM for the rows of a table's files; there must be one. A day's files alone are read for it."""
    days = ", hive_partitioning = true, hive_types = {'at_date': DATE}" if table.partition_by else ""
    return f"read_parquet([{_listed(files)}]{days})"


def quoted(path: str | Path) -> str:
    """A path as it stands between the quotation marks of SQL."""
    return str(path).replace("'", "''")


def _listed(paths: Sequence[str | Path]) -> str:
    return ", ".join(f"'{quoted(path)}'" for path in paths)
