"""An upstream broker that answers as a test tells it to. Knows frames; must not know what a gateway does."""

from __future__ import annotations

import asyncio
import inspect
import struct
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from rollcall.serve.gateway.wire.codec import RequestHeader, codec, read_head
from rollcall.serve.gateway.wire.shaping import entity_of
from rollcall.serve.listeners.addresses import Address

Answering = Callable[[RequestHeader, bytes], bytes | Awaitable[bytes | None] | None]
"""A request's head and whole frame -> the answer with its length, None if there is none."""


class ScriptedBroker:
    """Node 7 of a cluster of one. seen: every request but Metadata and ApiVersions, head and frame."""

    def __init__(self) -> None:
        self.seen: list[tuple[RequestHeader, bytes]] = []
        self.answer: Answering = self.echo
        self.metadata: Answering | None = None
        self.versions: Answering | None = None
        self.place: dict[str, Any] | None = None
        """Where Metadata says that it is; None: where it is."""
        self.connections = 0
        self.nodes = [7]
        self.topics: list[str] = []
        self.sizes: dict[str, int] = {}
        """Topics with partitions and, as long as they are the same topics, ids."""
        self.ids: dict[str, uuid.UUID] = {}
        self.hangs_up = False
        self._writers: list[asyncio.StreamWriter] = []
        self._ends: asyncio.Queue[None] = asyncio.Queue()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=1 << 24)
        self.address = Address(*self._server.sockets[0].getsockname()[:2])

    def cut(self) -> None:
        """Ends every connection."""
        for writer in self._writers:
            writer.close()

    async def next_end(self) -> None:
        """Returns when a connection has been ended by the other side."""
        await self._ends.get()

    async def close(self) -> None:
        self._server.close()
        self.cut()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.append(writer)
        try:
            while True:
                (length,) = struct.unpack(">i", await reader.readexactly(4))
                frame = await reader.readexactly(length)
                answer = self._answer(read_head(frame), frame)
                if inspect.isawaitable(answer):
                    answer = await answer
                if answer is not None:
                    writer.write(answer)
                    await writer.drain()
        except (EOFError, ConnectionError):
            writer.close()
            self._ends.put_nowait(None)

    def _answer(self, head: RequestHeader, frame: bytes) -> bytes | Awaitable[bytes | None] | None:
        if self.hangs_up:
            raise ConnectionError
        match head.api_key:
            case 3 if self.metadata is not None:
                return self.metadata(head, frame)
            case 18 if self.versions is not None:
                return self.versions(head, frame)
            case 3:
                nodes = [{"node_id": node, **self._place()} for node in self.nodes]
                topics = [{"name": name} for name in self.topics] + [*map(self._topic, self.sizes)]
                return written("Metadata", head, {"brokers": nodes, "controller_id": 7, "topics": topics})
            case 18:
                ranges = {0: 13, 1: 18, 3: 13, 11: 9, 17: 1, 28: 5, 60: 2, 68: 1, 99: 3}
                keys = [{"api_key": key, "min_version": 0, "max_version": last} for key, last in ranges.items()]
                features = [{"name": name, "max_version": 1} for name in ("metadata.version", "group.version")]
                return written("ApiVersions", head, {"api_keys": keys, "supported_features": features})
        self.seen.append((head, frame))
        return self.answer(head, frame)

    def _topic(self, name: str) -> dict[str, Any]:
        partitions = [{"partition_index": i, "leader_id": 7, "replica_nodes": [7]} for i in range(self.sizes[name])]
        topic_id = self.ids.setdefault(name, uuid.uuid4())
        return {"name": name, "topic_id": topic_id, "partitions": partitions}

    def _place(self) -> dict[str, Any]:
        return self.place or {"host": self.address.host, "port": self.address.port}

    def echo(self, head: RequestHeader, frame: bytes) -> bytes:
        """The answer to any request: its own bytes behind the correlation id."""
        return answered(head, frame)


def framed(frame: bytes) -> bytes:
    return struct.pack(">i", len(frame)) + frame


def answered(head: RequestHeader, body: bytes) -> bytes:
    """Any bytes as the answer to a request."""
    return framed(struct.pack(">i", head.correlation_id) + body)


def written(api: str, head: RequestHeader, values: dict[str, Any]) -> bytes:
    spoken = codec(api, head.api_version)
    return spoken.write_response(head.correlation_id, entity_of(spoken.response_type, values))


@asynccontextmanager
async def scripted_broker() -> AsyncIterator[ScriptedBroker]:
    broker = ScriptedBroker()
    await broker.start()
    try:
        yield broker
    finally:
        await broker.close()
