"""Hostile requests of every API and version, through a gateway's own connections over a transport that is none.

Watches, beside what every attack does: errors of the gateway's own, answers that come in another order than the
requests, and how long a quiet client's heartbeat takes beside each case. Knows the gateway's parts and the wire.
"""

from __future__ import annotations

import asyncio
import base64
import logging
import tempfile
import time
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from gateway.assembly import stand_alone
from gateway.client_connection import SEND_HIGH_WATER_BYTES, ClientConnection
from gateway.security.credentials import Credential, credential_of
from gateway.server import Server
from gateway.settings import Settings
from gateway.wire.codec import Codec, codec
from gateway.wire.shaping import entity_of
from tests.attack import hostile
from tests.attack.attacked import Finding
from tests.attack.random_messages import random_entity
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import GROUPS
from tests.gateway.wire_client import heartbeat

LATENCY_S = 0.1
"""So long a quiet client may wait for the answer to a heartbeat, in processor time."""
_OTHER_KEYS = (-1, 4, 19, 24, 68, 999, 32_767)
_FRAMES = (1, 1, 1, 2, 3, 10, 60)
_HEARTBEAT = codec("Heartbeat", 4)
_QUIET_NUMBER = 7
_STREAM_BYTES = 3_000_000
_PIECE_BYTES = 262_144
_CUTS = 8
_GOOD_OF_EACH = 20
"""So many well-formed requests of each API and version are made once, to be changed; a tenth of all is made anew."""
_PASSWORD_S = 0.02
_STEPS = 2000
"""After so many rounds of the loop what is unanswered is taken to be withheld."""


class Case(msgspec.Struct, array_like=True):
    """What one client sends, and how."""

    stream: bytes
    cuts: list[int]
    """How long its pieces are, the last as long as it takes."""
    reads: bool
    """Whether it reads its answers."""
    authenticates: bool
    """Whether it comes to a gateway where clients must."""


class Peer(asyncio.Transport):
    """A client's end: takes what the connection writes, as slowly as it is told to."""

    def __init__(self, loop: asyncio.AbstractEventLoop, host: str, reads: bool = True) -> None:
        super().__init__({"peername": (host, 40_000), "sockname": ("127.0.0.1", 9092)})
        self._loop = loop
        self._reads = reads
        self._protocol: asyncio.Protocol | None = None
        self.written = bytearray()
        self.is_reading_paused = False
        self.is_over = False

    def serve(self, protocol: ClientConnection) -> None:
        self._protocol = protocol
        protocol.connection_made(self)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        assert high == SEND_HIGH_WATER_BYTES

    def write(self, data: Any) -> None:
        self.written += data
        if not self._reads and len(self.written) > SEND_HIGH_WATER_BYTES and self._protocol is not None:
            self._protocol.pause_writing()

    def get_write_buffer_size(self) -> int:
        return 0 if self._reads else len(self.written)

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


class _Errors(logging.Handler):
    """The errors that were logged."""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)
        self.found: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        error = record.exc_info[1] if record.exc_info else None
        what = type(error).__name__ if error is not None else record.getMessage()
        trace = None if error is None else error.__traceback__
        while trace is not None and trace.tb_next is not None:
            trace = trace.tb_next
        self.found.append(what if trace is None else f"{what} in {trace.tb_frame.f_code.co_qualname}")


class Gateway:
    """One gateway over the pure core, a quiet client in it, and a loop that goes round by round."""

    def __init__(self, loop: asyncio.AbstractEventLoop, settings: dict[str, str]) -> None:
        self.loop = loop
        self.backend = CoreBackend(GROUPS)
        self.server: Server = stand_alone(Settings.from_pairs(settings), self.backend)
        loop.run_until_complete(self.backend.start())
        self.server.routing.load()
        self.quiet, self.quiet_connection = self.client("10.0.0.1")
        self.quiet_connection.caller.is_known = True

    def client(self, host: str, reads: bool = True) -> tuple[Peer, ClientConnection]:
        """A client that has just connected."""
        peer = Peer(self.loop, host, reads)
        connection = self.loop.run_until_complete(self._inside())
        peer.serve(connection)
        return peer, connection

    async def _inside(self) -> ClientConnection:
        return self.server.inside(self.server.answering, lambda: None)

    def step(self) -> None:
        """One round of the loop."""
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def heartbeat_s(self) -> float:
        """How long the quiet client's heartbeat takes."""
        began = time.process_time()
        self.quiet.written.clear()
        frame = _HEARTBEAT.write_request(
            _QUIET_NUMBER, "quiet", entity_of(_HEARTBEAT.request_type, heartbeat("quiet", "m"))
        )
        self.loop.call_soon(self.quiet_connection.data_received, frame)
        while not self.quiet.written and not self.quiet.is_over:
            self.step()
        return time.process_time() - began

    def settle(self, connection: ClientConnection, patience_s: float) -> None:
        """Goes on until all is answered that is not withheld; patience_s: so long a password may be checked."""
        ends_at = time.monotonic() + patience_s
        while time.monotonic() < ends_at and len(connection.answers) and not connection.is_ended:
            self.step()
        for _ in range(3):
            self.loop.run_until_complete(self._long_work())
            for _ in range(_STEPS):
                before = len(connection.answers)
                self.step()
                if connection.is_ended or len(connection.answers) == before:
                    break

    async def _long_work(self) -> None:
        await self.server.threads.run("settle", lambda: None)

    def close(self) -> None:
        self.quiet.close()
        self.step()
        self.server.threads.close()
        self.loop.run_until_complete(self.backend.close())


class Frames:
    """The gateway's connections."""

    name = "frames"
    slow_s = 3.0

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._folder = tempfile.TemporaryDirectory()
        self._users = Path(self._folder.name) / "users"
        self._users.write_text("".join(_line(credential_of("secret", by, 4096)) for by in _MECHANISMS))
        self._errors = _Errors()
        for name in ("gateway", "asyncio"):
            log = logging.getLogger(name)
            log.addHandler(self._errors)
            log.propagate = False
        self._gateways: list[Gateway] = []
        self._slowest_s = 0.0
        self._answers = 0
        self._codecs = _codecs(self._users)
        same_each_time = Random(0)
        self._good = [_good_frame(same_each_time, spoken) for spoken in self._codecs for _ in range(_GOOD_OF_EACH)]

    def renew(self) -> None:
        self._end()
        common = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "topics": "t1:4,t2:4,g1:1,orders:2000"}
        self._gateways = [
            Gateway(self._loop, common),
            Gateway(self._loop, {**common, "gateway.users": str(self._users)}),
        ]

    def _end(self) -> None:
        for gateway in self._gateways:
            gateway.close()
        self._gateways.clear()
        self._errors.found.clear()

    def close(self) -> None:
        self._end()
        for name in ("gateway", "asyncio"):
            log = logging.getLogger(name)
            log.removeHandler(self._errors)
            log.propagate = True
        self._loop.close()
        self._folder.cleanup()

    def figures(self) -> str:
        return (
            f"{self._answers:,} answers; a quiet client's slowest heartbeat took {self._slowest_s * 1000:.0f} ms of "
            "processor time"
        )

    # ------------------------------------------------------------ cases

    def case(self, random: Random) -> bytes:
        authenticates = random.random() < 0.05
        frames = [self._frame(random) for _ in range(random.choice(_FRAMES))]
        if random.random() < 0.7:
            # The last one, for what is no request ends its connection.
            frames[-1] = _framed(hostile.mutated(random, frames[-1][4:]))
        if authenticates and random.random() < 0.7:
            frames[:0] = _log_in(random)
        if random.random() < 0.02:
            frames *= max(1, min(random.choice((10, 100)), _STREAM_BYTES // sum(map(len, frames))))
        stream = b"".join(frames)
        if random.random() < 0.2:
            stream = hostile.mutated(random, stream)
        cuts = [random.randrange(1, 300) for _ in range(random.choice((0, 0, 0, 0, 1, _CUTS)))]
        return msgspec.msgpack.encode(Case(stream, cuts, random.random() < 0.9, authenticates))

    def _frame(self, random: Random) -> bytes:
        frame = random.choice(self._good) if random.random() < 0.9 else _good_frame(random, random.choice(self._codecs))
        frame = frame[:4] + random.randbytes(4) + frame[8:]
        if random.random() < 0.01:
            frame = random.choice(_OTHER_KEYS).to_bytes(2, "big", signed=True) + frame[2:]
        return _framed(frame)

    # ------------------------------------------------------------ play

    def play(self, case: bytes) -> int:
        played = msgspec.msgpack.decode(case, type=Case)
        gateway = self._gateways[played.authenticates]
        peer, connection = gateway.client("10.0.0.2", played.reads)
        latency_s = 0.0
        for piece in _pieces(played):
            if not peer.is_over:
                gateway.loop.call_soon(connection.data_received, piece)
            latency_s = max(latency_s, gateway.heartbeat_s())
            if peer.is_reading_paused:
                gateway.settle(connection, 0.0)
            if peer.is_over or peer.is_reading_paused:
                break
        gateway.settle(connection, _PASSWORD_S if played.authenticates else 0.0)
        peer.close()
        gateway.step()
        self._slowest_s = max(self._slowest_s, latency_s)
        asked = _numbers(played.stream, 4)
        answers = self._judge(peer, asked, latency_s, gateway)
        return min(len(asked), answers) + 1

    def _judge(self, peer: Peer, asked: list[int], latency_s: float, gateway: Gateway) -> int:
        """How many answers came. Raises Finding."""
        errors, self._errors.found = self._errors.found, []
        if errors:
            raise Finding(f"an error of the gateway's own: {errors[0]}")
        if gateway.quiet.is_over:
            raise Finding("a quiet client's connection is ended")
        if _numbers(bytes(gateway.quiet.written), 0) != [_QUIET_NUMBER]:
            raise Finding("a quiet client gets another answer than its own")
        if latency_s > LATENCY_S:
            raise Finding(f"a quiet client's heartbeat takes more than {LATENCY_S:g} s")
        answered = _numbers(bytes(peer.written), 0)
        self._answers += len(answered)
        if asked[: len(answered)] != answered:
            raise Finding("answers come in another order than the requests")
        return len(answered)


_MECHANISMS = ("SCRAM-SHA-256", "SCRAM-SHA-512")


def _line(credential: Credential) -> str:
    keys = (credential.salt, credential.stored_key, credential.server_key)
    words = [base64.b64encode(key).decode() for key in keys]
    return " ".join(["alice", credential.mechanism, str(credential.iterations), *words]) + "\n"


def _codecs(users: Path) -> list[Codec]:
    settings = {"gateway.users": str(users), "topics": "t:1"}
    routing = stand_alone(Settings.from_pairs(settings), CoreBackend(GROUPS)).routing
    return [
        codec(endpoint.api, version)
        for endpoint in routing.endpoints
        for version in range(endpoint.first, endpoint.last + 1)
    ]


def _good_frame(random: Random, spoken: Codec) -> bytes:
    entity = random_entity(random, spoken.request_type)
    return spoken.write_request(0, hostile.text(random)[:1000], entity)[4:]


def _pieces(case: Case) -> Iterator[bytes]:
    """The stream as it comes: cut as the case says, then in pieces as long as a socket gives."""
    at = 0
    for size in chain(case.cuts[:_CUTS], repeat(_PIECE_BYTES)):
        if at >= len(case.stream):
            return
        yield case.stream[at : at + size]
        at += size


def _framed(frame: bytes) -> bytes:
    return len(frame).to_bytes(4, "big") + frame


def _log_in(random: Random) -> list[bytes]:
    """A client's first words, right or wrong."""
    handshake, authenticate = codec("SaslHandshake", 1), codec("SaslAuthenticate", 2)
    token = random.choice((b"\0alice\0secret", b"\0alice\0wrong", b"n,,n=alice,r=abc", random.randbytes(20)))
    mechanism = random.choice(("PLAIN", "PLAIN", *_MECHANISMS))
    return [
        handshake.write_request(1, "c", entity_of(handshake.request_type, {"mechanism": mechanism})),
        authenticate.write_request(2, "c", entity_of(authenticate.request_type, {"auth_bytes": token})),
    ]


def _numbers(stream: bytes, at_in_frame: int) -> list[int]:
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
