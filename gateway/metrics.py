"""What is counted, in Prometheus' terms; every gateway has a registry of its own.

Knows names and buckets; knows nothing that happens.
"""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Gauge, Histogram

_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0)


class Metrics:
    """A gateway's counters. Latency is from the request read to its answer written, parked answers included."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._answered = Histogram(
            "rollcall_gateway_request_seconds",
            "From a request read to its answer written, by API; what the protocol withholds is included",
            ["api"],
            buckets=_SECONDS,
            registry=self.registry,
        )
        self.connections = self._gauge("connections", "Clients' connections")
        self._by_api: dict[str, Callable[[float], None]] = {}

    def _gauge(self, name: str, help_: str, labels: tuple[str, ...] = ()) -> Gauge:
        return Gauge(f"rollcall_gateway_{name}", help_, labels, registry=self.registry)

    def answered(self, api: str, seconds: float) -> None:
        observe = self._by_api.get(api)
        if observe is None:
            observe = self._by_api[api] = self._answered.labels(api).observe
        observe(seconds)
