"""The connections of a gateway: how many there may be, and which of them have lasted too long.

Knows connections by what can be asked of them; knows no request.
"""

from __future__ import annotations

import asyncio
import itertools
from collections import Counter
from typing import Protocol

from gateway.metrics import Metrics
from gateway.settings import Settings

_CHECK_S = 1.0


class Watched(Protocol):
    """A connection as its registry sees it."""

    remote_host: str

    def check(self, now: float) -> None:
        """Ends the connection if it has been idle for too long, or its client reads nothing."""

    def close(self) -> None:
        """Ends the connection because the gateway ends."""


class Connections:
    """Every connection that is open."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._open: set[Watched] = set()
        self._by_host: Counter[str] = Counter()
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """How many connections there are."""
        return len(self._open)

    def new_id(self, remote: str) -> str:
        """A name for a connection, unlike any other of this gateway."""
        return f"{remote}-{next(self._numbers)}"

    def opened(self, connection: Watched) -> str:
        """Counts a connection; says why it is refused, "" if it is not."""
        self._open.add(connection)
        self._by_host[connection.remote_host] += 1
        self._metrics.connections.set(len(self._open))
        if len(self._open) > self._settings.max_connections:
            return f"more than gateway.max.connections={self._settings.max_connections}"
        if self._by_host[connection.remote_host] > self._settings.max_connections_per_ip:
            return f"more than gateway.max.connections.per.ip={self._settings.max_connections_per_ip}"
        return ""

    def closed(self, connection: Watched) -> None:
        """Counts a connection no longer."""
        self._open.discard(connection)
        self._by_host[connection.remote_host] -= 1
        if not self._by_host[connection.remote_host]:
            del self._by_host[connection.remote_host]
        self._metrics.connections.set(len(self._open))

    async def watch(self) -> None:
        """Checks every connection about once a second, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_CHECK_S)
            for connection in list(self._open):
                connection.check(loop.time())

    def close_all(self) -> None:
        for connection in list(self._open):
            connection.close()
