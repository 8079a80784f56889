"""The request table as everybody outside Spark writes it: rows in, one file and one commit a call.

Knows the table's columns; must not know what a request says.
"""

from __future__ import annotations

import itertools
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.tables import REQUESTS
from table_client.delta_log import DeltaLog

_CONFIGURATION = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 24 hours",
    "delta.deletedFileRetentionDuration": "interval 24 hours",
}


class RequestTable:
    """Appends requests for one writer, whose id is unlike any other's."""

    def __init__(self, path: Path, writer_id: str) -> None:
        self._log = DeltaLog(path)
        self._path = path
        self._writer_id = writer_id
        self._numbers = itertools.count(1)

    def open(self) -> None:
        """Makes the table if the coordinator has not done so yet."""
        if self._log.latest() >= 0:
            return
        # Imported here: whoever finds the table there does without it, and saves a hundred megabytes.
        from deltalake import DeltaTable

        self._path.parent.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(str(self._path), schema=REQUESTS.arrow, mode="ignore", configuration=_CONFIGURATION)

    def append(self, rows: pa.Table) -> None:
        """All the rows, at least one, in one commit. Raises OSError."""
        name = f"part-{self._writer_id}-{next(self._numbers):010d}.parquet"
        pq.write_table(rows, self._path / name, compression="zstd", use_dictionary=False, write_statistics=False)
        self._log.append(name, rows.num_rows)
