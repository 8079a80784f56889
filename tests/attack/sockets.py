"""Clients that come by real sockets and go at any moment: in a handshake, in a request, with a reset, half closed.

Watches that no connection is counted that is over, that no error is logged, and that a client that comes afterwards is
served. Knows sockets, TLS from outside, and what a gateway counts.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import tempfile
import time
from enum import StrEnum
from pathlib import Path
from random import Random

import msgspec

from rollcall.serve.gateway.assembly import stand_alone
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.listeners import listener
from rollcall.serve.listeners.credentials import write_user
from tests.attack import hostile
from tests.attack.attacked import Finding
from tests.attack.gateways import Errors
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import DEFAULTS, GROUPS
from tests.gateway.wire_client import heartbeat, join
from tests.waiting import until_true
from tests.wire_client import Client, framed

_CERTIFICATES = Path(__file__).parents[1] / "gateway" / "certificates"
_TLS = {
    "gateway.ssl.certificate": str(_CERTIFICATES / "server.pem"),
    "gateway.ssl.key": str(_CERTIFICATES / "server.key"),
}
_CLIENTS = (1, 5, 40)
_REQUESTS = (0, 1, 2, 20)
_ANSWER_S = 0.02
_TLS_SHUTDOWN_S = 0.1
_OVER_WITHIN_S = 20.0
"""How long a connection may take to end after the last client: TLS has a timeout of its own."""
_RESET = struct.pack("ii", 1, 0)


class End(StrEnum):
    """How a client goes."""

    CLOSE = "close"
    RESET = "reset"
    HALF = "half"


class Visit(msgspec.Struct, array_like=True):
    """What one client does."""

    gateway: int
    hello_bytes: int
    """How much of its TLS handshake's first message it sends; a negative number: it speaks no TLS."""
    rounds: int
    """How often it goes on with the handshake."""
    sent: bytes
    reads: bool
    end: End


class Sockets:
    """Gateways that listen."""

    name = "sockets"
    slow_s = 10.0

    def __init__(self) -> None:
        # Every case waits for the last connection's end.
        listener.TLS_SHUTDOWN_S = _TLS_SHUTDOWN_S
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory()
        users = Path(self._folder.name) / "users"
        write_user(users, "alice", "secret")
        self._settings: tuple[dict[str, str], ...] = ({}, _TLS, {**_TLS, "gateway.users": str(users)})
        self._context = ssl.create_default_context(cafile=_CERTIFICATES / "ca.pem")
        self._errors = Errors()
        self._errors.listen()
        self._servers: list[Server] = []
        self._slowest_s = 0.0

    def renew(self) -> None:
        self._loop.run_until_complete(self._end())
        self._loop.run_until_complete(self._start())

    async def _start(self) -> None:
        for settings in self._settings:
            server = stand_alone(Settings.from_pairs({**DEFAULTS, **settings}), CoreBackend(GROUPS))
            await server.start()
            self._servers.append(server)

    async def _end(self) -> None:
        for server in self._servers:
            await server.close()
        self._servers.clear()

    def close(self) -> None:
        self._loop.run_until_complete(self._end())
        self._errors.close()
        self._loop.close()
        self._folder.cleanup()

    def figures(self) -> str:
        return f"the last connection was over {self._slowest_s * 1000:.0f} ms after its client at the latest"

    # ------------------------------------------------------------ cases

    def case(self, random: Random) -> bytes:
        return msgspec.msgpack.encode([_visit(random) for _ in range(random.choice(_CLIENTS))])

    def play(self, case: bytes) -> int:
        visits = msgspec.msgpack.decode(case, type=list[Visit])
        self._loop.run_until_complete(self._play(visits))
        return len(visits)

    async def _play(self, visits: list[Visit]) -> None:
        await asyncio.gather(*[self._come(visit) for visit in visits])
        ended = time.monotonic()
        try:
            await until_true(lambda: not any(len(server.connections) for server in self._servers), _OVER_WITHIN_S)
        except TimeoutError:
            raise Finding("a connection that is over is still counted") from None
        self._slowest_s = max(self._slowest_s, time.monotonic() - ended)
        self._errors.judge()
        client = await Client.connect(self._servers[0].address)
        await client.call("Heartbeat", 4, **heartbeat())
        client.close()

    async def _come(self, visit: Visit) -> None:
        sock = socket.socket()
        sock.setblocking(False)
        with contextlib.suppress(OSError, TimeoutError), sock:
            await self._loop.sock_connect(sock, self._servers[visit.gateway].address)
            if visit.hello_bytes >= 0:
                await self._speak_tls(sock, visit)
            else:
                await self._loop.sock_sendall(sock, visit.sent)
            if visit.reads:
                await asyncio.wait_for(self._loop.sock_recv(sock, 65_536), _ANSWER_S)
            match visit.end:
                case End.RESET:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
                case End.HALF:
                    sock.shutdown(socket.SHUT_WR)
                case End.CLOSE:
                    pass

    async def _speak_tls(self, sock: socket.socket, visit: Visit) -> None:
        incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        spoken = self._context.wrap_bio(incoming, outgoing, server_hostname="localhost")
        with contextlib.suppress(ssl.SSLWantReadError):
            spoken.do_handshake()
        await self._loop.sock_sendall(sock, outgoing.read()[: visit.hello_bytes])
        for _ in range(visit.rounds):
            incoming.write(await asyncio.wait_for(self._loop.sock_recv(sock, 65_536), 10 * _ANSWER_S))
            with contextlib.suppress(ssl.SSLWantReadError):
                spoken.do_handshake()
            await self._loop.sock_sendall(sock, outgoing.read())
        with contextlib.suppress(ssl.SSLError):
            spoken.write(visit.sent)
            await self._loop.sock_sendall(sock, outgoing.read())


def _visit(random: Random) -> Visit:
    gateway = random.randrange(3)
    speaks_tls = gateway > 0 and random.random() < 0.8
    hello_bytes = random.choice((100_000, 100_000, random.randrange(600))) if speaks_tls else -1
    sent = b"".join(random.choice(_GOOD) for _ in range(random.choice(_REQUESTS)))
    if random.random() < 0.5:
        sent = hostile.mutated(random, sent)
    if random.random() < 0.2:
        sent += random.randbytes(random.choice((10, 1000, 200_000)))
    reads = random.random() < 0.3
    return Visit(gateway, hello_bytes, random.randrange(4), sent, reads, random.choice(list(End)))


_JOIN = join(session_timeout_ms=1000, rebalance_timeout_ms=1000)
"""A connection that is not read while its answer waits is over when the answer comes, at most so much later."""
_GOOD = (
    framed("ApiVersions", 3, client_software_name="a", client_software_version="1"),
    framed("Heartbeat", 4, **heartbeat()),
    framed("JoinGroup", 9, **_JOIN),
    framed("JoinGroup", 3, **_JOIN),
    framed("Metadata", 12, topics=None),
    framed("DescribeGroups", 5, groups=[f"g{number}" for number in range(3000)]),
    framed("SaslHandshake", 1, mechanism="PLAIN"),
    framed("SaslAuthenticate", 2, auth_bytes=b"\0alice\0secret"),
    framed("SaslAuthenticate", 2, auth_bytes=b"\0alice\0wrong"),
)
