"""Gateways whose clients come over transports that are none: for attacks, thousands of them a second.

A quiet client stands beside, whose heartbeat must be answered, soon and with its own answer. Knows a gateway's parts
and the wire; must not know how an attack is made.
"""

from __future__ import annotations

import asyncio
import gc
import logging
import selectors
import tempfile
import time
from collections.abc import Callable, Generator
from random import Random
from typing import Any

from rollcall.serve.gateway.answering import Answering, Client
from rollcall.serve.gateway.client_connection import SEND_HIGH_WATER_BYTES, ClientConnection
from rollcall.serve.gateway.server import Server
from rollcall.serve.gateway.wire.codec import Codec
from tests.attack import hostile
from tests.attack.attacked import Finding, raised_at
from tests.attack.random_messages import random_entity
from tests.gateway.wire_client import heartbeat
from tests.wire_client import framed

LATENCY_S = 1.0
"""A quiet client may wait this long for the answer to a heartbeat, in the loop's processor time; 0.01 s is usual."""
PORT = 9092
"""Where clients come in."""
_QUIET_NUMBER = 7
_HEARTBEAT = framed("Heartbeat", 4, correlation_id=_QUIET_NUMBER, **heartbeat("quiet", "m"))
_STEPS = 2000
"""A request that is unanswered after this many rounds of the loop counts as withheld."""
_ROUNDS_A_LOOK = 32
_LOGS = ("gateway", "asyncio")


class End(asyncio.Transport):
    """The other end of a gateway's connection, in this process."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: asyncio.BaseProtocol | None, **known: Any) -> None:
        super().__init__(known)
        self._loop = loop
        self._protocol: Any = protocol
        self.is_reading_paused = False
        self.is_over = False

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == SEND_HIGH_WATER_BYTES

    def get_write_buffer_size(self) -> int:
        return 0

    def pause_reading(self) -> None:
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        self.is_reading_paused = False

    def is_closing(self) -> bool:
        return self.is_over

    def close(self) -> None:
        if not self.is_over and self._protocol is not None:
            self.is_over = True
            self._loop.call_soon(self._protocol.connection_lost, None)

    def abort(self) -> None:
        self.close()


class Peer(End):
    """A client's end: takes what the connection writes, as slowly as it is told to."""

    def __init__(self, loop: asyncio.AbstractEventLoop, host: str, reads: bool = True) -> None:
        super().__init__(loop, None, peername=(host, 40_000), sockname=("127.0.0.1", PORT))
        self._reads = reads
        self.written = bytearray()

    def serve(self, protocol: ClientConnection) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def write(self, data: Any) -> None:
        self.written += data
        if not self._reads and len(self.written) > SEND_HIGH_WATER_BYTES and self._protocol is not None:
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return 0 if self._reads else len(self.written)


class Errors(logging.Handler):
    """The errors that were logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        if error is None:
            self.found.append(record.getMessage())
        elif error.__traceback__ is None:
            self.found.append(type(error).__name__)
        else:
            self.found.append(f"{type(error).__name__} in {raised_at(error).tb_frame.f_code.co_qualname}")

    def listen(self) -> None:
        """From now on gateways' errors come here, and their lines nowhere else."""
        for name in _LOGS:
            log = logging.getLogger(name)
            log.addHandler(self)
            log.propagate = False

    def close(self) -> None:
        for name in _LOGS:
            log = logging.getLogger(name)
            log.removeHandler(self)
            log.propagate = True

    def judge(self) -> None:
        """Raises Finding: an error was logged since the last time."""
        found, self.found = self.found, []
        if found:
            raise Finding(f"an error of the gateway's own: {found[0]}")


class _Selector(selectors.DefaultSelector):
    """Asks the system less often while the loop has work: no client here comes by a socket."""

    def __init__(self) -> None:
        super().__init__()
        self._rounds = 0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        self._rounds += 1
        if timeout == 0 and self._rounds % _ROUNDS_A_LOOK:
            return []
        return super().select(timeout)


class _Round:
    """Awaited, it lets the loop go one round."""

    def __await__(self) -> Generator[None]:
        yield


ROUND = _Round()


class Loop(asyncio.SelectorEventLoop):
    """A loop for gateways without sockets. connects: the other end of what the gateway itself connects to."""

    def __init__(self) -> None:
        super().__init__(_Selector())
        self.connects: Callable[[asyncio.BaseProtocol], asyncio.Transport] | None = None

    async def create_connection(self, protocol_factory: Any, *place: Any, **options: Any) -> Any:
        assert self.connects is not None
        protocol = protocol_factory()
        transport = self.connects(protocol)
        protocol.connection_made(transport)
        return transport, protocol


class Gateway:
    """One gateway over the pure core, and a quiet client in it. taker_for: what takes a client's requests."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, server: Server, taker_for: Callable[[Client], Answering]
    ) -> None:
        self.loop = loop
        self.server = server
        self._taker_for = taker_for
        self.server.routing.load()
        self.quiet, self.quiet_connection = self.client("10.0.0.1")
        self.quiet_connection.caller.is_known = True

    def client(self, host: str, reads: bool = True) -> tuple[Peer, ClientConnection]:
        """A client that has just connected."""
        return self.loop.run_until_complete(self.connected(host, reads))

    async def connected(self, host: str, reads: bool = True) -> tuple[Peer, ClientConnection]:
        peer = Peer(self.loop, host, reads)
        connection = self.server.inside(self._taker_for, lambda: None)
        peer.serve(connection)
        return peer, connection

    async def heartbeat_s(self) -> float:
        """How long the quiet client's heartbeat takes. Raises Finding: it gets another answer, or none."""
        # What earlier tests left in this process is no garbage of the gateway's.
        gc.disable()
        began = time.thread_time()
        self.quiet.written.clear()
        self.loop.call_soon(self.quiet_connection.data_received, _HEARTBEAT)
        while not self.quiet.written and not self.quiet.is_over:
            await ROUND
        took_s = time.thread_time() - began
        gc.enable()
        if self.quiet.is_over:
            raise Finding("a quiet client's connection is ended")
        if numbers_in(bytes(self.quiet.written), 0) != [_QUIET_NUMBER]:
            raise Finding("a quiet client gets another answer than its own")
        if took_s > LATENCY_S:
            raise Finding(f"a quiet client's heartbeat takes more than {LATENCY_S:g} s")
        return took_s

    async def settle(self, connection: ClientConnection, patience_s: float) -> None:
        """Goes on until all is answered that is not withheld; patience_s: how long a password may be checked."""
        ends_at = time.monotonic() + patience_s
        while time.monotonic() < ends_at and len(connection.answers) and not connection.is_ended:
            await ROUND
        for _ in range(3):
            if len(connection.answers):
                await self.server.threads.run("settle", lambda: None)
            for _ in range(_STEPS):
                before = len(connection.answers)
                await ROUND
                if connection.is_ended or len(connection.answers) == before:
                    break

    def close(self) -> None:
        self.loop.run_until_complete(self._close())

    async def _close(self) -> None:
        self.quiet.close()
        await ROUND
        self.server.threads.close()
        await self.server.backend.close()


class OverGateways:
    """What an attack on gateways holds: its loop, a folder for their files, their errors, and what was measured."""

    def __init__(self) -> None:
        self._loop = Loop()
        self._folder = tempfile.TemporaryDirectory()
        self._errors = Errors()
        self._errors.listen()
        self._gateways: list[Gateway] = []
        self._answers = 0
        self._slowest_s = 0.0

    def _end(self) -> None:
        for gateway in self._gateways:
            gateway.close()
        self._gateways.clear()
        self._errors.found.clear()

    def close(self) -> None:
        self._end()
        self._errors.close()
        self._loop.close()
        self._folder.cleanup()

    def figures(self) -> str:
        return (
            f"{self._answers:,} answers; a quiet client's slowest heartbeat took {self._slowest_s * 1000:.0f} ms of "
            "processor time"
        )


def with_length(frame: bytes) -> bytes:
    """A request or an answer as it goes over the wire."""
    return len(frame).to_bytes(4, "big") + frame


def good_frame(random: Random, spoken: Codec) -> bytes:
    """A well-formed request, without its length."""
    return spoken.write_request(0, hostile.text(random)[:1000], random_entity(random, spoken.request_type))[4:]


def numbers_in(stream: bytes, at_in_frame: int) -> list[int]:
    """The correlation ids of a stream's frames."""
    numbers, at = [], 0
    while at + 4 <= len(stream):
        length = int.from_bytes(stream[at : at + 4], "big", signed=True)
        if length < at_in_frame + 4 or at + 4 + length > len(stream):
            break
        start = at + 4 + at_in_frame
        numbers.append(int.from_bytes(stream[start : start + 4], "big", signed=True))
        at += 4 + length
    return numbers
