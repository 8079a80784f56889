"""A gateway over the pure core before a scripted upstream, and requests that are the upstream's. Knows no test."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.serve.gateway.assembly import before_upstream
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import GROUPS, Running, started
from tests.gateway.scripted_broker import ScriptedBroker, framed, scripted_broker
from tests.wire_client import Client

OTHER_API = 99
"""A key that nobody but the upstream knows."""


def gateway_before(
    broker: ScriptedBroker | Running, group: GroupConfig = GROUPS, /, **pairs: str
) -> AbstractAsyncContextManager[Server]:
    """The upstream may be a gateway as well."""
    settings = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "gateway.upstream": str(broker.address)}
    known = Settings.from_pairs({**settings, **pairs})
    return started(before_upstream(known, broker.address, CoreBackend(group)))


def other(correlation_id: int, body: bytes = b"", api_key: int = OTHER_API, version: int = 0) -> bytes:
    """A request that is not one of the gateway's, its length first."""
    return framed(struct.pack(">hhih", api_key, version, correlation_id, 0) + body)


@asynccontextmanager
async def before_scripted(**pairs: str) -> AsyncIterator[tuple[ScriptedBroker, Server, Client]]:
    """A scripted upstream, a gateway before it and a client of that."""
    async with scripted_broker() as broker, gateway_before(broker, **pairs) as server:
        yield broker, server, await Client.connect(server.address)


async def received(client: Client) -> int:
    """Which request the next answer is to."""
    number: int = struct.unpack_from(">i", await client.receive_raw())[0]
    return number
