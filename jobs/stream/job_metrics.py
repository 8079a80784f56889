"""A running job's metrics for Prometheus, and its health for a supervisor that restarts it.

Knows Spark's progress of a batch and the names of the metrics. Must not know HTTP, nor how a batch is made.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

if TYPE_CHECKING:
    from rollcall.jobs.stream.writers.batch_result import BatchResult

SECONDS = (0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
REQUESTS = (0, 1, 10, 100, 1_000, 10_000, 50_000, 100_000, 200_000)
STALLED_AFTER_S = 120.0
"""A job with ticks is stalled when it has neither committed nor rested for this many seconds."""
_PREFIX = "rollcall_job_"


class Batch(NamedTuple):
    """Spark's report of a finished batch."""

    batch_id: int
    seconds: float
    requests: int
    unread_records: int | None
    """How many records of its Kafka topic were not read yet; None for other sources."""
    state_rows: int
    state_bytes: int


def batch_of(progress: Mapping[str, Any]) -> Batch:
    """A batch by Spark's progress report (StreamingQueryProgress)."""
    operators = progress["stateOperators"]
    return Batch(
        progress["batchId"],
        progress["durationMs"].get("triggerExecution", 0) / 1000,
        progress["numInputRows"] or 0,
        _unread_records(progress["sources"]),
        sum(each["numRowsTotal"] for each in operators),
        sum(each["memoryUsedBytes"] for each in operators),
    )


def _unread_records(sources: Iterable[Mapping[str, Any]]) -> int | None:
    unread = None
    for source in sources:
        if source["description"].startswith("KafkaV2"):
            read, latest = _offsets(source["endOffset"]), _offsets(source["latestOffset"])
            behind = sum(max(0, offset - read.get(partition, 0)) for partition, offset in latest.items())
            unread = (unread or 0) + behind
    return unread


def _offsets(text: str | Mapping[str, Mapping[str, int]] | None) -> dict[tuple[str, str], int]:
    """Offsets by topic and partition, of a Kafka source's offset as Spark writes it."""
    topics = json.loads(text or "{}") if text is None or isinstance(text, str) else text
    return {(topic, partition): offset for topic, each in topics.items() for partition, offset in each.items()}


class JobMetrics:
    """The metrics of one run of the job. unread_commits: how far a Delta source is behind, called at each scrape.

    ticks: whether the job, even without requests, commits a batch about every second or says that it needs none.
    looked_age_s: since it last did so, called by `health`; None: not known.
    """

    def __init__(
        self,
        unread_commits: Callable[[], int | None],
        *,
        ticks: bool,
        looked_age_s: Callable[[], float | None] = lambda: None,
        now_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self.registry = CollectorRegistry()
        self._ticks, self._looked_age_s, self._now_s = ticks, looked_age_s, now_s
        self._last_commit_s = now_s()
        self._seen = -1
        self._last: Batch | None = None
        self._unread_commits = unread_commits
        self._seconds = self._histogram("batch_seconds", "How long a batch took, its commits included", SECONDS)
        self._requests = self._histogram("batch_requests", "Requests that a batch read", REQUESTS)
        self._effects = self._counter("effects", "Effects written since the job began")
        self._quarantined = self._counter("quarantined", "Requests put into quarantine since the job began")
        self._put_off = self._counter("turns_put_off", "Turns of groups that were cut and went on in the next batch")
        self._gauge("state_rows", "Groups that the state holds", lambda: self._of_last("state_rows"))
        self._gauge("state_bytes", "Memory that the state takes", lambda: self._of_last("state_bytes"))
        self._gauge("backlog", "Kafka: records, Delta: commits, that are there and not read yet", self._backlog)
        self._gauge("last_commit_age_seconds", "Since the last batch was committed", self.last_commit_age_s)

    def committed(self, result: BatchResult) -> None:
        """A batch's effects are written."""
        self._last_commit_s = self._now_s()
        self._effects.inc(result.effects)
        self._quarantined.inc(result.quarantined)
        self._put_off.inc(len(result.put_off))

    def done(self, batches: Iterable[Batch]) -> None:
        """Counts finished batches in order; a batch that was reported before is not counted again."""
        for batch in batches:
            if batch.batch_id > self._seen:
                self._seen, self._last = batch.batch_id, batch
                self._seconds.observe(batch.seconds)
                self._requests.observe(batch.requests)

    def has_seen(self, batch_id: int) -> bool:
        return batch_id <= self._seen

    def last_commit_age_s(self) -> float:
        return self._now_s() - self._last_commit_s

    def health(self) -> dict[str, Any]:
        """The answer of /health: `ok`, or `stalled` if for STALLED_AFTER_S nothing was committed, nor found to do."""
        age_s = self.last_commit_age_s()
        is_stalled = self._ticks and age_s > STALLED_AFTER_S
        if is_stalled and (looked_age_s := self._looked_age_s()) is not None:
            is_stalled = looked_age_s > STALLED_AFTER_S
        return {
            "status": "stalled" if is_stalled else "ok",
            "batch_id": None if self._last is None else self._last.batch_id,
            "last_commit_age_s": round(age_s, 1),
        }

    def _of_last(self, name: str) -> float:
        return float("nan") if self._last is None else float(getattr(self._last, name))

    def _backlog(self) -> float:
        unread = self._unread_commits()
        if unread is None and self._last is not None:
            unread = self._last.unread_records
        return float("nan") if unread is None else float(unread)

    def _histogram(self, name: str, means: str, bounds: tuple[float, ...]) -> Histogram:
        return Histogram(f"{_PREFIX}{name}", means, buckets=bounds, registry=self.registry)

    def _counter(self, name: str, means: str) -> Counter:
        return Counter(f"{_PREFIX}{name}", means, registry=self.registry)

    def _gauge(self, name: str, means: str, value: Callable[[], float]) -> None:
        Gauge(f"{_PREFIX}{name}", means, registry=self.registry).set_function(value)
