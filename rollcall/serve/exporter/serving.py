"""The exporter of one home: a thread computes the metrics again and again, and a scrape gets the last ones.

So a scrape only sends a finished text. Knows the status of the home's job. Must not know a metric of groups, nor HTTP.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import duckdb
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.core import Metric
from prometheus_client.openmetrics.exposition import generate_latest as generate_openmetrics
from prometheus_client.registry import Collector

from rollcall.programs.repeated import Repeated
from rollcall.serve.exporter.figures import Figures
from rollcall.serve.exporter.history import MORE_MB, ExportHistory
from rollcall.serve.exporter.settings import ExportSettings
from rollcall.serve.listeners.monitor import Health
from rollcall.serve.page.live import liveness_of, now_ms

REST_FACTOR = 3
"""The least pause between two computations, as a multiple of the time that one took."""
STALE_S = 300.0
"""An exporter without new metrics for this long is stalled."""
STOP_WITHIN_S = 10.0
_PIECE = 5_000
_END = b"# EOF\n"
"""The last line of a text in OpenMetrics' format."""
log = logging.getLogger("rollcall.exporter")


class Exporter:
    """A home's metrics and their age. registry: other metrics to serve with them."""

    def __init__(self, home: Path, settings: ExportSettings, registry: CollectorRegistry | None = None) -> None:
        self.history = ExportHistory(home)
        """Kept current as long as the figures are made."""
        self._figures = Figures(self.history, settings)
        self._interval_s = settings.interval_ms / 1000
        self._written: list[_FamilyText] = []
        self._made_at: float | None = None
        self._took_s = float("nan")
        self._begun_at = time.monotonic()
        failed = "the figures of groups cannot be made just now"
        self._thread = Repeated("exporter", 0.0, self._make, lambda _: log.exception(failed))
        self._registry = registry or CollectorRegistry()
        self._gauge("rollcall_history_age_seconds", "Since the home's job wrote last", self._history_age_s)
        self._gauge("rollcall_export_age_seconds", "Since the figures of groups were made", self._age_s)
        self._gauge("rollcall_export_seconds", "How long it took to make them", lambda: self._took_s)
        self._gauge("rollcall_export_failing", "1 if they could not be made", lambda: float(self._thread.is_failing))
        summed = "Groups that are not exported by name"
        self._gauge("rollcall_export_groups_summed", summed, lambda: float(len(self._figures.chosen.summed)))

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """Waits for a running computation for a short time; after that it ends with the process."""
        if self._thread.stop(STOP_WITHIN_S):
            self.history.close()

    def step(self) -> None:
        """Computes the metrics. Raises OSError, duckdb.Error: the history cannot be read just now."""
        try:
            self._step()
        except duckdb.OutOfMemoryException:
            self.history.allow(MORE_MB)
            raise

    def _step(self) -> None:
        began = time.monotonic()
        if self.history.update():
            self._figures.counted.clear()
        # Each family replaces its last text, so that memory holds all texts only once.
        made = self._written or list[_FamilyText]()
        for place, family in enumerate(self._figures.families(now_ms(self.history, liveness_of(self.history)))):
            made[place : place + 1] = [_written(family)]
        self._written = made
        self._made_at = time.monotonic()
        self._took_s = self._made_at - began

    def text(self, *, is_openmetrics: bool) -> bytes:
        """The last metrics of groups; empty before the first."""
        written = list(self._written)
        if not is_openmetrics:
            return b"".join([generate_latest(self._registry), *(part for each in written for part in each.plain)])
        own = generate_openmetrics(self._registry).removesuffix(_END)
        return b"".join([own, *(part for each in written for part in each.openmetrics), _END])

    def health(self) -> Health:
        """The answer of /health: `ok`, or `stalled` if there are no new metrics for STALE_S."""
        age_s = time.monotonic() - (self._begun_at if self._made_at is None else self._made_at)
        return {"status": "ok" if age_s < STALE_S else "stalled", "last_made_age_s": round(age_s, 1)}

    def _make(self) -> None:
        began = time.monotonic()
        try:
            self.step()
        finally:
            took_s = time.monotonic() - began
            self._thread.every_s = max(self._interval_s - took_s, took_s * REST_FACTOR)

    def _history_age_s(self) -> float:
        last_ms = liveness_of(self.history).last_at_ms
        return float("nan") if last_ms is None else time.time() - last_ms / 1000

    def _age_s(self) -> float:
        return float("nan") if self._made_at is None else time.monotonic() - self._made_at

    def _gauge(self, name: str, means: str, value: Callable[[], float]) -> None:
        Gauge(name, means, registry=self._registry).set_function(value)


class _FamilyText(NamedTuple):
    """A family as text: the two formats differ only in the lines above the samples."""

    plain: tuple[bytes, bytes]
    openmetrics: tuple[bytes, bytes]


def _written(family: Metric) -> _FamilyText:
    """The family as text, written some samples at a time, since a sample takes more memory than its line."""
    samples = iter(family.samples)
    family.samples = []
    head, parts = generate_latest(_One(family)), list[bytes]()
    heading = generate_openmetrics(_One(family)).removesuffix(_END)
    while piece := list(islice(samples, _PIECE)):
        family.samples = piece
        parts.append(generate_latest(_One(family))[len(head) :])
    lines = b"".join(parts)
    return _FamilyText((head, lines), (heading, lines))


class _One(Collector):
    """One family, as Prometheus' writers take it."""

    def __init__(self, family: Metric) -> None:
        self._family = family

    def collect(self) -> list[Metric]:
        return [self._family]
