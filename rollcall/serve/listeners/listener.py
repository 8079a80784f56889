"""Accepts connections, counts each one, and runs the TLS handshake if TLS is on.

A connection counts from its first moment, so clients that never finish the handshake count against the limits too.
Knows sockets; knows no request.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import ssl
from collections.abc import Callable
from contextlib import ExitStack

from rollcall.serve.listeners.addresses import Address, listen_at
from rollcall.serve.listeners.connections import ConnectionMetrics, Connections

log = logging.getLogger("gateway")

_BACKLOG = 1024
_HANDSHAKE_S = 10.0
TLS_SHUTDOWN_S = 5.0
"""A TLS client may take this long to close its side."""
_ACCEPTED_A_TURN = 100
_PAUSE_S = 1.0
"""The pause in accepting after the system had no file or memory for a connection."""

ProtocolFactory = Callable[[Callable[[], None]], asyncio.Protocol]
"""Makes the protocol of one connection, which calls its argument when the connection is lost."""


class Listener:
    """Listens at one address."""

    def __init__(self, connections: Connections, metrics: ConnectionMetrics, tls: ssl.SSLContext | None) -> None:
        self._connections = connections
        self._metrics = metrics
        self._tls = tls
        self._loop = asyncio.get_running_loop()
        self._sockets: list[socket.socket] = []
        self._handshakes: set[asyncio.Task[None]] = set()
        self._is_closed = False

    async def open(self, host: str, port: int, protocol_factory: ProtocolFactory) -> Address:
        """Listens on every address of a host, "" for all of the machine; where it does. Raises OSError."""
        self._protocol_factory = protocol_factory
        places = await self._loop.getaddrinfo(host or None, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        for family, kind, protocol, _, place in dict.fromkeys(places):
            listener = socket.socket(family, kind, protocol)
            self._sockets.append(listener)
            listener.setblocking(False)
            try:
                listen_at(listener, place, _BACKLOG)
            except OSError as error:
                self.close()
                raise OSError(error.errno, f"nothing can listen on {Address(*place[:2])}: {error.strerror}") from None
            self._accept_at(listener)
        return Address(*self._sockets[0].getsockname()[:2])

    def close(self) -> None:
        """Accepts no more connections; those that are open stay open."""
        self._is_closed = True
        for listener in self._sockets:
            self._loop.remove_reader(listener)
            listener.close()
        for task in self._handshakes:
            task.cancel()

    def _accept_at(self, listener: socket.socket) -> None:
        if not self._is_closed:
            self._loop.add_reader(listener, self._accept, listener)

    def _accept(self, listener: socket.socket) -> None:
        for _ in range(_ACCEPTED_A_TURN):
            try:
                client, place = listener.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError as error:
                log.error("no connection can be accepted: %s", error.strerror)
                self._loop.remove_reader(listener)
                self._loop.call_later(_PAUSE_S, self._accept_at, listener)
                return
            self._take_in(client, place[0])

    def _take_in(self, client: socket.socket, host: str) -> None:
        client.setblocking(False)
        refused = self._connections.accepted(host)
        if refused:
            self._refuse(host, "limit", refused)
            client.close()
            return
        task = self._loop.create_task(self._serve(client, host))
        self._handshakes.add(task)
        task.add_done_callback(self._handshakes.discard)

    async def _serve(self, client: socket.socket, host: str) -> None:
        """Returns once the protocol has the connection, or the handshake has failed."""
        ended = ExitStack()
        ended.callback(self._connections.ended, host)
        timeouts = {"ssl_handshake_timeout": _HANDSHAKE_S, "ssl_shutdown_timeout": TLS_SHUTDOWN_S} if self._tls else {}
        try:
            await self._loop.connect_accepted_socket(
                lambda: self._protocol_factory(ended.close), client, ssl=self._tls, **timeouts
            )
        except (OSError, EOFError) as error:
            self._refuse(host, "tls", str(error))
            ended.close()
        except BaseException:
            ended.close()
            raise

    def _refuse(self, host: str, reason: str, why: str) -> None:
        log.info("%s: closed: %s %s", host, reason, why)
        self._metrics.closed.labels(reason).inc()
