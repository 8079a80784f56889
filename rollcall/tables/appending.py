"""Makes a home's tables, opens them for writing, and appends rows, each numbered batch once.

Uses delta-rs. Knows a table's columns and properties, and the number that a commit carries; must not know what is in a
row, nor where the properties' values come from.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Schema, Transaction, write_deltalake
from deltalake.exceptions import DeltaError

from rollcall.schemas.tables import Table
from rollcall.tables.delta_log import LOG_FOLDER
from rollcall.tables.properties import differing

OpenTable = DeltaTable
"""A table that is open for writing."""
_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)
_TRIES = 10
_PAUSE_S = 0.05


def make_table(path: str | Path, table: Table, properties: dict[str, str]) -> None:
    """Makes the table if it does not exist; an existing one stays unchanged. With delta-rs two processes could both
    make a table, with one commit each. So the log is made elsewhere and renamed, which succeeds for one process only.
    """
    folder = Path(path)
    if DeltaTable.is_deltatable(str(folder)):
        return
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder, prefix="_made_") as apart:
        DeltaTable.create(
            apart, schema=table.arrow, partition_by=list(table.partition_by), configuration=dict(properties)
        )
        try:
            os.rename(Path(apart, LOG_FOLDER), folder / LOG_FOLDER)
        except OSError:
            if not DeltaTable.is_deltatable(str(folder)):
                raise


def open_table(path: str | Path, table: Table, properties: dict[str, str]) -> OpenTable:
    """The table at a path, made if it does not exist; it has these properties, and all columns, afterwards."""
    make_table(path, table, properties)
    for _ in range(_TRIES - 1):
        # Others append meanwhile: the next version is taken, or the folder was listed with a gap.
        with suppress(DeltaError):
            return _opened(path, table, properties)
        time.sleep(_PAUSE_S)
    return _opened(path, table, properties)


def _opened(path: str | Path, table: Table, properties: dict[str, str]) -> OpenTable:
    opened = DeltaTable(str(path))
    there = {field.name for field in opened.schema().fields}
    if missing := [field for field in Schema.from_arrow(table.arrow).fields if field.name not in there]:
        opened.alter.add_columns(missing)
    if changes := differing(opened.metadata().configuration, properties):
        opened.alter.set_table_properties(changes)
    return opened


def append(table: str | OpenTable, rows: pa.Table) -> None:
    """Appends in one commit; makes the table if it does not exist."""
    write_deltalake(table, rows, mode="append")


def last_number(path: str, app_id: str) -> int | None:
    """The number of a writer's last commit; None: there is none."""
    return DeltaTable(path).transaction_version(app_id)


def append_once(table: OpenTable, rows: pa.Table, app_id: str, number: int, *, has_upkeep: bool) -> None:
    """One commit that carries the writer's number (Delta's action `txn`); nothing where the table has that number.

    has_upkeep: upkeep writes the log's checkpoints, so that no commit has to.
    """
    done = table.transaction_version(app_id)
    if done is not None and done >= number:
        return
    write_deltalake(
        table,
        rows,
        mode="append",
        commit_properties=CommitProperties(app_transactions=[Transaction(app_id, number)]),
        post_commithook_properties=_NO_HOOKS if has_upkeep else None,
    )
