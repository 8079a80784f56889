"""Loads the files of a home's effects into the page's database; only unreadable parts are lost, and logged.

Knows a table's files and columns; must not know which lists are made of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import duckdb

from rollcall.answers.sql.engine import rows_in
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.readable_files import ask_readable
from rollcall.tables.unread import fault_of_parquet, left_out, row_named
from rollcall.tables.versions import Versions


def appended(versions: Versions, version: int) -> list[str]:
    """The files that a version added; unreadable ones are left out and logged."""
    try:
        paths = list(versions.appended(version) or ())
    except ValueError as error:
        left_out(EFFECTS.name, f"version {version}", error)
        return []
    faults = {path: fault for path in paths if (fault := fault_of_parquet(path)) is not None}
    for path, fault in faults.items():
        left_out(EFFECTS.name, f"{path.name} of version {version}", fault)
    return [str(path) for path in paths if path not in faults]


def insert(
    cursor: duckdb.DuckDBPyConnection, table: str, files: Sequence[str], only: str = "true"
) -> tuple[int, list[tuple[str, str]]]:
    """Loads the rows of files, all or none; returns how many, and their groups and effects. only: which rows. A damaged
    file is left out, and so is a row whose detail is not JSON or too long; both are logged. Raises duckdb.Error,
    OSError: they cannot be read just now.
    """
    return ask_readable(partial(_inserted, cursor, table, only), files)


def _inserted(
    cursor: duckdb.DuckDBPyConnection, table: str, only: str, files: Sequence[str]
) -> tuple[int, list[tuple[str, str]]]:
    if not files:
        return 0, []
    source = f"(SELECT *, detail IS NOT NULL AND NOT json_valid(detail) AS is_broken FROM {rows_in(EFFECTS, files)})"
    cursor.execute("BEGIN")
    try:
        rows = f"SELECT {columns()} FROM {source} WHERE NOT is_broken AND {only}"
        inserted = cursor.execute(f"INSERT INTO {table} {rows}").fetchone()
        broken = cursor.execute(f"SELECT group_id, seq FROM {source} WHERE is_broken").fetchall()
        found = cursor.execute(f"SELECT group_id, effect FROM {source} GROUP BY ALL").fetchall()
        cursor.execute("COMMIT")
    except duckdb.Error:
        cursor.execute("ROLLBACK")
        raise
    for group_id, seq in broken:
        left_out(EFFECTS.name, row_named(group_id, seq), "its detail is not JSON")
    return (inserted[0] if inserted else 0), found


def columns() -> str:
    return ", ".join(EFFECTS.names)
