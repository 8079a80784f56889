"""A query is stopped between two batches, also one that is behind and so never without a batch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from pyspark.sql.streaming.query import StreamingQuery

from rollcall.jobs.stream.query import stop_after_batch


class Behind:
    """A query whose next batch begins as soon as one has finished; each look at its status is a quarter of a batch."""

    isActive = True

    def __init__(self) -> None:
        self.looks = 0
        self.stopped_in: int | None = None

    @property
    def status(self) -> dict[str, Any]:
        self.looks += 1
        return {"isTriggerActive": True}

    @property
    def lastProgress(self) -> Any:
        done = self.looks // 4
        return SimpleNamespace(batchId=done - 1) if done else None

    def stop(self) -> None:
        self.stopped_in, self.isActive = self.looks // 4, False


def test_a_query_that_is_behind_stops_after_its_running_batch() -> None:
    query = Behind()
    stop_after_batch(cast(StreamingQuery, query))
    assert query.stopped_in == 1


def test_an_urgent_stop_waits_for_no_batch() -> None:
    query = Behind()
    stop_after_batch(cast(StreamingQuery, query), lambda: True)
    assert query.stopped_in == 0
