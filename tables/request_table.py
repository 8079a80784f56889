"""The request table as everybody outside Spark writes it: rows in, one file and one commit a call.

Knows the table's columns; must not know what a request says.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import REQUESTS
from tables.delta_appender import DeltaAppender
from tables.delta_log import DeltaLog
from tables.properties import request_properties


class RequestTable:
    """Appends requests for one writer, whose id is unlike any other's."""

    def __init__(self, path: Path, writer_id: str) -> None:
        self._path = path
        self._log = DeltaLog(path)
        self._appender = DeltaAppender(path)
        self._writer_id = writer_id
        self._numbers = itertools.count(1)

    def open(self) -> None:
        """Makes the table if the coordinator has not done so yet, which sets its own properties when it starts."""
        if self._log.latest() >= 0:
            return
        # Imported here: a process that finds the table there needs no Delta library, and saves a hundred megabytes.
        from tables.opening import make_table

        make_table(self._path, REQUESTS, request_properties())

    def append(self, rows: pa.Table) -> None:
        """All the rows, at least one, in one commit. Raises OSError."""
        name = f"part-{self._writer_id}-{next(self._numbers):010d}.parquet"
        try:
            pq.write_table(rows, self._path / name, compression="zstd", use_dictionary=False, write_statistics=False)
        except OSError:
            # On a full disk each try would leave another piece of a file.
            (self._path / name).unlink(missing_ok=True)
            raise
        self._appender.append(name, rows.num_rows)
