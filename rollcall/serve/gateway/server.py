"""A gateway: listens, gives each client a connection, and ends all of it in order.

Knows sockets; knows no API.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import resource
import socket
import ssl
import sys
import time
from collections.abc import Callable
from functools import partial

from rollcall.serve.gateway.answering import Answering, Client
from rollcall.serve.gateway.backend import Backend
from rollcall.serve.gateway.client_connection import ClientConnection, Turns
from rollcall.serve.gateway.fair_threads import FairThreads
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.registry import Registry
from rollcall.serve.gateway.routing import Routing
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.listeners.addresses import Address
from rollcall.serve.listeners.connections import Connections, Limits
from rollcall.serve.listeners.listener import Listener
from rollcall.serve.listeners.monitor import Health, Monitor

_LOGS = ("gateway", "asyncio")
"""Loggers whose lines clients can cause."""
_SILENT_S = 30.0
"""/health reports that the coordinator does not answer once the oldest request has waited this long."""
_OBJECTS_A_COLLECTION = 50_000
_SWITCH_S = 0.0005
"""A thread that reads a long request keeps the loop waiting for at most this long."""
LOG_LINES = 20
"""The most lines of one kind that are written in a period."""
LOG_PERIOD_S = 10.0
LOG_KINDS_MAX = 1000
"""The most kinds that are counted apart at a time."""
_KIND_CHARACTERS = 60


class Server:
    """Listeners for the clients of one gateway. registry: where the gateways of a home know each other."""

    def __init__(
        self,
        settings: Settings,
        routing: Routing,
        backend: Backend,
        metrics: Metrics,
        tls: ssl.SSLContext | None = None,
        registry: Registry | None = None,
    ) -> None:
        self._settings = settings
        self.routing = routing
        self.backend = backend
        self._tls = tls
        self._registry = registry
        self.metrics = metrics
        limits = Limits(settings.max_connections, settings.max_connections_per_ip, settings.held_max_bytes)
        self.connections = Connections(limits, self.metrics)
        self.threads = FairThreads(1, "long")
        self._turns = Turns(lambda call: asyncio.get_running_loop().call_soon(call), time.thread_time)
        self._rate_limit = RateLimitedLog()
        self._listeners: dict[Address, Listener] = {}
        self.monitor: Monitor | None = None

    async def start(self) -> None:
        """Ready for clients when it returns. Raises OSError: an address or a file cannot be used."""
        for name in _LOGS:
            logging.getLogger(name).addFilter(self._rate_limit)
        self.routing.load()
        await self.backend.start()
        await self.open()
        if self._registry is not None:
            here = Address(socket.gethostname(), self.address.port) if self.address.is_wildcard else self.address
            self._registry.join(self._settings.advertised or here)
        if self._settings.metrics_listen is not None:
            self.monitor = Monitor(
                self._settings.metrics_listen, self.metrics, self.health, self._settings.metrics_hosts
            )
        self._watch = asyncio.create_task(self.connections.watch())

    async def open(self) -> None:
        """Listens. Raises OSError: an address cannot be used."""
        await self.listen(self.answering, self._settings.listen.port)

    def answering(self, client: Client) -> Answering:
        return Answering(client, self.routing, self.threads, self._settings)

    async def listen(self, taker_for: Callable[[Client], Answering], port: int) -> int:
        """Serves every client of a port; returns the port, which the system may have chosen. Raises OSError."""
        listener = Listener(self.connections, self.metrics, self._tls)
        address = await listener.open(self._settings.listen.host, port, partial(self.inside, taker_for))
        self._listeners[address] = listener
        return address.port

    def close_port(self, port: int) -> None:
        """Accepts no more connections at one of its ports; those that are open stay open."""
        for address in [address for address in self._listeners if address.port == port]:
            self._listeners.pop(address).close()

    def inside(self, taker_for: Callable[[Client], Answering], when_lost: Callable[[], None]) -> ClientConnection:
        return ClientConnection(self._settings, self.connections, self.metrics, self._turns, taker_for, when_lost)

    @property
    def address(self) -> Address:
        """Where it listens, with the port that the system chose, if it did."""
        return next(iter(self._listeners))

    def health(self) -> Health:
        figures = self.backend.figures()
        silent_s = figures.backlog_age_s or 0.0
        status = "ok"
        if figures.is_failing:
            status = "requests cannot be appended"
        elif figures.failing_tasks:
            status = f"an error ended the task {figures.failing_tasks[0]}, which began again"
        elif silent_s > _SILENT_S:
            status = "the coordinator does not answer"
        return {
            "status": status,
            "connections": len(self.connections),
            "backlog": figures.backlog,
            "backlog_age_s": round(silent_s, 3),
            "last_batch_age_s": None if figures.batch_age_s is None else round(figures.batch_age_s, 3),
        }

    async def close(self) -> None:
        """Takes no more clients, ends the connections, and hands over the requests that were read."""
        for listener in self._listeners.values():
            listener.close()
        self._watch.cancel()
        self.connections.close_all()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watch
        if self.monitor is not None:
            self.monitor.close()
        self.threads.close()
        await self.backend.close()
        if self._registry is not None:
            self._registry.leave()
        for name in _LOGS:
            logging.getLogger(name).removeFilter(self._rate_limit)


def prepare_process() -> None:
    """Lets the process open as many files as the system allows.

    Collects the little garbage less often, and lets threads yield to the loop sooner.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    sys.setswitchinterval(_SWITCH_S)


class RateLimitedLog(logging.Filter):
    """Passes at most LOG_LINES records of a kind per period; the next period's first record has the number left out.

    A kind is the beginning of the text of the call, before its values are put in: asyncio's have values further on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}
        """For each kind: when its period began, and how many records came since."""

    def filter(self, record: logging.LogRecord) -> bool:
        now, kind = self._clock(), str(record.msg).partition("\n")[0][:_KIND_CHARACTERS]
        began, count = self._kinds.get(kind, (now, 0))
        if now - began >= LOG_PERIOD_S:
            left_out = count - LOG_LINES
            began, count = now, 0
            if left_out > 0:
                record.msg = f"{record.msg} (and {left_out} more such lines before)"
        if len(self._kinds) >= LOG_KINDS_MAX:
            self._kinds.clear()
        self._kinds[kind] = (began, count + 1)
        return count < LOG_LINES
