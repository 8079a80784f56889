"""Puts the streaming query together: source, `coordinate`, writer. The job, the tests and notebooks start it here.

Must not know how a part works, nor what starts or stops the program.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from rollcall.coordinator_udfs.group_udf import coordinate
from rollcall.coordinator_udfs.settings import Clock
from rollcall.jobs.config import PREFIX, JobConfig
from rollcall.jobs.stream.sources import SOURCES
from rollcall.jobs.stream.writers import make_writer
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.programs.errors import ConfigError
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.versions import Versions

_POLL_S = 0.005


class Coordinator(NamedTuple):
    """A running query."""

    query: StreamingQuery
    started_at_ms: int
    """When it was started, ms since the epoch."""


def start(
    spark: SparkSession,
    home: Home,
    config: JobConfig,
    *,
    until_drained: bool = False,
    before_batch: Callable[[], None] | None = None,
    on_batch: Callable[[BatchResult], None] | None = None,
    status: str = "",
) -> Coordinator:
    """Starts the coordinator on a home.

    until_drained: the query ends when it has processed all present requests. before_batch: called before each batch is
    written; an exception ends the query. on_batch: called after the commits of each batch. status: the file in which
    on_batch notes until when no batch is needed; empty: one runs each tick. Raises ConfigError (see check_fits);
    Missing: a source's connector is not there.
    """
    check_fits(home, config)
    if config.source == "delta":
        open_requests(home, config.versions_retention_minutes)
    # On the event clock the last watermark starts one more batch, an empty one, which fires the deadlines before that
    # watermark; on the processing clock the ticks do that.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", str(config.clock is Clock.EVENT).lower())
    started_at_ms = int(time.time() * 1000)
    requests = SOURCES[config.source](spark, home, config, status)
    effects = coordinate(requests, config.stream_settings(started_at_ms, rests=bool(status)))
    writer = make_writer(spark, home, config)

    def write(batch: DataFrame, batch_id: int) -> None:
        if before_batch is not None:
            before_batch()
        result = writer.write(batch, batch_id)
        if on_batch is not None:
            on_batch(result)

    stream = effects.writeStream.queryName("coordinator").outputMode("append").foreachBatch(write)
    stream = stream.option("checkpointLocation", home.checkpoint)
    if until_drained:
        stream = stream.trigger(availableNow=True)
    else:
        stream = stream.trigger(processingTime=f"{config.trigger_interval_ms} milliseconds")
    query = stream.start()
    writer.query_id.set_result(query.id)
    return Coordinator(query, started_at_ms)


def check_fits(home: Home, config: JobConfig) -> None:
    """Raises ConfigError: the home is in an object store, but its source or its writer needs this machine's disk."""
    if home.is_local:
        return
    if config.source != "kafka":
        raise ConfigError(f"{PREFIX}source={config.source}: reads this machine's disk, and the home is {home.shown}")
    if config.effects_writer == "driver":
        raise ConfigError(
            f"{PREFIX}effects.writer=driver: writes to this machine's disk, and the home is {home.shown}: "
            f"{PREFIX}effects.writer=cluster writes there"
        )


def stop_after_batch(query: StreamingQuery, is_urgent: Callable[[], bool] = lambda: False) -> None:
    """Lets the running batch finish, then stops the query; stops it at once if is_urgent returns true.

    A query that is behind begins its next batch at once. That one is interrupted, and Spark runs it again at the next
    start.
    """
    before = _last_batch(query)
    while query.isActive and query.status["isTriggerActive"] and _last_batch(query) == before and not is_urgent():
        time.sleep(_POLL_S)
    query.stop()


def _last_batch(query: StreamingQuery) -> int | None:
    progress = query.lastProgress
    return None if progress is None else progress.batchId


def unread_commits(query: StreamingQuery, home: Home) -> int | None:
    """How many commits of the request table the last batch had not read; None before the first batch."""
    progress = query.lastProgress
    if progress is None:
        return None
    offset = json.loads(progress.sources[0].endOffset or "{}")
    return Versions(Path(home.requests)).latest() - int(offset["version"]) if "version" in offset else None


def failure_of(query: StreamingQuery) -> str | None:
    """Why a query failed, in a line or two without a stack trace; None if it did not fail."""
    error = query.exception()
    if error is None:
        return None
    text = str(error)
    # The error that a Python function raised is the last line of its traceback.
    raised = re.findall(r"^(?:\w+\.)*\w*(?:Error|Exception|TooLarge): (.+)$", text, re.MULTILINE)
    if "Traceback (most recent call last)" in text and raised:
        return str(raised[-1])
    return text.strip().splitlines()[0]
