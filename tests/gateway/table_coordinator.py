"""A coordinator over the tables without Spark: a thread that applies the request table to the core, in real time.

Stands in for the coordinator job where a test is about the gateway. Must not know the wire.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
from deltalake import DeltaTable, write_deltalake

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.step import expire_due, step
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import StreamRequest
from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.job_status import StatusWriter

_DAY_MS = 86_400_000


class TableCoordinator:
    """Batches of at least batch_s each until it is stopped; may be started again on the same groups."""

    def __init__(
        self, home: Path, config: GroupConfig, batch_s: float = 0.02, *, reports_batches: bool = False
    ) -> None:
        self.home = home
        self.config = config
        self.batch_s = batch_s
        self.groups: dict[str, Group] = {}
        self.requests: list[StreamRequest] = []
        self._log = DeltaLog(home / REQUESTS.name)
        self.between_batches = threading.Lock()
        """Who holds it has the coordinator wait before its next batch."""
        self._next = 0
        self._seq = 0
        self._decoder = msgspec.json.Decoder(StreamRequest)
        self._effects = str(home / EFFECTS.name)
        self._status = StatusWriter(home) if reports_batches else None
        self._error: Exception | None = None

    def __enter__(self) -> TableCoordinator:
        DeltaTable.create(self._effects, schema=EFFECTS.arrow, mode="ignore", partition_by=list(EFFECTS.partition_by))
        self._table = DeltaTable(self._effects)
        self._is_stopping = False
        self._thread = threading.Thread(target=self._run)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_stopping = True
        self._thread.join()
        if self._error is not None:
            raise self._error

    def _run(self) -> None:
        while not self._is_stopping:
            began = time.monotonic()
            try:
                with self.between_batches:
                    self._batch()
            except Exception as error:
                self._error = error
                return
            time.sleep(max(0.001, self.batch_s - (time.monotonic() - began)))

    def _batch(self) -> None:
        now_ms = time.time_ns() // 1_000_000
        rows: list[dict[str, object]] = []
        while self._log.has(self._next):
            for path in self._log.appended(self._next) or []:
                requests = [self._decoder.decode(text) for text in pq.ParquetFile(path).read()["request"].to_pylist()]
                for request in sorted(requests, key=lambda r: (r.received_at_ms, r.request_seq)):
                    self.requests.append(request)
                    group = self.groups.setdefault(group_id_of(request), Group(group_id_of(request)))
                    self._note(rows, group, expire_due(group, now_ms - 1, self.config))
                    self._note(rows, group, step(group, request, now_ms, self.config))
            self._next += 1
        for group in self.groups.values():
            self._note(rows, group, expire_due(group, now_ms, self.config))
        if rows:
            write_deltalake(self._table, pa.Table.from_pylist(rows, schema=EFFECTS.arrow), mode="append")
        if self._status is not None:
            self._status.batch_done(0, len(rows), 0)

    def _note(self, rows: list[dict[str, object]], group: Group, effects: list[Effect]) -> None:
        for effect in effects:
            self._seq += 1
            values = msgspec.to_builtins(row_of(effect, self._seq))
            rows.append({**values, "group_id": group.group_id, "at_date": effect.at_ms // _DAY_MS})
