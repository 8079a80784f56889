"""What is counted, in Prometheus' terms; every gateway has a registry of its own.

Latencies are counted in plain lists and made Prometheus' histogram when it is asked for: at five thousand requests a
second its counters would cost as much time as the requests. Knows names and buckets; knows nothing that happens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator

from prometheus_client import CollectorRegistry, Counter, Gauge
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric
from prometheus_client.registry import Collector

from gateway.backend import Figures

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
            family.add_metric([api], list(zip(_BOUNDS, _running_sums(counts), strict=True)), self._sums[api])
        yield family


def _running_sums(counts: list[int]) -> list[float]:
    total, sums = 0, []
    for count in counts:
        total += count
        sums.append(float(total))
    return sums


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
            yield _gauge("last_batch_age_seconds", "Since the coordinator's last batch was done", now.batch_age_s)
        refused = CounterMetricFamily(
            f"{_PREFIX}refused_groups", "Requests for new groups that were refused: gateway.new.groups.max.bytes"
        )
        refused.add_metric([], now.refused_groups)
        yield refused
        failures = CounterMetricFamily(
            f"{_PREFIX}task_failures", "Errors that ended a task of the gateway, which began again", labels=["task"]
        )
        for task, count in sorted(now.task_failures.items()):
            failures.add_metric([task], count)
        yield failures
        groups = GaugeMetricFamily(f"{_PREFIX}groups", "Groups by state", labels=["state"])
        for state, count in sorted(now.groups_by_state.items()):
            groups.add_metric([state], count)
        yield groups
        rebalances = CounterMetricFamily(
            f"{_PREFIX}rebalances", "Rebalances that began since the gateway did, by cause", labels=["cause"]
        )
        for cause, count in sorted(now.rebalances_by_cause.items()):
            rebalances.add_metric([cause], count)
        yield rebalances


def _gauge(name: str, means: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"{_PREFIX}{name}", means, value)


class Metrics:
    """A gateway's counters."""

    def __init__(self, figures: Callable[[], Figures]) -> None:
        self.registry = CollectorRegistry()
        self.latencies = Latencies()
        self.registry.register(self.latencies)
        self.registry.register(BackendFigures(figures))
        self.connections = Gauge(f"{_PREFIX}connections", "Clients' connections", registry=self.registry)
        self.cut_lists = Counter(
            f"{_PREFIX}cut_lists",
            "Lists of groups that were told in part, for they were too long",
            registry=self.registry,
        )
        self.closed = Counter(
            f"{_PREFIX}closed_connections",
            "Connections that the gateway ended, by reason",
            ["reason"],
            registry=self.registry,
        )
