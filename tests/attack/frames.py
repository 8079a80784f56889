"""Hostile requests of every API and version, through a gateway's own connections over a transport that is none.

Watches, beside what every attack does: errors of the gateway's own, answers that come in another order than the
requests, and how long a quiet client's heartbeat takes beside each case. Knows the gateway's parts and the wire.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from itertools import chain, repeat
from pathlib import Path
from random import Random

import msgspec

from rollcall.serve.gateway.assembly import stand_alone
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.wire.codec import Codec, codec
from rollcall.serve.listeners.credentials import Credential, credential_of
from tests.attack import hostile
from tests.attack.attacked import Finding
from tests.attack.gateways import Gateway, OverGateways, good_frame, numbers_in, with_length
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import GROUPS
from tests.wire_client import framed

_OTHER_KEYS = (-1, 4, 19, 24, 68, 999, 32_767)
_FRAMES = (1, 1, 1, 2, 3, 10, 60)
_STREAM_BYTES = 3_000_000
_PIECE_BYTES = 262_144
_CUTS = 8
_GOOD_OF_EACH = 20
"""How many well-formed requests of each API and version are made once and then changed; a tenth is made anew."""
_PASSWORD_S = 0.02


class Case(msgspec.Struct, array_like=True):
    """What one client sends, and how."""

    stream: bytes
    cuts: list[int]
    """How long its pieces are, the last as long as it takes."""
    reads: bool
    """Whether it reads its answers."""
    authenticates: bool
    """Whether it comes to a gateway where clients must."""


class Frames(OverGateways):
    """The gateway's connections."""

    name = "frames"
    slow_s = 3.0

    def __init__(self) -> None:
        super().__init__()
        self._users = Path(self._folder.name) / "users"
        self._users.write_text("".join(_line(credential_of("secret", by, 4096)) for by in _MECHANISMS))
        self._codecs = _codecs(self._users)
        same_each_time = Random(0)
        self._good = [good_frame(same_each_time, spoken) for spoken in self._codecs for _ in range(_GOOD_OF_EACH)]

    def renew(self) -> None:
        self._end()
        common = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "topics": "t1:4,t2:4,g1:1,orders:2000"}
        self._gateways = [self._gateway(common), self._gateway({**common, "gateway.users": str(self._users)})]

    def _gateway(self, settings: dict[str, str]) -> Gateway:
        backend = CoreBackend(GROUPS)
        self._loop.run_until_complete(backend.start())
        server = stand_alone(Settings.from_pairs(settings), backend)
        return Gateway(self._loop, server, server.answering)

    # ------------------------------------------------------------ cases

    def case(self, random: Random) -> bytes:
        authenticates = random.random() < 0.05
        frames = [self._frame(random) for _ in range(random.choice(_FRAMES))]
        if random.random() < 0.7:
            # The last one, for what is no request ends its connection.
            frames[-1] = with_length(hostile.mutated(random, frames[-1][4:]))
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
        frame = random.choice(self._good) if random.random() < 0.9 else good_frame(random, random.choice(self._codecs))
        frame = frame[:4] + random.randbytes(4) + frame[8:]
        if random.random() < 0.01:
            frame = random.choice(_OTHER_KEYS).to_bytes(2, "big", signed=True) + frame[2:]
        return with_length(frame)

    # ------------------------------------------------------------ play

    def play(self, case: bytes) -> int:
        played = msgspec.msgpack.decode(case, type=Case)
        return self._loop.run_until_complete(self._play(played, self._gateways[played.authenticates]))

    async def _play(self, played: Case, gateway: Gateway) -> int:
        peer, connection = await gateway.connected("10.0.0.2", played.reads)
        for piece in _pieces(played):
            if not peer.is_over:
                self._loop.call_soon(connection.data_received, piece)
            self._slowest_s = max(self._slowest_s, await gateway.heartbeat_s())
            if peer.is_reading_paused:
                await gateway.settle(connection, 0.0)
            if peer.is_over or peer.is_reading_paused:
                break
        await gateway.settle(connection, _PASSWORD_S if played.authenticates else 0.0)
        peer.close()
        await gateway.heartbeat_s()
        self._errors.judge()
        asked, answered = numbers_in(played.stream, 4), numbers_in(bytes(peer.written), 0)
        self._answers += len(answered)
        if asked[: len(answered)] != answered:
            raise Finding("answers come in another order than the requests")
        return min(len(asked), len(answered)) + 1


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


def _pieces(case: Case) -> Iterator[bytes]:
    """The stream as it comes: cut as the case says, then in pieces as long as a socket gives."""
    at = 0
    for size in chain(case.cuts[:_CUTS], repeat(_PIECE_BYTES)):
        if at >= len(case.stream):
            return
        yield case.stream[at : at + size]
        at += size


def _log_in(random: Random) -> list[bytes]:
    """A client's first words, right or wrong."""
    token = random.choice((b"\0alice\0secret", b"\0alice\0wrong", b"n,,n=alice,r=abc", random.randbytes(20)))
    mechanism = random.choice(("PLAIN", "PLAIN", *_MECHANISMS))
    return [framed("SaslHandshake", 1, mechanism=mechanism), framed("SaslAuthenticate", 2, auth_bytes=token)]
