"""A gateway in this process for the length of a test, over the pure core or a home; tests written as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec

from coordinator_udfs.protocol.config import GroupConfig
from gateway.assembly import gateway_on, stand_alone
from gateway.server import Server
from gateway.settings import Address, Settings
from programs.settings import from_texts
from tests.gateway.core_backend import CoreBackend
from tests.gateway.wire_client import Client

P = ParamSpec("P")

GROUPS = from_texts(
    GroupConfig, {"group.min.session.timeout.ms": "100", "group.initial.rebalance.delay.ms": "0", "topics": "t1:4,t2:4"}
)
DEFAULTS = {"gateway.listen": "127.0.0.1:0", "topics": "t1:4,t2:4", "gateway.metrics.listen": ""}
PATIENCE_S = 60.0


def asynchronous(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """A test that is a coroutine, as one that is a function."""

    @wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        asyncio.run(asyncio.wait_for(test(*args, **kwargs), PATIENCE_S))

    return run


@dataclass
class Running:
    """A gateway that runs, and its backend."""

    server: Server
    backend: CoreBackend

    @property
    def address(self) -> Address:
        return self.server.address

    async def client(self, **options: Any) -> Client:
        return await Client.connect(self.address, **options)


@asynccontextmanager
async def gateway(settings: dict[str, str] | None = None, group: GroupConfig = GROUPS) -> AsyncIterator[Running]:
    """A gateway with these settings over the usual ones."""
    backend = CoreBackend(group)
    server = stand_alone(Settings.from_pairs({**DEFAULTS, **(settings or {})}), backend)
    await server.start()
    try:
        yield Running(server, backend)
    finally:
        await server.close()


@asynccontextmanager
async def gateway_of(home: Path, **pairs: str) -> AsyncIterator[Server]:
    """A gateway with these settings over the usual ones, over the tables of a home."""
    server = gateway_on(home, Settings.from_pairs({**DEFAULTS, **pairs}))
    await server.start()
    try:
        yield server
    finally:
        await server.close()
