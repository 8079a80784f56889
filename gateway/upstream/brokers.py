"""The upstream's brokers, and the port of ours behind which each of them stands.

A broker that was not there at the start gets its port when an answer first names it. Knows addresses and listeners;
knows no message but the Metadata that it asks at the start.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from gateway.settings import MAX_PORT, Address
from gateway.upstream.entrance import Entrance
from gateway.upstream.line import UpstreamError, first_line_to
from gateway.upstream.metadata_brokers import MAX_BROKERS
from gateway.wire.codec import codec

log = logging.getLogger("gateway")

_METADATA_VERSION = 5
"""Every broker of the last years answers it."""
_NO_ID = -1


@dataclass(slots=True)
class Broker:
    """One broker of the upstream."""

    node_id: int
    address: Address
    """Where the broker is."""
    port: int = 0
    """The port of ours behind which it stands."""


Listen = Callable[[Broker, int], Awaitable[int]]
"""Opens a port for a broker, 0 for any, and gives the one it became. Raises OSError: it is taken."""


class Brokers:
    """Every broker that is known."""

    def __init__(self, bootstrap: Address, entrance: Entrance, first_port: int, listen: Listen) -> None:
        self._bootstrap = bootstrap
        self._entrance = entrance
        self._first_port = first_port
        self._listen = listen
        self._by_id: dict[int, Broker] = {}
        self._lock = asyncio.Lock()

    async def start(self) -> None:
        """Asks the upstream for its brokers and opens their ports, the lowest id at the first. Raises OSError."""
        known = await _ask_for_brokers(self._bootstrap, self._entrance)
        if not known:
            raise UpstreamError(f"gateway.upstream={self._bootstrap}: names no broker")
        for node_id, host, port in sorted(known):
            await self.port_of(node_id, Address(host, port))

    async def port_of(self, node_id: int, address: Address) -> int:
        """The port of ours behind which a broker stands. Raises OSError: no port can be opened for it."""
        async with self._lock:
            broker = self._by_id.get(node_id)
            if broker is None:
                if len(self._by_id) >= MAX_BROKERS:
                    raise UpstreamError(f"broker {node_id} is one more than {MAX_BROKERS}, which no cluster has")
                broker = Broker(node_id, address)
                broker.port = await self._listen(broker, self._next_port())
                self._by_id[node_id] = broker
                log.info("upstream: broker %d, %s, stands behind port %d", node_id, address, broker.port)
            broker.address = address
            return broker.port

    def _next_port(self) -> int:
        port = self._first_port + len(self._by_id) if self._first_port else 0
        if port > MAX_PORT:
            raise UpstreamError(f"gateway.listen: ports from {self._first_port} on are too few for the brokers")
        return port

    def addresses(self) -> list[Address]:
        """Where the brokers are, the lowest id first."""
        return [broker.address for _, broker in sorted(self._by_id.items())]

    def behind(self, port: int) -> Broker:
        """The broker behind a port of ours."""
        return next(broker for broker in self._by_id.values() if broker.port == port)


async def _ask_for_brokers(bootstrap: Address, entrance: Entrance) -> list[tuple[int, str, int]]:
    async with first_line_to(bootstrap, entrance) as line:
        answer = await line.ask("Metadata", _METADATA_VERSION, {"topics": []})
        _, message = codec("Metadata", _METADATA_VERSION).read_response(answer)
    return [(broker.node_id, broker.host, broker.port) for broker in message.brokers if broker.node_id != _NO_ID]
