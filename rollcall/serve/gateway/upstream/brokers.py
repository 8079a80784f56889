"""The upstream's brokers, and the gateway's port for each. A broker that was not there at the start gets its port when
an answer first names it. Only the brokers at the start of a Metadata answer are read and replaced, so the cost does not
depend on the number of topics. Knows addresses and listeners; knows no message but Metadata.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Awaitable, Callable, Collection
from dataclasses import dataclass, fields
from functools import cache
from io import BytesIO
from typing import Any, NamedTuple, get_args

from kio.serial import entity_writer
from kio.serial.errors import SerialError
from kio.serial.readers import read_compact_array_length, read_legacy_array_length
from kio.serial.writers import write_compact_array_length, write_legacy_array_length

from rollcall.serve.gateway.upstream.upstream_client import UpstreamError, UpstreamLogin, asked, first_connected_to
from rollcall.serve.gateway.wire.codec import LENGTH_BYTES, Elements, WireError, codec, reader
from rollcall.serve.listeners.addresses import MAX_PORT, Address

log = logging.getLogger("gateway")

_METADATA_VERSION = 5
"""Every broker of the last years answers it."""
_NO_ID = -1
GONE_MAX = 100
"""At most this many brokers that the upstream no longer names keep their ports, as they may come back."""
GONE_FOR_S = 600.0
"""Such a broker keeps its port for this long."""
MAX_BROKERS = 1000
"""No cluster has more brokers, and each takes a port."""
_THROTTLE_TIME_SINCE = 3
_THROTTLE_TIME_BYTES = 4


@dataclass(slots=True)
class Broker:
    node_id: int
    address: Address
    """Where the broker is."""
    port: int = 0
    """The gateway's port for it."""
    is_first: bool = False
    """Whether it was there at the start: clients may have its port in their settings."""
    named_at: float = 0.0
    """When the upstream last named it, by the loop's clock."""


Listen = Callable[[Broker, int], Awaitable[int]]
"""Opens a port for a broker, 0 for any, and returns the one opened. Raises OSError: it is taken."""
Close = Callable[[int], None]
"""Closes such a port; its open connections stay."""


class Brokers:
    """Every broker that is known."""

    def __init__(self, first_port: int, listen: Listen, close: Close) -> None:
        self._first_port = first_port
        self._listen = listen
        self._close = close
        self._by_id: dict[int, Broker] = {}
        self._lock = asyncio.Lock()

    async def start(self, bootstrap: Address, login: UpstreamLogin) -> None:
        """Asks the upstream for its brokers and opens their ports, the lowest id at the first. Raises OSError."""
        async with first_connected_to(bootstrap, login) as send:
            message = await asked(send, "Metadata", _METADATA_VERSION, {"topics": []})
        known = [(each.node_id, each.host, each.port) for each in message.brokers if each.node_id != _NO_ID]
        if not known:
            raise UpstreamError(f"gateway.upstream={bootstrap}: names no broker")
        for node_id, host, port in sorted(known):
            await self.port_of(node_id, Address(host, port))
            self._by_id[node_id].is_first = True

    async def port_of(self, node_id: int, address: Address) -> int:
        """The gateway's port for a broker. Raises OSError: no port can be opened for it."""
        async with self._lock:
            broker = self._by_id.get(node_id)
            if broker is None:
                if len(self._by_id) >= MAX_BROKERS:
                    raise UpstreamError(f"broker {node_id} is one more than {MAX_BROKERS}, which no cluster has")
                broker = Broker(node_id, address)
                broker.port = await self._listen(broker, self._next_port())
                self._by_id[node_id] = broker
                log.info("upstream: broker %d, %s, stands behind port %d", node_id, address, broker.port)
            broker.address, broker.named_at = address, asyncio.get_running_loop().time()
            return broker.port

    def named(self, node_ids: Collection[int]) -> None:
        """Takes the list of all brokers from an answer. Closes the ports of those gone for long, or too many.

        Those of the start keep theirs.
        """
        now, gone = asyncio.get_running_loop().time(), []
        for broker in self._by_id.values() if node_ids else ():
            if broker.node_id in node_ids:
                broker.named_at = now
            elif not broker.is_first:
                gone.append(broker)
        gone.sort(key=lambda broker: broker.named_at)
        for place, broker in enumerate(gone):
            if len(gone) - place > GONE_MAX or now - broker.named_at > GONE_FOR_S:
                del self._by_id[broker.node_id]
                self._close(broker.port)
                log.info("upstream: broker %d is gone, and port %d is closed", broker.node_id, broker.port)

    def _next_port(self) -> int:
        taken = {broker.port for broker in self._by_id.values()}
        port = next(port for port in itertools.count(self._first_port) if port not in taken) if self._first_port else 0
        if port > MAX_PORT:
            raise UpstreamError(f"gateway.listen: ports from {self._first_port} on are too few for the brokers")
        return port

    def addresses(self) -> list[Address]:
        """Where the brokers are, the lowest id first."""
        return [broker.address for _, broker in sorted(self._by_id.items())]

    def behind(self, port: int) -> Broker:
        """The broker of one of the gateway's ports; the first broker if the port is closed by now."""
        brokers = list(self._by_id.values())
        return next((broker for broker in brokers if broker.port == port), brokers[0])


class Split(NamedTuple):
    """An answer in three parts."""

    before: bytes
    brokers: tuple[Any, ...]
    behind: bytes


class _Beginning:
    """How the beginning of one version's answer is read and written."""

    def __init__(self, version: int) -> None:
        response_type: Any = codec("Metadata", version).response_type
        broker_type = get_args(next(field.type for field in fields(response_type) if field.name == "brokers"))[0]
        is_flexible = response_type.__flexible__
        self.fixed_bytes = _THROTTLE_TIME_BYTES if version >= _THROTTLE_TIME_SINCE else 0
        self.read_head = reader(response_type.__header_schema__)
        self.read_count = read_compact_array_length if is_flexible else read_legacy_array_length
        self.write_count: Any = write_compact_array_length if is_flexible else write_legacy_array_length
        self.read_broker = reader(broker_type)
        self.write_broker = entity_writer(broker_type)


_beginning = cache(_Beginning)


def split(version: int, frame: bytes) -> Split:
    """The parts of a whole answer. Raises WireError."""
    beginning, brokers, elements = _beginning(version), [], Elements(0)
    try:
        start = beginning.read_head(frame, 0, elements)[1] + beginning.fixed_bytes
        count, size = beginning.read_count(frame, start)
        if (count or 0) > MAX_BROKERS:
            raise WireError(f"names {count} brokers, {MAX_BROKERS} at most")
        at = start + size
        for _ in range(count or 0):
            broker, at = beginning.read_broker(frame, at, elements)
            brokers.append(broker)
    except (SerialError, ValueError, KeyError) as error:
        raise WireError(f"MetadataResponse v{version}: {error}") from None
    return Split(frame[:start], tuple(brokers), frame[at:])


def joined(version: int, parts: Split) -> bytes:
    """The whole answer, its length first."""
    beginning = _beginning(version)
    out = BytesIO()
    out.write(parts.before)
    beginning.write_count(out, len(parts.brokers))
    for broker in parts.brokers:
        beginning.write_broker(out, broker)
    length = out.tell() + len(parts.behind)
    return b"".join((length.to_bytes(LENGTH_BYTES, "big"), out.getbuffer(), parts.behind))
