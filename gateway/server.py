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

from gateway.answering import Answering
from gateway.backend import Backend
from gateway.client_connection import ClientConnection
from gateway.connections import Connections
from gateway.door import Door
from gateway.fair_threads import FairThreads
from gateway.metrics import Metrics
from gateway.monitor import Health, Monitor
from gateway.quiet_log import Sparing
from gateway.registry import Registry
from gateway.routing import Routing
from gateway.settings import Address, Settings
from gateway.taking import Client, RequestTaker
from gateway.turns import Turns

_LOGS = ("gateway", "asyncio")
"""Loggers whose lines clients can cause."""
_SILENT_S = 30.0
"""If the oldest request has waited so long for the coordinator, /health says so."""
_OBJECTS_A_COLLECTION = 50_000
_SWITCH_S = 0.0005
"""So long a thread that reads a long request keeps the loop waiting."""


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
        self.connections = Connections(settings, self.metrics)
        self.threads = FairThreads(1, "long")
        self._turns = Turns(_call_soon, time.thread_time)
        self._sparing = Sparing()
        self._doors: dict[Address, Door] = {}
        self.monitor: Monitor | None = None

    async def start(self) -> None:
        """Ready for clients when it returns. Raises OSError: an address or a file cannot be used."""
        for name in _LOGS:
            logging.getLogger(name).addFilter(self._sparing)
        self.routing.load()
        await self.backend.start()
        await self.open()
        if self._registry is not None:
            self._registry.join(self._known_as())
        if self._settings.metrics_listen is not None:
            self.monitor = Monitor(self._settings.metrics_listen, self.metrics, self.health)
        self._watch = asyncio.create_task(self.connections.watch())

    async def open(self) -> None:
        """Listens. Raises OSError: an address cannot be used."""
        await self.listen(self.answering, self._settings.listen.port)

    def answering(self, client: Client) -> Answering:
        """Takes the requests of a client that speaks to this gateway alone."""
        return Answering(client, self.routing, self.threads, self._settings)

    async def listen(self, taker_for: Callable[[Client], RequestTaker], port: int) -> int:
        """Gives every client that comes to a port such a request taker; the port that it became. Raises OSError."""
        door = Door(self.connections, self.metrics, self._tls)
        address = await door.open(self._settings.listen.host, port, partial(self.inside, taker_for))
        self._doors[address] = door
        return address.port

    def close_port(self, port: int) -> None:
        """Lets nobody in any more at one of its ports; who is in stays."""
        for address in [address for address in self._doors if address.port == port]:
            self._doors.pop(address).close()

    def inside(self, taker_for: Callable[[Client], RequestTaker], when_lost: Callable[[], None]) -> ClientConnection:
        """What serves one client that was let in."""
        return ClientConnection(self._settings, self.connections, self.metrics, self._turns, taker_for, when_lost)

    @property
    def address(self) -> Address:
        """Where it listens; the port that the system chose, if it was to."""
        return next(iter(self._doors))

    def _known_as(self) -> Address:
        if self._settings.advertised is not None:
            return self._settings.advertised
        return Address(socket.gethostname(), self.address.port) if self.address.is_wildcard else self.address

    def health(self) -> Health:
        """What /health says."""
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
        for door in self._doors.values():
            door.close()
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
            logging.getLogger(name).removeFilter(self._sparing)


def _call_soon(call: Callable[[], None]) -> None:
    asyncio.get_running_loop().call_soon(call)


def prepare_process() -> None:
    """Lets the process open as many files as the system allows.

    Garbage, of which there is little, is collected less often, and the loop need not wait long for a thread.
    """
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    gc.set_threshold(_OBJECTS_A_COLLECTION)
    sys.setswitchinterval(_SWITCH_S)
