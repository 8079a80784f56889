"""Imports a replay's log, in a process of its own: requests into the request table, answers beside the recorded ones.

The heartbeats of each commit are packed into runs, so a row may stand for many requests. What a log records never
leaves this process: it also reads what the stream answers. Between two commits it hears how far the stream is, and it
waits where it is too far ahead. Knows the tables that an import fills and reads; must not know what the stream does.
"""

from __future__ import annotations

import signal
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from zoneinfo import ZoneInfo

import msgspec
import pyarrow as pa
from deltalake import write_deltalake

from coordinator_udfs.protocol.config import GroupConfig
from jobs.home import Home
from jobs.replay.comparison import Comparison
from jobs.stream.quarantine import quarantine_of_lines
from request_log.importer import LogImport
from request_log.in_runs import in_runs
from request_log.parity import Parity
from request_log.recorded import OrderedRequest, Quarantined, Tally
from request_log.survey import Survey
from schemas.tables import EFFECTS_FOLDER, REQUESTS, TICK_ID
from tables.request_rows import request_rows

REQUESTS_A_COMMIT = 20_000
UNFIT_AT_MOST = 5_000
"""So many bad lines, each cut to some kilobytes, are held before they are written."""
AHEAD_AT_MOST = 1_200_000
"""How many requests may be written that the stream has not applied yet; this limits the memory for recorded answers."""
WATERMARK_DELAY_MS = 1
"""Two runs may share a millisecond, and Spark drops rows of the second run that are not later than its watermark."""


class Written(msgspec.Struct):
    """So many requests are in the request table by now, each heartbeat of a run counted."""

    requests: int
    share_read: float
    """How much of the log is read, from 0 to 1."""
    is_all: bool = False


class Applied(msgspec.Struct):
    """The stream has applied so many requests."""

    requests: int
    is_all: bool = False
    """The stream applies no more."""


class Compared(msgspec.Struct):
    """What became of the log, once all of it is applied."""

    tally: Tally
    parity: Parity


class Failed(msgspec.Struct):
    """What ended an import early."""

    error: Exception


@dataclass
class ToImport:
    """One log, looked over, and the home that it goes to."""

    path: Path
    zone: ZoneInfo
    config: GroupConfig
    survey: Survey
    home: Home


def import_log(work: ToImport, driver: Connection) -> None:
    """The whole of the process: imports, compares and tells the driver, until it has all or the driver is gone."""
    # Ctrl-C reaches every process of the terminal; this one ends with the driver.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    told: Compared | Failed
    try:
        told = _Import(work, driver).run()
    except Exception as error:
        told = Failed(error)
    # A driver that is gone needs no word.
    with suppress(OSError):
        driver.send(told)


@dataclass
class _Import:
    """One log's import."""

    work: ToImport
    driver: Connection
    written: int = 0
    applied: int = 0
    is_applied: bool = False
    share_read: float = 0.0
    _unfit: list[Quarantined] = field(default_factory=list)
    """Lines that could not be understood, and are not written yet."""

    def __post_init__(self) -> None:
        work = self.work
        self.log = LogImport(
            work.path, work.zone, work.config, quarantine=self._hold_unfit, progress=self._read, survey=work.survey
        )
        self.comparison = Comparison(work.home.path / EFFECTS_FOLDER, Parity())

    def run(self) -> Compared:
        """Imports the whole log and sees all of it applied."""
        requests: list[OrderedRequest] = []
        for ordered in self.log:
            requests.append(ordered)
            if len(requests) >= REQUESTS_A_COMMIT:
                self._write(requests)
                requests = []
        self._write(requests)
        self._write_tick()
        self._write_unfit()
        self.driver.send(Written(self.written, 1.0, is_all=True))
        while not self.is_applied:
            self._hear()
        self.comparison.close()
        return Compared(self.log.tally, self.comparison.parity)

    def _write(self, requests: Sequence[OrderedRequest]) -> None:
        if not requests:
            return
        rows = in_runs(requests)
        self.comparison.expect(rows)
        write_deltalake(self.work.home.requests, request_rows(row.request for row in rows), mode="append")
        self.written += len(requests)
        self.driver.send(Written(self.written, self.share_read))
        while self.driver.poll() or self.written - self.applied >= AHEAD_AT_MOST:
            self._hear()

    def _hear(self) -> None:
        """Waits until the stream has applied more, and compares its answers."""
        told: Applied = self.driver.recv()
        self.applied, self.is_applied = told.requests, told.is_all
        self.comparison.compare()

    def _write_tick(self) -> None:
        """Lets time pass up to the log's last moment, so that every deadline up to then fires."""
        last_ms = self.log.tally.last_at_ms
        if last_ms is None:
            return
        tick_ms = last_ms + 1 + WATERMARK_DELAY_MS
        tick = {name: [None] for name in REQUESTS.names} | {"request_id": [TICK_ID], "received_at_ms": [tick_ms]}
        write_deltalake(self.work.home.requests, pa.table(tick, schema=REQUESTS.arrow), mode="append")

    def _read(self, share: float) -> None:
        self.share_read = share

    def _hold_unfit(self, line: Quarantined) -> None:
        self._unfit.append(line)
        if len(self._unfit) >= UNFIT_AT_MOST:
            self._write_unfit()

    def _write_unfit(self) -> None:
        if self._unfit:
            write_deltalake(self.work.home.quarantine, quarantine_of_lines(self._unfit), mode="append")
            self._unfit.clear()
