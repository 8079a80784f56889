"""Homes with a running coordinator for the benches that need Spark: requests appended, answers awaited, batches timed.

Knows tables and the query's own figures; must not know what a bench measures.
"""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pandas as pd
from deltalake import write_deltalake
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from coordinator_udfs.settings import StreamSettings
from jobs.config import JobConfig
from jobs.home import Home
from jobs.spark.session import spark_session
from jobs.stream import query as stream
from jobs.stream.home_tables import open_requests
from schemas.effect_names import EffectName
from schemas.effect_rows import EffectRow, texts_of
from schemas.messages import GroupRequest, StreamRequest
from schemas.tables import EFFECTS_FOLDER, STATE
from tables.request_rows import request_rows
from tables.table_follower import TableFollower

_WITHIN_S = 240
_ANSWERS = (EffectName.REPLY, EffectName.HEARTBEATS_TAKEN)
_LOOK_EVERY_S = 0.002


class Batch(NamedTuple):
    """One batch of a query: what it read, and how long all of it took."""

    rows: int
    duration_ms: int


def do_nothing(settings: StreamSettings, key: tuple[str], frames: Iterable[pd.DataFrame], state: GroupState) -> Any:
    """A row for each request and a state that never changes: what a stateful pipeline costs without a coordinator."""
    texts = [text for frame in frames for text in frame["request"].tolist()]
    if not state.exists:
        state.update(("Stable", 1, "consumer", "range", "m", 1, 0, 0, "{}"))
    state.setTimeoutDuration(3_600_000)
    rows = [
        EffectRow(
            n,
            EffectName.REPLY.value,
            state.getCurrentProcessingTimeMs(),
            json.loads(text)["request_id"],
            "Heartbeat",
            4,
        )
        for n, text in enumerate(texts)
    ]
    yield pd.DataFrame({"effects": texts_of(key[0], rows)})


def without_coordinator(requests: DataFrame, settings: StreamSettings) -> DataFrame:
    """The same pipeline as `coordinate`, around a function that does nothing."""
    packed = requests.select("group_id", "request").groupBy("group_id")
    return packed.applyInPandasWithState(
        partial(do_nothing, settings), "effects string", STATE.ddl, "append", GroupStateTimeout.ProcessingTimeTimeout
    )


@contextmanager
def session(**settings: str) -> Iterator[SparkSession]:
    """A Spark session of the local profile, stopped in the end; the profile's own where no settings are given."""
    spark = spark_session("rollcall benchmarks", {"spark.sql.streaming.numRecentProgressUpdates": "1000", **settings})
    spark.sparkContext.setLogLevel("ERROR")
    try:
        yield spark
    finally:
        spark.stop()


def heap_in_use(spark: SparkSession) -> int:
    """Bytes of the driver's heap that are in use after a collection."""
    runtime = spark._jvm.java.lang.Runtime.getRuntime()  # type: ignore[union-attr]
    runtime.gc()
    return int(runtime.totalMemory() - runtime.freeMemory())


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that is removed in the end."""
    path = Path(tempfile.mkdtemp(prefix="rollcall-bench-"))
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


class LiveHome:
    """A coordinator at work on a home of its own."""

    def __init__(self, spark: SparkSession, path: Path, pairs: dict[str, str], *, is_coordinator: bool = True) -> None:
        self.home = Home(path)
        self.config = JobConfig.from_pairs(pairs)
        open_requests(self.home, self.config)
        if is_coordinator:
            self.query = stream.start(spark, self.home, self.config).query
        else:
            with patch.object(stream, "coordinate", without_coordinator):
                self.query = stream.start(spark, self.home, self.config).query

    def stop(self) -> None:
        stream.stop_after_batch(self.query)

    def follow(self, columns: Iterable[str]) -> TableFollower:
        """What is written to the effects table from now on."""
        return TableFollower(self.home.path / EFFECTS_FOLDER, list(columns))

    def append(self, requests: Iterable[StreamRequest]) -> None:
        """All of them in one commit, hence in one batch."""
        write_deltalake(self.home.requests, request_rows(requests), mode="append")

    def append_and_wait(self, requests: Sequence[StreamRequest]) -> list[dict[str, Any]]:
        """Appends them and gives the replies once all are there; of a run of heartbeats, what was taken of it."""
        follower = self.follow(("effect", "group_id", "request_id", "error_code", "member_id", "generation_id"))
        self.append(requests)
        wanted = {request.request_id for request in requests}
        replies: list[dict[str, Any]] = []

        def are_answered() -> bool:
            for table in follower.poll():
                replies.extend(row for row in table.to_pylist() if row["effect"] in _ANSWERS)
            return len(replies) >= len(wanted)

        self.until(are_answered, f"{len(wanted)} answers")
        return replies

    def answer_ms(self, request: GroupRequest) -> float:
        """Time from the request's append to the moment its answer can be read."""
        follower = self.follow(("effect", "request_id"))

        def is_answered() -> bool:
            return any(request.request_id in table["request_id"].to_pylist() for table in follower.poll())

        started = time.perf_counter()
        self.append([request])
        self.until(is_answered, request.request_id)
        return (time.perf_counter() - started) * 1000

    def until(self, is_so: Callable[[], bool], what: str) -> None:
        """Looks until it is so. Raises RuntimeError: the query failed, or it took too long."""
        deadline = time.monotonic() + _WITHIN_S
        while not is_so():
            reason = stream.failure_of(self.query)
            if reason is not None:
                raise RuntimeError(reason)
            if time.monotonic() > deadline:
                raise RuntimeError(f"{what}: not within {_WITHIN_S} s")
            time.sleep(_LOOK_EVERY_S)

    def batches(self) -> list[Batch]:
        """The latest batches, oldest first; only those that are done."""
        return [
            Batch(p.numInputRows, p.durationMs["triggerExecution"])
            for p in self.query.recentProgress
            if "addBatch" in p.durationMs
        ]

    def idle_batches(self, count: int) -> list[Batch]:
        """Waits for this many batches without requests, from now on."""
        seen = self.query.lastProgress.batchId if self.query.lastProgress else -1

        def since() -> list[Batch]:
            return [
                Batch(p.numInputRows, p.durationMs["triggerExecution"])
                for p in self.query.recentProgress
                if p.batchId > seen and "addBatch" in p.durationMs and not p.numInputRows
            ]

        self.until(lambda: len(since()) >= count, f"{count} idle batches")
        return since()
