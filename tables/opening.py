"""Makes a home's tables and opens them for writing, by delta-rs.

Knows a table's columns and properties; must not know its rows, nor where the properties' values come from.
"""

from __future__ import annotations

import os
import time
from pathlib import Path
from tempfile import TemporaryDirectory

from deltalake import DeltaTable
from deltalake.exceptions import DeltaError

from schemas.tables import Table
from tables.delta_log import LOG_FOLDER
from tables.properties import differing

_TRIES = 10
_PAUSE_S = 0.05


def make_table(path: str | Path, table: Table, properties: dict[str, str]) -> None:
    """Makes the table if it is not there; one that is there stays as it is.

    delta-rs lets two processes make a table twice, one commit each. So the log is made apart and renamed, which works
    for one of them alone.
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


def open_table(path: str | Path, table: Table, properties: dict[str, str]) -> DeltaTable:
    """The table at a path, made if it is not there, with these properties afterwards, whoever made it."""
    make_table(path, table, properties)
    tries = 0
    while True:
        tries += 1
        try:
            opened = DeltaTable(str(path))
            changes = differing(opened.metadata().configuration, properties)
            if changes:
                opened.alter.set_table_properties(changes)
        except DeltaError:
            # Others append meanwhile: the next version is taken, or the folder was listed with a gap.
            if tries == _TRIES:
                raise
            time.sleep(_PAUSE_S)
            continue
        return opened
