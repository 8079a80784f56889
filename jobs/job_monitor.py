"""/metrics and /health of a running job, where its settings ask for them.

Knows where the figures come from: the batches' results, and what Spark says of the query. Must not know their names.
"""

from __future__ import annotations

from pyspark.sql.streaming.query import StreamingQuery

from gateway.monitor import Monitor
from jobs.config import PREFIX, JobConfig
from jobs.home import Home
from jobs.stream.job_metrics import JobMetrics, batch_of
from jobs.stream.query import unread_commits
from jobs.stream.writers.batch_result import BatchResult
from programs.errors import ConfigError


class JobMonitor:
    """Serves from now until it is closed, and counts what it is told."""

    def __init__(self, home: Home, config: JobConfig) -> None:
        """Raises ConfigError: the address cannot be used."""
        self._home = home
        self._query: StreamingQuery | None = None
        self._metrics = JobMetrics(self._unread, ticks=config.source_tick_ms > 0)
        self._server: Monitor | None = None
        if config.metrics_listen is not None:
            try:
                self._server = Monitor(config.metrics_listen, self._metrics, self._metrics.health)
            except OSError as error:
                why = error.strerror or error
                raise ConfigError(f"{PREFIX}metrics.listen={config.metrics_listen}: {why}") from None

    @property
    def shown(self) -> str:
        """Where it serves; empty where it does not."""
        return "" if self._server is None else f"http://{self._server.address}"

    def watch(self, query: StreamingQuery) -> None:
        """The query runs."""
        self._query = query

    def committed(self, result: BatchResult) -> None:
        """A batch's effects are written."""
        self._metrics.committed(result)

    def look(self) -> None:
        """Takes in what Spark says of batches that are done since the last look."""
        if self._server is None or self._query is None:
            return
        last = self._query.lastProgress
        if last is not None and not self._metrics.has_seen(last["batchId"]):
            self._metrics.done(batch_of(each) for each in self._query.recentProgress)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()

    def _unread(self) -> int | None:
        return None if self._query is None else unread_commits(self._query, self._home)
