"""A client of Kafka's wire: one connection, requests and responses by API, version and our field names, or raw bytes.

Tests and benches speak by it. Knows the wire; must not know what is answered.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any, Self

from rollcall.serve.gateway.wire.codec import codec
from rollcall.serve.gateway.wire.shaping import entity_of
from rollcall.serve.listeners.addresses import Address


def framed(api: str, version: int, /, client_id: Any = "client", correlation_id: int = 1, **values: Any) -> bytes:
    """A request as it goes over the wire, with its length first."""
    spoken = codec(api, version)
    return spoken.write_request(correlation_id, client_id, entity_of(spoken.request_type, values))


class Client:
    """One connection. A call sends one request and awaits its answer; `send` and `receive` do half of it."""

    patience_s: float | None = 30.0

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self._correlation_id = 0

    @classmethod
    async def connect(cls, address: Address, **options: Any) -> Self:
        return cls(*await asyncio.open_connection(*address, limit=1 << 24, **options))

    def send(self, api: str, version: int, /, client_id: Any = "client", **values: Any) -> int:
        """The request's correlation id."""
        self._correlation_id += 1
        self.send_raw(framed(api, version, client_id, self._correlation_id, **values))
        return self._correlation_id

    def send_raw(self, data: bytes) -> None:
        self.writer.write(data)

    async def receive_raw(self) -> bytes:
        """The next frame without its length. Raises asyncio.IncompleteReadError: the connection ended."""
        (length,) = struct.unpack(">i", await self.reader.readexactly(4))
        return await self.reader.readexactly(length)

    async def receive(self, api: str, version: int) -> tuple[int, Any]:
        """Correlation id and message of the next response."""
        return codec(api, version).read_response(await asyncio.wait_for(self.receive_raw(), self.patience_s))

    async def call(self, api: str, version: int, /, client_id: Any = "client", **values: Any) -> Any:
        sent = self.send(api, version, client_id, **values)
        correlation_id, message = await self.receive(api, version)
        assert correlation_id == sent
        return message

    async def is_closed_by_peer(self, timeout_s: float = 30.0) -> bool:
        """Whether the other side ends the connection, now or soon, whatever it still says."""
        try:
            async with asyncio.timeout(timeout_s):
                while await self.reader.read(1 << 20):
                    pass
            return True
        except ConnectionResetError:
            return True
        except TimeoutError:
            return False

    def stop_reading(self) -> None:
        assert isinstance(self.writer.transport, asyncio.Transport)
        self.writer.transport.pause_reading()

    def start_reading(self) -> None:
        assert isinstance(self.writer.transport, asyncio.Transport)
        self.writer.transport.resume_reading()

    def close(self) -> None:
        self.writer.close()
