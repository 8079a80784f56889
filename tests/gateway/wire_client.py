"""A client of the tests: one connection, requests and responses by API, version and our field names, or raw bytes.

Knows the wire; must not know what is answered.
"""

from __future__ import annotations

import asyncio
import struct
from typing import Any

from gateway.settings import Address
from gateway.wire.codec import codec
from gateway.wire.shaping import entity_of

NEWEST = {"JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "ApiVersions": 3, "Metadata": 12}


class Client:
    """One connection. A call sends one request and awaits its answer; `send` and `receive` do half of it."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.patience_s: float | None = 30.0
        self._correlation_id = 0

    @classmethod
    async def connect(cls, address: Address, **options: Any) -> Client:
        return cls(*await asyncio.open_connection(*address, limit=1 << 24, **options))

    def send(self, api: str, version: int, /, client_id: Any = "client", **values: Any) -> int:
        """The request's correlation id."""
        self._correlation_id += 1
        spoken = codec(api, version)
        self.send_raw(spoken.write_request(self._correlation_id, client_id, entity_of(spoken.request_type, values)))
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


def heartbeat(group: str = "g", member: str = "m", generation: int = 1) -> dict[str, Any]:
    return {"group_id": group, "member_id": member, "generation_id": generation}


def join(group: str = "g", member: str = "", protocol: str = "range", **more: Any) -> dict[str, Any]:
    return {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": protocol, "metadata": b"\0\1\0\0\0\0\0\0\0\0\0\0\0\0"}],
        **more,
    }


async def alone_in(client: Client, group: str = "g") -> tuple[str, int]:
    """Member id and generation of a client that is the only member of a stable group."""
    given = await client.call("JoinGroup", 9, **join(group))
    joined = await client.call("JoinGroup", 9, **join(group, given.member_id))
    synced = await client.call(
        "SyncGroup",
        5,
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[{"member_id": joined.member_id, "assignment": b"mine"}],
    )
    assert synced.assignment == b"mine"
    return joined.member_id, joined.generation_id
