"""Imports a replay's log in a thread of its own: its requests go into the request table, ahead of the stream.

The heartbeats of each commit are packed into runs, so a row may stand for many requests. Knows the tables that an
import fills and how far it may be ahead; must not know what the stream does with the rows.
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
from request_log.in_runs import Row, in_runs
from request_log.recorded import OrderedRequest, Quarantined
from schemas.tables import REQUESTS, TICK_ID
from tables.request_rows import request_rows

REQUESTS_A_COMMIT = 20_000
REQUESTS_A_QUERY = 100_000
"""How many requests one run of the stream has at least, unless the log is at its end."""
UNFIT_AT_MOST = 5_000
"""So many bad lines, each cut to some kilobytes, are held before they are written."""
AHEAD_AT_MOST = 1_200_000
"""How many requests may be written that the stream has not applied yet; this limits the memory for recorded answers."""
WATERMARK_DELAY_MS = 1
"""Two runs may share a millisecond, and Spark drops rows of the second run that are not later than its watermark."""


@dataclass
class Import:
    """One log's import."""

    log: LogImport
    home: Home
    expect: Callable[[Sequence[Row]], None]
    """Called with rows before they are written, so no answer comes before its row is expected."""
    written: int = 0
    """How many requests are in the request table, each heartbeat of a run counted."""
    applied: int = 0
    """How many of them the stream has applied."""
    share_read: float = 0.0
    """How much of the log is read, from 0 to 1."""
    is_done: bool = False
    error: Exception | None = None
    """What ended the import early."""
    _unfit: list[Quarantined] = field(default_factory=list)
    """Lines that could not be understood, and are not written yet."""
    _changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        self.log.quarantine = self._hold_unfit

    def run(self) -> None:
        """Imports the whole log; keeps in `error` what goes wrong."""
        try:
            self._import()
        except Exception as error:
            self.error = error
        with self._changed:
            self.is_done = True
            self._changed.notify_all()

    def wait_for_work(self) -> None:
        """Waits until there are enough requests for one run of the stream, or until no more will come."""
        with self._changed:
            self._changed.wait_for(lambda: self.is_done or self.written - self.applied >= REQUESTS_A_QUERY)

    def note_applied(self, requests: int) -> None:
        """The stream has applied so many requests."""
        with self._changed:
            self.applied = requests
            self._changed.notify_all()

    def read_share(self, share: float) -> None:
        self.share_read = share

    def _import(self) -> None:
        requests: list[OrderedRequest] = []
        for ordered in self.log:
            requests.append(ordered)
            if len(requests) >= REQUESTS_A_COMMIT:
                self._write(requests)
                requests = []
        self._write(requests)
        self._write_tick()
        self._write_unfit()

    def _write(self, requests: Sequence[OrderedRequest]) -> None:
        if not requests:
            return
        rows = in_runs(requests)
        self.expect(rows)
        write_deltalake(self.home.requests, request_rows(row.request for row in rows), mode="append")
        with self._changed:
            self.written += len(requests)
            self._changed.notify_all()
            self._changed.wait_for(lambda: self.written - self.applied < AHEAD_AT_MOST)

    def _write_tick(self) -> None:
        """Lets time pass up to the log's last moment, so that every deadline up to then fires."""
        last_ms = self.log.tally.last_at_ms
        if last_ms is None:
            return
        tick_ms = last_ms + 1 + WATERMARK_DELAY_MS
        tick = {name: [None] for name in REQUESTS.names} | {"request_id": [TICK_ID], "received_at_ms": [tick_ms]}
        write_deltalake(self.home.requests, pa.table(tick, schema=REQUESTS.arrow), mode="append")

    def _hold_unfit(self, line: Quarantined) -> None:
        self._unfit.append(line)
        if len(self._unfit) >= UNFIT_AT_MOST:
            self._write_unfit()

    def _write_unfit(self) -> None:
        if self._unfit:
            write_deltalake(self.home.quarantine, quarantine_of_lines(self._unfit), mode="append")
            self._unfit.clear()
