"""A connection of the gateway's own to the upstream: it logs in, asks one request at a time, and is answered.

Knows frames and the login; knows no message.
"""

from __future__ import annotations

import asyncio
import struct
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from gateway.upstream.upstream_login import CLIENT_ID, LOGIN_WITHIN_S, UpstreamLogin
from gateway.wire.codec import WireError, codec
from gateway.wire.shaping import entity_of
from listeners.addresses import Address

_ANSWER_MAX_BYTES = 67_108_864
_CORRELATION_ID = 3


class UpstreamError(OSError):
    """The upstream cannot be asked; the text says which and why."""


class UpstreamClient:
    """Such a connection. Raises TimeoutError: an answer takes longer than LOGIN_WITHIN_S."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    async def ask(self, api: str, version: int, values: Mapping[str, Any]) -> bytes:
        """The answer to a request, without its length. Raises OSError, EOFError, WireError."""
        spoken = codec(api, version)
        return await self.send(spoken.write_request(_CORRELATION_ID, CLIENT_ID, entity_of(spoken.request_type, values)))

    async def send(self, request: bytes) -> bytes:
        """The same for a request that is bytes already, its length first."""
        async with asyncio.timeout(LOGIN_WITHIN_S):
            self._writer.write(request)
            (length,) = struct.unpack(">i", await self._reader.readexactly(4))
            if not 0 < length <= _ANSWER_MAX_BYTES:
                raise WireError(f"an answer of {length} bytes; is gateway.upstream.security.protocol its listener's?")
            return await self._reader.readexactly(length)


@asynccontextmanager
async def connected_to(address: Address, login: UpstreamLogin) -> AsyncIterator[UpstreamClient]:
    """A client that is connected and logged in. Raises OSError, EOFError, WireError."""
    async with asyncio.timeout(LOGIN_WITHIN_S):
        reader, writer = await asyncio.open_connection(*address, ssl=login.tls)
    try:
        client = UpstreamClient(reader, writer)
        await login.log_in(client.send)
        yield client
    finally:
        writer.close()


@asynccontextmanager
async def first_connected_to(bootstrap: Address, login: UpstreamLogin) -> AsyncIterator[UpstreamClient]:
    """The same, for what must be known before the gateway starts. Raises UpstreamError alone."""
    try:
        async with asyncio.timeout(LOGIN_WITHIN_S), connected_to(bootstrap, login) as client:
            yield client
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
