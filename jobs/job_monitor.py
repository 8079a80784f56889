"""/metrics and /health of a running job, and the alarms of its home, if its settings ask for them.

Knows where the figures come from, batch results and Spark's progress of the query, and when alarms begin and end. Must
not know the figures' names, a trouble or a receiver.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING, NamedTuple, Protocol

from prometheus_client import CollectorRegistry

from rollcall.jobs.config import PREFIX, JobConfig
from rollcall.jobs.stream.job_metrics import JobMetrics, batch_of
from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.log_lines import tell
from rollcall.serve.alerts.receivers import Receiver, receivers_of
from rollcall.serve.alerts.settings import NOT_IN_A_STORE, AlertSettings
from rollcall.serve.alerts.settings import PREFIX as ALERTS_PREFIX
from rollcall.serve.listeners.monitor import HasRegistry, Health, Monitor
from rollcall.tables.home import Home
from rollcall.tables.job_status import read_status

if TYPE_CHECKING:
    from pyspark.sql.streaming.query import StreamingQuery

    from rollcall.jobs.stream.writers.batch_result import BatchResult
    from rollcall.serve.page.history import History


class ShadowMetrics:
    """A shadow has no figures but its groups'. It is healthy while it runs, since it ends when a query fails."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

    def health(self) -> Health:
        return {"status": "ok"}


class Served(NamedTuple):
    """The alarms of a job, and its /metrics and /health with the groups of its home, unless `shown` is empty."""

    shown: str
    close: Callable[[], None]


class HasHealth(HasRegistry, Protocol):
    """A job's own figures."""

    def health(self) -> Health: ...


def serve_metrics(home: Home, config: JobConfig, metrics: HasHealth) -> Served:
    """Serves the job's own figures and those of its home's groups, and sends alarms, as far as the settings ask for it.

    Raises ConfigError: the address cannot be used, a secret cannot be read.
    """
    receivers = receivers_for(home, config.alerts)
    with ExitStack() as ends:
        if config.metrics_listen is None:
            ends.enter_context(alarms_sent(home, config.alerts, receivers))
            return Served("", ends.pop_all().close)
        exporter = None
        if home.is_local and config.export.groups_max > 0:
            # Imported here: a job that serves no groups does not need the modules that read a home.
            from rollcall.serve.exporter.serving import Exporter

            exporter = Exporter(home.path, config.export, metrics.registry)
            ends.callback(exporter.stop)
        try:
            monitor = Monitor(config.metrics_listen, exporter or metrics, metrics.health, config.metrics_hosts)
        except OSError as error:
            why = error.strerror or error
            raise ConfigError(f"{PREFIX}metrics.listen={config.metrics_listen}: {why}") from None
        ends.callback(monitor.close)
        if exporter is not None:
            exporter.start()
        history = None if exporter is None else exporter.history
        ends.enter_context(alarms_sent(home, config.alerts, receivers, history, metrics.registry))
        return Served(f"http://{monitor.address}", ends.pop_all().close)


class JobMonitor:
    """Serves until it is closed, and counts batches."""

    def __init__(self, home: Home, config: JobConfig) -> None:
        """Raises ConfigError: the address cannot be used."""
        self._home = home
        self._query: StreamingQuery | None = None
        self._metrics = JobMetrics(self._unread, ticks=config.source_tick_ms > 0, looked_age_s=self._looked_age_s)
        self._served = serve_metrics(home, config, self._metrics)

    @property
    def shown(self) -> str:
        """Its address; empty if it serves nothing."""
        return self._served.shown

    def watch(self, query: StreamingQuery) -> None:
        """The query runs."""
        self._query = query

    def committed(self, result: BatchResult) -> None:
        """A batch's effects are written."""
        self._metrics.committed(result)

    def look(self) -> None:
        """Counts the batches that Spark has finished since the last look."""
        if not self._served.shown or self._query is None:
            return
        last = self._query.lastProgress
        if last is not None and not self._metrics.has_seen(last["batchId"]):
            self._metrics.done(batch_of(each) for each in self._query.recentProgress)

    def close(self) -> None:
        self._served.close()

    def _looked_age_s(self) -> float | None:
        status = read_status(self._home.path) if self._home.is_local else None
        if status is None or status.looked_at_ms is None:
            return None
        return time.time() - status.looked_at_ms / 1000

    def _unread(self) -> int | None:
        if self._query is None:
            return None
        # Imported here: a shadow of a log has metrics, and needs no Spark.
        from rollcall.jobs.stream.query import unread_commits

        return unread_commits(self._query, self._home)


def tell_address(serving: Served | JobMonitor) -> None:
    """Prints the address of the metrics, if they are served."""
    if serving.shown:
        tell(f"its metrics and health are at {serving.shown}.")


STOP_WITHIN_S = 2.0
"""Alarms that a receiver has not taken by then are sent after the next start."""


def receivers_for(home: Home, settings: AlertSettings) -> list[Receiver]:
    """The receivers of alarms. Raises ConfigError: a secret cannot be read, or the home cannot have alarms."""
    found = receivers_of(settings)
    if found and not home.is_local:
        raise ConfigError(f"{ALERTS_PREFIX}{found[0].name}: {NOT_IN_A_STORE}")
    return found


@contextmanager
def alarms_sent(
    home: Home,
    settings: AlertSettings,
    receivers: list[Receiver],
    history: History | None = None,
    registry: CollectorRegistry | None = None,
) -> Iterator[None]:
    """Sends alarms meanwhile. history: the home's, if another part of the job refreshes it. registry: for counters."""
    alarms = None
    if receivers:
        # Imported here: a job without alarms does not need the modules that read a home.
        from rollcall.serve.alerts.watching import Alarms

        try:
            alarms = Alarms(home.path, settings, receivers, history, registry)
            alarms.start()
        except UserError as error:
            # A job must serve its clients even if alarms fail.
            tell(f"no alarms are sent: {error}", is_error=True)
    try:
        yield
    finally:
        if alarms is not None:
            alarms.close(STOP_WITHIN_S)
