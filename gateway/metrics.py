"""What is counted, in Prometheus' terms; every gateway has a registry of its own.

Latency is counted in plain lists and becomes Prometheus' when it is asked for: five thousand requests a second would
spend as much on its counters as on themselves. Knows names and buckets; knows nothing that happens.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator

from prometheus_client import CollectorRegistry, Gauge
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)
_BOUNDS = (*(str(bound) for bound in SECONDS), "+Inf")


class Latencies(Collector):
    """From a request read to its answer written, by API; what the protocol withholds is included."""

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
            "rollcall_gateway_request_seconds", "From a request read to its answer written, by API", labels=["api"]
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


class Metrics:
    """A gateway's counters."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.latencies = Latencies()
        self.registry.register(self.latencies)
        self.connections = Gauge("rollcall_gateway_connections", "Clients' connections", registry=self.registry)
