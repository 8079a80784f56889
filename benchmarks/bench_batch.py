"""A batch of the coordinator's query with one request: where its time goes, beside a batch that only reads it.

By Spark's own durations (StreamingQueryProgress.durationMs), once the JVM's compiler has settled, without the wait for
the request. Must not know what a request leads to.
"""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.figures import Anchor, Figure, bench
from benchmarks.processes import folder, processor_seconds, seconds_since
from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.session import home_session
from rollcall.jobs.stream.query import start
from rollcall.jobs.stream.sources.delta_table import load_delta
from rollcall.tables.appending import append_once
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import RequestTable, request_rows
from tests import requests
from tests.waiting import until

WARM, MEASURED = 150, 100
ONLY_READS = "a batch that only reads the request"
_SESSION_MS = 1_800_000
"""No member expires meanwhile, which would be a batch of its own."""
_EVERY_S = 0.002


class Batches(NamedTuple):
    """Medians of a query's batches, in milliseconds."""

    processor_ms: float
    """Of all processes, per batch."""
    planning_ms: float
    logs_ms: float
    """The checkpoint's logs of offsets and of commits."""
    add_batch_ms: float

    @property
    def whole_ms(self) -> float:
        return self.planning_ms + self.logs_ms + self.add_batch_ms


@bench
def of_one_request() -> Iterator[Figure]:
    """One member joins a group of its own; each request is sent once the batch before has ended."""
    config = JobConfig.from_pairs({"group.initial.rebalance.delay.ms": "0"})
    began_s, foreach_ms = list[float](), list[float]()

    def begins() -> None:
        began_s.append(time.perf_counter())

    def ends(_: object) -> None:
        foreach_ms.append((time.perf_counter() - began_s[-1]) * 1000)

    with folder() as path:
        home, bare_home = Home(path / "home"), Home(path / "bare")
        home.path.mkdir()
        spark = home_session(home, "bench")
        batches = _batches(home, start(spark, home, config, before_batch=begins, on_batch=ends).query)
        open_requests(bare_home)
        reading = load_delta(spark, bare_home, config).writeStream.foreachBatch(_read)
        bare = _batches(bare_home, reading.option("checkpointLocation", bare_home.checkpoint).start())
        spark.stop()
        table = open_requests(Home(path / "other"))
        commit_ms = _median_ms(lambda number: append_once(table, _row(number), "bench", number, has_upkeep=True))
        fsync_ms = _median_ms(partial(_fsync, path / "synced"))
    inner_ms = median(foreach_ms[-MEASURED:])
    for name, ours, reads in zip(Batches._fields, batches, bare, strict=True):
        yield Figure(name.removesuffix("_ms"), ours, "ms", anchor=Anchor(reads, ONLY_READS))
    yield Figure("whole", batches.whole_ms, "ms", anchor=Anchor(bare.whole_ms, ONLY_READS))
    yield Figure("foreach_batch", inner_ms, "ms")
    yield Figure("delta_commit", commit_ms, "ms")
    yield Figure("fsync", fsync_ms, "ms")
    yield Figure("loopback_round_trip", _round_trip_ms(), "ms")


def _batches(home: Home, query: StreamingQuery) -> Batches:
    """What the last of the batches of a query take, which is stopped then."""
    table = RequestTable(Path(home.requests), "bench")
    table.open()
    progress, before = list[Any](), dict[int, float]()
    for number in range(WARM + MEASURED):
        if number == WARM:
            before = processor_seconds(os.getpid())
        table.append(_row(number))
        last = progress[-1].batchId if progress else -1
        until(lambda: _has_read(query, last), "a batch with the request", every_s=_EVERY_S)  # noqa: B023
        progress.append(query.lastProgress)
    processor_ms = seconds_since(os.getpid(), before) / MEASURED * 1000
    table.close()
    query.stop()
    found = [each.durationMs for each in progress[-MEASURED:]]
    return Batches(
        processor_ms,
        median(each["queryPlanning"] for each in found),
        median(each["walCommit"] + each["commitOffsets"] for each in found),
        median(each["addBatch"] for each in found),
    )


def _has_read(query: StreamingQuery, last: int) -> bool:
    progress = query.lastProgress
    return progress is not None and progress.batchId > last and progress.numInputRows > 0


def _row(number: int) -> pa.Table:
    now_ms = time.time_ns() // 1_000_000
    join = requests.join(
        "orders", now_ms, f"group-{number}", request_id=f"request-{number}", session_timeout_ms=_SESSION_MS
    )
    return request_rows([join])


def _read(rows: DataFrame, _: int) -> None:
    rows.toArrow()


def _median_ms(act: Callable[[int], object]) -> float:
    took = []
    for number in range(MEASURED):
        began_s = time.perf_counter()
        act(number)
        took.append(time.perf_counter() - began_s)
    return median(took) * 1000


def _fsync(path: Path, number: int) -> None:
    with path.open("wb") as file:
        file.write(bytes([number % 256]))
        file.flush()
        os.fsync(file.fileno())


def _round_trip_ms() -> float:
    """A byte from one socket on this machine to another, and back."""
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as asking:
        answering, _ = server.accept()

        def ask(_: int) -> None:
            asking.sendall(b"a")
            answering.sendall(answering.recv(1))
            asking.recv(1)

        with answering:
            return _median_ms(ask)
