"""A connection of the gateway's own to the upstream: it gets in, asks one thing at a time, and is answered.

Knows frames and how to get in; knows no message.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from gateway.settings import Address
from gateway.upstream.entrance import CLIENT_ID, PATIENCE_S, Entrance, next_of
from gateway.wire.codec import WireError, codec
from gateway.wire.shaping import entity_of

_ANSWER_MAX_BYTES = 67_108_864
_CORRELATION_ID = 3


class UpstreamError(OSError):
    """The upstream cannot be asked; the text says which and why."""


class Line:
    """Such a connection. Every answer is waited for so long; then TimeoutError."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, api: str, version: int, values: Mapping[str, Any]) -> bytes:
        """The answer to a request, without its length. Raises OSError, EOFError, WireError."""
        spoken = codec(api, version)
        return await self.say(spoken.write_request(_CORRELATION_ID, CLIENT_ID, entity_of(spoken.request_type, values)))

    async def say(self, request: bytes) -> bytes:
        """The same for a request that is bytes already, its length first."""
        async with asyncio.timeout(PATIENCE_S):
            self._writer.write(request)
            (length,) = struct.unpack(">i", await self._reader.readexactly(4))
            if not 0 < length <= _ANSWER_MAX_BYTES:
                raise WireError(f"an answer of {length} bytes; is gateway.upstream.security.protocol its listener's?")
            return await self._reader.readexactly(length)


@asynccontextmanager
async def line_to(address: Address, entrance: Entrance) -> AsyncIterator[Line]:
    """A line that is let in. Raises OSError, EOFError, WireError."""
    async with asyncio.timeout(PATIENCE_S):
        reader, writer = await asyncio.open_connection(*address, ssl=entrance.tls)
    try:
        line = Line(reader, writer)
        conversation = entrance.conversation()
        request = next(conversation, None)
        while request is not None:
            request = next_of(conversation, await line.say(request))
        yield line
    finally:
        writer.close()


@asynccontextmanager
async def first_line_to(bootstrap: Address, entrance: Entrance) -> AsyncIterator[Line]:
    """The same, for what must be known before the gateway starts. Raises UpstreamError alone."""
    try:
        async with asyncio.timeout(PATIENCE_S), line_to(bootstrap, entrance) as line:
            yield line
    except UpstreamError:
        raise
    except TimeoutError:
        raise UpstreamError(f"gateway.upstream={bootstrap}: does not answer") from None
    except (EOFError, ConnectionResetError, ConnectionAbortedError):
        raise UpstreamError(
            f"gateway.upstream={bootstrap}: ends the connection; is gateway.upstream.security.protocol its listener's?"
        ) from None
    except (OSError, WireError) as error:
        raise UpstreamError(f"gateway.upstream={bootstrap}: {error}") from None
