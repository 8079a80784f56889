"""The connections of a program that listens: how many there may be, and which of them have lasted too long.

Knows connections by what can be asked of them; knows no request.
"""

from __future__ import annotations

import asyncio
import collections
import itertools
import logging
from typing import NamedTuple, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge

log = logging.getLogger("gateway")

_CHECK_S = 1.0


class Watched(Protocol):
    """A connection as its registry sees it."""

    def check(self, now: float) -> float:
        """Ends the connection if it has been idle for too long, or its client reads nothing; returns when it is to be
        checked again, unless it asks for it before."""

    def close(self) -> None:
        """Ends the connection because the program ends."""

    def end(self, reason: str, why: str = "", at_once: bool = False) -> None:
        """Ends the connection. reason: one word for the metrics; why: for the log; at_once: whatever is unread."""


class Limits(NamedTuple):
    """How many connections there may be, by their settings in the log, and what all of them may hold."""

    max_connections: int
    max_connections_per_ip: int
    held_max_bytes: int


class ConnectionMetrics:
    """What is counted of connections. prefix: what the metrics' names begin with."""

    def __init__(self, prefix: str) -> None:
        self.registry = CollectorRegistry()
        self.connections = Gauge(f"{prefix}connections", "Clients' connections", registry=self.registry)
        self.closed = Counter(
            f"{prefix}closed_connections",
            "Connections that were ended from this side, by reason",
            ["reason"],
            registry=self.registry,
        )


class Connections:
    """Every connection, from the moment it is accepted."""

    def __init__(self, limits: Limits, metrics: ConnectionMetrics) -> None:
        self._limits = limits
        self._metrics = metrics
        self._watched: dict[Watched, float] = {}
        """When each is checked next. To look at thousands of idle ones each second costs more than their requests."""
        self._count = 0
        self._by_host: collections.Counter[str] = collections.Counter()
        self._held: dict[Watched, int] = {}
        """Bytes of long requests and answers in memory, by connection, the oldest first."""
        self._held_bytes = 0
        self._numbers = itertools.count(1)

    def __len__(self) -> int:
        """How many connections there are, those included that are still in their TLS handshake."""
        return self._count

    def new_id(self, remote: str) -> str:
        """A name for a connection, unlike any other of this process."""
        return f"{remote}-{next(self._numbers)}"

    def accepted(self, host: str) -> str:
        """Counts a connection from a host; says why it is refused, "" if it is not."""
        if self._count >= self._limits.max_connections:
            return f"more than max.connections={self._limits.max_connections}"
        if self._by_host[host] >= self._limits.max_connections_per_ip:
            return f"more than max.connections.per.ip={self._limits.max_connections_per_ip}"
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
        """Notes how many bytes of a connection's long requests and answers are in memory, unread ones too.

        Above the total, closes the connections that hold most memory; on a tie the oldest.
        """
        before = self._held.get(connection, 0)
        self._held_bytes += held_bytes - before
        if held_bytes:
            self._held[connection] = held_bytes
        elif before:
            del self._held[connection]
        while self._held_bytes > self._limits.held_max_bytes:
            most = max(self._held, key=self._held.__getitem__)
            self._held_bytes -= self._held.pop(most)
            why = f"more than held.max.bytes={self._limits.held_max_bytes} of all clients"
            most.end("held", why, at_once=True)

    def watch_over(self, connection: Watched) -> None:
        """Checks a connection from now on, as often as it says."""
        self._watched[connection] = 0.0

    def check_soon(self, connection: Watched) -> None:
        """Checks a connection within about a second, if it is still there."""
        if connection in self._watched:
            self._watched[connection] = 0.0

    def forget(self, connection: Watched) -> None:
        """Checks a connection no longer."""
        self._watched.pop(connection, None)
        self.holds(connection, 0)

    async def watch(self) -> None:
        """Checks the connections for which it is time, about once a second, until it is cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(_CHECK_S)
            now = loop.time()
            for connection in [one for one, next_s in self._watched.items() if next_s <= now]:
                try:
                    next_s = connection.check(now)
                    if connection in self._watched:
                        self._watched[connection] = next_s
                except Exception:
                    log.exception("a connection that cannot be checked is closed")
                    connection.close()

    def close_all(self) -> None:
        for connection in list(self._watched):
            connection.close()
