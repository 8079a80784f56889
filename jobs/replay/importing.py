"""A replay's importer at work in a thread of its own: the log's rows into the request table, ahead of the stream.

Knows the tables that an import fills and how far it may be ahead; must not know what the stream does with the rows.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
from deltalake import write_deltalake

from jobs.home import Home
from jobs.stream.quarantine import quarantine_of_lines
from request_log.importer import LogImport
from request_log.recorded import OrderedRequest, Quarantined
from schemas.tables import REQUESTS, TICK_ID
from tables.request_rows import request_rows

ROWS_A_COMMIT = 20_000
ROWS_A_RUN = 100_000
AHEAD_AT_MOST = 1_200_000
"""How many rows may be written that the stream has not applied yet: what bounds the memory for recorded answers."""
WATERMARK_DELAY_MS = 1
"""A run may end within a millisecond, and Spark drops from the next one what is not later than its watermark."""


@dataclass
class Import:
    """One log's import. expect: is told of rows before they are written, so that no answer comes before."""

    log: LogImport
    home: Home
    expect: Callable[[Sequence[OrderedRequest]], None]
    unfit: list[Quarantined] = field(default_factory=list)
    written: int = 0
    applied: int = 0
    share_read: float = 0.0
    is_done: bool = False
    error: Exception | None = None
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def run(self) -> None:
        """Imports the whole log; what goes wrong is kept in `error`."""
        try:
            self._import()
        except Exception as error:
            self.error = error
        with self._changed:
            self.is_done = True
            self._changed.notify_all()

    def wait_for_work(self) -> None:
        """Until there is enough for the stream to run once, or nothing more will come."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done or self.written - self.applied >= ROWS_A_RUN)

    def note_applied(self, rows: int) -> None:
        """So many rows are through the stream."""
        with self._changed:
            self.applied = rows
            self._changed.notify_all()

    def read_share(self, share: float) -> None:
        self.share_read = share

    def _import(self) -> None:
        rows: list[OrderedRequest] = []
        for row in self.log:
            rows.append(row)
            if len(rows) >= ROWS_A_COMMIT:
                self._write(rows)
                rows = []
        self._write(rows)
        self._write_tick()
        self._write_unfit()

    def _write(self, rows: Sequence[OrderedRequest]) -> None:
        if not rows:
            return
        self.expect(rows)
        write_deltalake(self.home.requests, request_rows(row.request for row in rows), mode="append")
        with self._changed:
            self.written += len(rows)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.written - self.applied < AHEAD_AT_MOST)

    def _write_tick(self) -> None:
        """Lets time pass up to the log's last moment, so that what fell due by then has happened."""
        last_ms = self.log.tally.last_at_ms
        if last_ms is None:
            return
        tick_ms = last_ms + 1 + WATERMARK_DELAY_MS
        tick = {name: [None] for name in REQUESTS.names} | {"request_id": [TICK_ID], "received_at_ms": [tick_ms]}
        write_deltalake(self.home.requests, pa.table(tick, schema=REQUESTS.arrow), mode="append")

    def _write_unfit(self) -> None:
        if not self.unfit:
            return
        write_deltalake(self.home.quarantine, quarantine_of_lines(self.unfit), mode="append")
