"""The request table: requests as its rows, and rows appended without Spark or a Delta library.

One call is one file and one commit. A gateway commits thirty times a second. Delta libraries read the list of all the
table's files anew for each commit, tens of milliseconds of a core; appending does not.
`rollcall.tables.compaction` merges the files. Each writer holds a locked file in the home's folder `writers` while it
runs; the system frees the lock however a process ends. A single writer knows that no other request comes before those
that it has appended. So a newcomer that finds others waits before its first append, longer than any of them trusts its
last look. Knows the table's columns and how a version is taken; must not know what a request says.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import StreamRequest
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.delta_log import DeltaLog, GapError
from rollcall.tables.properties import request_properties

_TRUSTED_S = 10.0
"""After a look at the folder a writer trusts its count of versions for this long; commits are kept far longer."""
_SCHEMA = REQUESTS.arrow
_encoder = msgspec.json.Encoder()
WRITERS_FOLDER = "writers"
LOOK_TRUSTED_S = 0.25
"""How long a writer that saw no other one assumes that it is alone."""
NEWCOMER_WAITS_S = 1.0


class RequestRow(NamedTuple):
    """A row of `rollcall.schemas.tables.REQUESTS`, its columns in order."""

    group_id: str
    request_id: str
    received_at_ms: int
    request_seq: int
    request: str

    @property
    def size_bytes(self) -> int:
        """How long its request is."""
        return len(self.request.encode())


def row_of(request: StreamRequest, group_id: str) -> RequestRow:
    text = _encoder.encode(request).decode()
    return RequestRow(group_id, request.request_id, request.received_at_ms, request.request_seq, text)


def table_of(rows: Iterable[RequestRow]) -> pa.Table:
    """Rows of `rollcall.schemas.tables.REQUESTS`, in their order."""
    columns = list(zip(*rows, strict=True)) or [()] * len(_SCHEMA)
    arrays = [pa.array(values, field.type) for values, field in zip(columns, _SCHEMA, strict=True)]
    return pa.Table.from_arrays(arrays, schema=_SCHEMA)


def request_rows(requests: Iterable[StreamRequest]) -> pa.Table:
    return table_of(row_of(request, group_id_of(request)) for request in requests)


def request_line(request: StreamRequest, group_id: str) -> bytes:
    """A request's row as a line of JSON, without its end."""
    return _encoder.encode(row_of(request, group_id)._asdict())


class RequestTable:
    """Appends requests for one writer, whose id is unlike any other's."""

    def __init__(self, path: Path, writer_id: str) -> None:
        self._path = path
        self._log = DeltaLog(path)
        self._version = -1
        self._looked_at = 0.0
        self._writer_id = writer_id
        self._numbers = itertools.count(1)
        self._writers = RequestWriters(path.parent, writer_id)

    def open(self) -> None:
        """Makes the table if the coordinator has not done so yet; the coordinator sets its properties when it
        starts."""
        self._writers.join()
        if self._log.latest() >= 0:
            return
        # Imported here: a process that finds the table there needs no Delta library, and saves a hundred megabytes.
        from rollcall.tables.appending import make_table

        make_table(self._path, REQUESTS, request_properties())

    def close(self) -> None:
        self._writers.leave()

    def is_alone(self) -> bool:
        """See `RequestWriters.is_alone`."""
        return self._writers.is_alone()

    def append(self, rows: pa.Table) -> None:
        """All the rows, at least one, in one commit. Raises OSError."""
        path = self._path / f"part-{self._writer_id}-{next(self._numbers):010d}.parquet"
        try:
            pq.write_table(rows, path, compression="zstd", use_dictionary=False, write_statistics=False)
        except OSError:
            # On a full disk each try would leave another partial file.
            path.unlink(missing_ok=True)
            raise
        add = {
            "path": path.name,
            "partitionValues": {},
            "size": path.stat().st_size,
            "modificationTime": time.time_ns() // 1_000_000,
            "dataChange": True,
            "stats": json.dumps({"numRecords": rows.num_rows}),
        }
        with self._log.waiting_commit("WRITE", {"mode": "Append"}, [{"add": add}]) as waiting:
            self._take_next_version(waiting)

    def _take_next_version(self, waiting: Path) -> None:
        is_taken = False
        while not is_taken:
            if time.monotonic() - self._looked_at > _TRUSTED_S:
                self._version = self._log.latest()
            self._looked_at = time.monotonic()
            try:
                is_taken = self._log.try_commit(waiting, self._version + 1)
                self._version += 1
            except GapError:
                self._looked_at = 0.0


class RequestWriters:
    """This writer, and whether there are others. home: the folder that the request table lies in."""

    def __init__(self, home: Path, writer_id: str, wait: Callable[[float], object] = time.sleep) -> None:
        self._folder = home / WRITERS_FOLDER
        self._own = writer_id
        self._wait = wait
        self._handle: int | None = None
        self._saw_nobody_at = float("-inf")

    def join(self) -> None:
        """Registers this writer; waits if there are others. Raises OSError."""
        if self._handle is not None:
            return
        self._folder.mkdir(parents=True, exist_ok=True)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        handle = os.open(self._folder / self._own, flags, 0o644)
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        self._handle = handle
        if self._others_live():
            self._wait(NEWCOMER_WAITS_S)

    def leave(self) -> None:
        if self._handle is not None:
            with suppress(OSError):
                (self._folder / self._own).unlink(missing_ok=True)
            os.close(self._handle)
            self._handle = None

    def is_alone(self) -> bool:
        """Whether no other writer's append comes before those of this writer so far."""
        now = time.monotonic()
        if self._handle is None:
            return False
        if now - self._saw_nobody_at > LOOK_TRUSTED_S:
            try:
                self._saw_nobody_at = float("-inf") if self._others_live() else now
            except OSError:
                return False
        return now - self._saw_nobody_at <= LOOK_TRUSTED_S

    def _others_live(self) -> bool:
        return any(self._lives(name) for name in os.listdir(self._folder) if name != self._own)

    def _lives(self, name: str) -> bool:
        path = self._folder / name
        try:
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False
