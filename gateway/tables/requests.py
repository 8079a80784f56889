"""The request table as a gateway writes it: rows in, one file and one commit a call.

Knows the table's columns; must not know what a request says.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gateway.tables.delta_log import DeltaLog
from schemas.tables import REQUESTS

_CONFIGURATION = {
    "delta.checkpointInterval": "100",
    "delta.logRetentionDuration": "interval 24 hours",
    "delta.deletedFileRetentionDuration": "interval 24 hours",
}


class Row(NamedTuple):
    """A row of the request table, its columns in order."""

    group_id: str
    request_id: str
    received_at_ms: int
    request_seq: int
    request: str


class RequestTable:
    """Appends requests for one gateway."""

    def __init__(self, path: Path, gateway_id: str) -> None:
        self._log = DeltaLog(path)
        self._path = path
        self._gateway_id = gateway_id
        self._numbers = itertools.count(1)

    def open(self) -> None:
        """Makes the table if the coordinator has not done so yet."""
        if self._log.exists():
            return
        # Imported here: a gateway whose table is there does without it, and saves as much memory again as it has.
        from deltalake import DeltaTable

        self._path.parent.mkdir(parents=True, exist_ok=True)
        DeltaTable.create(str(self._path), schema=REQUESTS.arrow, mode="ignore", configuration=_CONFIGURATION)

    def append(self, rows: Sequence[Row]) -> None:
        """All the rows in one commit. Raises OSError."""
        columns = [
            pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), REQUESTS.arrow, strict=True)
        ]
        name = f"part-{self._gateway_id}-{next(self._numbers):010d}.parquet"
        table = pa.Table.from_arrays(columns, schema=REQUESTS.arrow)
        pq.write_table(table, self._path / name, compression="zstd", use_dictionary=False, write_statistics=False)
        self._log.append(name, len(rows))
