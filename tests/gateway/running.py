"""A gateway in this process for the length of a test, over the pure core or a home; tests written as coroutines."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec
from unittest.mock import patch

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.programs.settings import from_texts
from rollcall.serve.gateway.assembly import gateway_on, stand_alone
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.listeners.addresses import Address
from rollcall.tables.job_status import read_status
from tests.gateway.core_backend import CoreBackend
from tests.waiting import until_true
from tests.wire_client import Client

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
async def started(server: Server) -> AsyncIterator[Server]:
    """A server, from its start to its end."""
    await server.start()
    try:
        yield server
    finally:
        await server.close()


@asynccontextmanager
async def gateway(settings: dict[str, str] | None = None, group: GroupConfig = GROUPS) -> AsyncIterator[Running]:
    """A gateway with these settings over the usual ones."""
    backend = CoreBackend(group)
    async with started(stand_alone(Settings.from_pairs({**DEFAULTS, **(settings or {})}), backend)) as server:
        yield Running(server, backend)


@asynccontextmanager
async def gateway_and_client(
    settings: dict[str, str] | None = None, group: GroupConfig = GROUPS
) -> AsyncIterator[tuple[Running, Client]]:
    """The same with a client of it."""
    async with gateway(settings, group) as running:
        yield running, await running.client()


def gateway_of(home: Path, **pairs: str) -> AbstractAsyncContextManager[Server]:
    """A gateway with these settings over the usual ones, over the tables of a home."""
    return started(gateway_on(home, Settings.from_pairs({**DEFAULTS, **pairs})))


@asynccontextmanager
async def beside(home: Path, **pairs: str) -> AsyncIterator[Server]:
    """A gateway beside a coordinator that has ended a batch, which is never taken to be away."""
    await until_true(lambda: (status := read_status(home)) is not None and status.batch_at_ms is not None)
    with patch.multiple("rollcall.serve.gateway.tables.tables_backend", _YOUNG_S=PATIENCE_S, _AWAY_AFTER_S=PATIENCE_S):
        async with gateway_of(home, **{"group.min.session.timeout.ms": "100", **pairs}) as server:
            yield server
