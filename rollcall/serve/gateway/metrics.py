"""The metrics for Prometheus; every gateway has a registry of its own.

Latencies are counted in plain lists and made Prometheus' histogram when it is asked for: at five thousand requests a
second its counters would cost as much time as the requests. Knows names and buckets; knows nothing that happens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import accumulate

from prometheus_client import Counter
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from rollcall.serve.gateway.backend import Figures
from rollcall.serve.listeners.connections import ConnectionMetrics

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_PREFIX = "rollcall_gateway_"
_BOUNDS = (*(str(bound) for bound in SECONDS), "+Inf")


class Latencies(Collector):
    """Time from a request read to its answer written, by API; time while the protocol withholds it is included."""

    def __init__(self) -> None:
        self._counts: dict[str, list[int]] = {}
        self._sums: dict[str, float] = {}

    def add(self, api: str, seconds: float) -> None:
        counts = self._counts.get(api)
        if counts is None:
            counts = self._counts[api] = [0] * len(_BOUNDS)
            self._sums[api] = 0.0
        counts[bisect_left(SECONDS, seconds)] += 1
        self._sums[api] += seconds

    def collect(self) -> Iterator[HistogramMetricFamily]:
        family = HistogramMetricFamily(
            f"{_PREFIX}request_seconds", "From a request read to its answer written, by API", labels=["api"]
        )
        for api, counts in list(self._counts.items()):
            family.add_metric([api], list(zip(_BOUNDS, map(float, accumulate(counts)), strict=True)), self._sums[api])
        yield family


class BackendFigures(Collector):
    """The backend's figures, looked up when Prometheus asks."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self._figures = figures

    def collect(self) -> Iterator[Metric]:
        now = self._figures()
        yield _gauge("backlog", "Requests that the coordinator has neither answered nor parked", now.backlog)
        yield _gauge("parked", "Requests whose answers the protocol withholds", now.parked)
        yield _gauge("append_failing", "1 if the last append to the request table failed", float(now.is_failing))
        if now.batch_age_s is not None:
            yield _gauge(
                "last_batch_age_seconds", "Since the coordinator was last done with everything", now.batch_age_s
            )
        refused = "Requests for new groups that were refused: gateway.new.groups.max.bytes"
        yield CounterMetricFamily(f"{_PREFIX}refused_groups", refused, now.refused_groups)
        failed = "Errors that ended a task of the gateway, which began again"
        for name, means, family_type, label, counts in (
            ("task_failures", failed, CounterMetricFamily, "task", now.task_failures),
            ("groups", "Groups by state", GaugeMetricFamily, "state", now.groups_by_state),
            ("rebalances", "Rebalances since the gateway began", CounterMetricFamily, "cause", now.rebalances_by_cause),
        ):
            family = family_type(f"{_PREFIX}{name}", means, labels=[label])
            for of, count in sorted(counts.items()):
                family.add_metric([of], count)
            yield family


def _gauge(name: str, means: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", means, value)


class Metrics(ConnectionMetrics):
    def __init__(self, figures: Callable[[], Figures]) -> None:
        super().__init__(_PREFIX)
        self.latencies = Latencies()
        self.registry.register(self.latencies)
        self.registry.register(BackendFigures(figures))
        self.cut_lists = Counter(
            f"{_PREFIX}cut_lists",
            "Lists of groups that were cut because they were too long",
            registry=self.registry,
        )
