"""The connections of a gateway: how many there may be, and which of them have lasted too long.

Knows connections by what can be asked of them; knows no request.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from typing import Protocol

from gateway.metrics import Metrics
from gateway.settings import Settings

log = logging.getLogger("gateway")

_CHECK_S = 1.0


class Watched(Protocol):
    """A connection as its registry sees it."""

    def check(self, now: float) -> None:
        """Ends the connection if it has been idle for too long, or its client reads nothing."""

    def close(self) -> None:
        """Ends the connection because the gateway ends."""

    def end(self, reason: str, why: str = "", at_once: bool = False) -> None:
        """Ends the connection. reason: one word for the metrics; why: for the log; at_once: whatever is unread."""


class Connections:
    """Every connection, from the moment it is accepted."""

    def __init__(self, settings: Settings, metrics: Metrics) -> None:
        self._settings = settings
        self._metrics = metrics
        self._watched: set[Watched] = set()
        self._count = 0
        self._by_host: Counter[str] = Counter()
        self._held: dict[Watched, int] = {}
        """What is kept of long requests and answers in bytes, by connection, the one that began first first."""
        self._held_bytes = 0
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """How many connections there are, those included that are still in their TLS handshake."""
        return self._count

    def new_id(self, remote: str) -> str:
        """A name for a connection, unlike any other of this gateway."""
        return f"{remote}-{next(self._numbers)}"

    def accepted(self, host: str) -> str:
        """Counts a connection from a host; says why it is refused, "" if it is not."""
        if self._count >= self._settings.max_connections:
            return f"more than gateway.max.connections={self._settings.max_connections}"
        if self._by_host[host] >= self._settings.max_connections_per_ip:
            return f"more than gateway.max.connections.per.ip={self._settings.max_connections_per_ip}"
        self._count += 1
        self._by_host[host] += 1
        self._metrics.connections.set(self._count)
        return ""

    def ended(self, host: str) -> None:
        """Counts a connection no longer that was not refused."""
        self._count -= 1
        self._by_host[host] -= 1
        if not self._by_host[host]:
            del self._by_host[host]
        self._metrics.connections.set(self._count)

    def holds(self, connection: Watched, held_bytes: int) -> None:
        """Notes how many bytes are kept of a connection's long requests and answers, unread ones too.

        If all connections' together are too many, ends those that keep most, of equals the one that began first.
        """
        before = self._held.get(connection, 0)
        self._held_bytes += held_bytes - before
        if held_bytes:
            self._held[connection] = held_bytes
        elif before:
            del self._held[connection]
        while self._held_bytes > self._settings.held_max_bytes:
            most = max(self._held, key=self._held.__getitem__)
            self._held_bytes -= self._held.pop(most)
            why = f"more than gateway.held.max.bytes={self._settings.held_max_bytes} of all clients"
            most.end("held", why, at_once=True)

    def watch_over(self, connection: Watched) -> None:
        """Checks a connection from now on."""
        self._watched.add(connection)

    def forget(self, connection: Watched) -> None:
        """Checks a connection no longer."""
        self._watched.discard(connection)
        self.holds(connection, 0)

    async def watch(self) -> None:
        """Checks every connection about once a second, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_CHECK_S)
            for connection in list(self._watched):
                try:
                    connection.check(loop.time())
                except Exception:
                    log.exception("a connection that cannot be checked is closed")
                    connection.close()

    def close_all(self) -> None:
        for connection in list(self._watched):
            connection.close()
