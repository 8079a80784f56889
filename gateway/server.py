"""A gateway: listens, gives each client a connection, and ends all of it in order.

Knows sockets and TLS; knows no API.
"""

from __future__ import annotations

import asyncio
import contextlib
import resource
import ssl

from gateway.backend import Backend
from gateway.connection import Connection
from gateway.service import Service
from gateway.settings import Address

BACKLOG = 1024
TLS_HANDSHAKE_S = 10.0


class Server:
    """One listener for the clients of one service."""

    def __init__(self, service: Service, backend: Backend, tls: ssl.SSLContext | None = None) -> None:
        self._service = service
        self._backend = backend
        self._tls = tls

    async def start(self) -> None:
        """Ready for clients when it returns. Raises OSError: the address cannot be used."""
        self._service.load()
        await self._backend.start()
        listen = self._service.settings.listen
        self._listener = await asyncio.get_running_loop().create_server(
            lambda: Connection(self._service),
            listen.host or None,
            listen.port,
            backlog=BACKLOG,
            ssl=self._tls,
            ssl_handshake_timeout=TLS_HANDSHAKE_S if self._tls else None,
        )
        self._watch = asyncio.create_task(self._service.watch())

    @property
    def address(self) -> Address:
        """Where it listens; the port that the system chose, if it was to."""
        return Address(*self._listener.sockets[0].getsockname()[:2])

    async def close(self) -> None:
        """Takes no more clients, ends the connections, and hands over what was read."""
        self._listener.close()
        self._watch.cancel()
        self._service.close_all()
        with contextlib.suppress(asyncio.CancelledError):
            await self._watch
        await self._backend.close()


def allow_many_files() -> None:
    """Lets the process have as many open connections as the system gives it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
