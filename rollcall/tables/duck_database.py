"""DuckDB over the files of a home's tables: how it is set up, and which files a table has.

A database of this process, in memory, that loads no extensions and spills to a temporary folder. Knows Delta's log by
`rollcall.tables.delta_log`; must not know what is in a table's rows, nor load pyarrow or deltalake.
"""

from __future__ import annotations

import atexit
import os
import shutil
from collections.abc import Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import duckdb

from rollcall.schemas.tables import Table
from rollcall.tables.delta_log import DeltaLog, live_files
from rollcall.tables.own_folder import own_folder
from rollcall.tables.unread import fault_of_parquet, whole_files

MEMORY_MB = 320
"""Memory of DuckDB before it spills to the temporary folder; the process uses some 130 MB beside it."""
_MOST_THREADS = 4
SPILLED_MB = 20_000
"""The most that it spills at one time; never more than half of the free space."""


def open_database(file: Path | None = None, memory_mb: int = MEMORY_MB) -> duckdb.DuckDBPyConnection:
    """An empty database, in memory or in a new file. memory_mb: what it may use before it writes to a folder."""
    spilled = spill_folder() if file is None else file.parent
    room_mb = max(min(SPILLED_MB, shutil.disk_usage(spilled).free // 2_000_000), 1)
    database = duckdb.connect(
        str(file or ":memory:"),
        config={
            "threads": min(os.cpu_count() or 1, _MOST_THREADS),
            "memory_limit": f"{memory_mb}MB",
            "temp_directory": str(spilled if file is None else spilled / "spilled"),
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            # A name that is not a table's must not be found among the program's variables.
            "python_enable_replacements": "false",
            # This optimizer aggregates a whole table below a join that needs a few of its rows: seconds for a query of
            # one group.
            "disabled_optimizers": "partial_aggregate_pushdown",
        },
    )
    # Among the settings above it bounds nothing.
    database.execute(f"SET max_temp_directory_size = '{room_mb}MB'")
    return database


@cache
def spill_folder() -> Path:
    """Where this process's databases in memory write what does not fit; gone with the process."""
    ends = ExitStack()
    atexit.register(ends.close)
    return ends.enter_context(own_folder("rollcall-duckdb-"))


def files_of(folder: Path, version: int | None = None) -> list[str]:
    """The paths of a Delta table's data files at a version, by default the latest; torn and missing ones are left out.

    Raises DeltaLogError: there is no table, or it cannot be read so; OSError.
    """
    paths = live_files(DeltaLog(folder), version).paths
    if any(map(fault_of_parquet, paths)):
        # A file that is gone may have been replaced while the log was read.
        paths = live_files(DeltaLog(folder), version).paths
    return [str(path) for path in whole_files(folder.name, paths)]


def rows_of(files: Sequence[str], table: Table) -> str:
    """The FROM clause for the rows of a table's files, at least one. Of a day only its own files are read."""
    days = ", hive_partitioning = true, hive_types = {'at_date': DATE}" if table.partition_by else ""
    listed = ", ".join(f"'{quoted(path)}'" for path in files)
    if not table.added:
        return f"read_parquet([{listed}]{days})"
    nulls = ", ".join(f"CAST(NULL AS VARCHAR) AS {name}" for name in table.added)
    read = f"SELECT * FROM read_parquet([{listed}]{days}, union_by_name = true)"
    return f"({read} UNION ALL BY NAME SELECT {nulls} WHERE false)"


def quoted(path: str | Path) -> str:
    return str(path).replace("'", "''")
