"""Hostile clients of a gateway before an upstream, and an upstream whose brokers answer as badly as they can.

Brokers answer well, late, in pieces, twice, never, with another correlation id, with lengths that are none, with
changed bytes, or hang up; before that they let the gateway in or do not. Watches what the attack on frames watches.
Knows the gateway's parts and the wire.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from rollcall.serve.gateway.answering import Answering, Client
from rollcall.serve.gateway.assembly import before_upstream
from rollcall.serve.gateway.settings import Settings
from rollcall.serve.gateway.upstream.upstream_server import UpstreamServer
from rollcall.serve.gateway.wire.codec import Codec, FrameCutter, RequestHeader, codec, read_head
from rollcall.serve.gateway.wire.shaping import entity_of
from rollcall.serve.listeners.addresses import Address
from tests.attack import hostile
from tests.attack.attacked import Finding
from tests.attack.gateways import PORT, End, Gateway, OverGateways, good_frame, numbers_in, with_length
from tests.attack.random_messages import random_entity
from tests.gateway.core_backend import CoreBackend
from tests.gateway.running import GROUPS

_SPOKEN = {
    **{"Produce": (3, 9), "Metadata": (0, 13), "ApiVersions": (0, 4), "DescribeCluster": (0, 2)},
    **{"FindCoordinator": (0, 6), "JoinGroup": (0, 9), "OffsetCommit": (2, 10), "Heartbeat": (0, 4)},
}
"""The APIs that clients speak, with their versions; others they ask by a key alone."""
_OTHER_KEYS = (1, 2, 19, 20, 25, 28, 32, 60, 68, 99, 999)
_NAMES = {3: "Metadata", 10: "FindCoordinator", 18: "ApiVersions", 60: "DescribeCluster"}
_SASL = {17: "SaslHandshake", 36: "SaslAuthenticate"}
_WAYS = (
    *["well"] * 12,
    *("never", "changed", "changed", "another", "twice", "half", "pieces", "length", "long", "hangs up"),
)
_LENGTHS = (-1, 0, 1, 3, 4, 5, 1 << 20, 67_108_865, 2**31 - 1, -(2**31))
_LONG_BYTES = (5_000, 70_000, 300_000, 2_000_000)
_FRAMES = (1, 1, 2, 3, 10, 40)
_GOOD_OF_EACH = 10
_PIECE_BYTES = 65_536
_ANSWER_BYTES = 100_000
_LAST_VERSION = 20
_BROKER = Address("10.0.0.9", 9092)


class Case(msgspec.Struct, array_like=True):
    """What one client sends, and what its broker says."""

    stream: bytes
    cut: int
    """How long the first piece is."""
    reads: bool
    ways: list[str]
    """How the broker answers one request after the other; what comes after the last is not answered."""
    seed: int
    """What the broker's answers are made of."""
    enters: bool
    """Whether the gateway has to authenticate."""


class BrokerEnd(End):
    """A broker's end of a connection: takes the gateway's requests, and answers each in the next way."""

    def __init__(self, loop: asyncio.AbstractEventLoop, protocol: Any, ways: list[str], seed: int) -> None:
        super().__init__(loop, protocol, peername=_BROKER, sockname=("127.0.0.1", 50_000))
        self._ways = deque(ways)
        self._random = Random(seed)
        self._cutter = FrameCutter(1 << 30)
        self._unread: deque[bytes] = deque()

    def write(self, data: Any) -> None:
        self._cutter.feed(bytes(data))
        while not self.is_over and (frame := self._cutter.take()) is not None:
            for part in self._answer(read_head(frame)):
                self._unread.append(part)
        self._loop.call_soon(self._pump)

    def _pump(self) -> None:
        while self._unread and not self.is_reading_paused and not self.is_over:
            part = self._unread.popleft()
            if part:
                self._protocol.data_received(part)
            else:
                self.close()

    def _answer(self, head: RequestHeader) -> list[bytes]:
        """In pieces; an empty one hangs up."""
        way = self._ways.popleft() if self._ways else "never"
        good = with_length(_answer_to(head, self._random))
        match way:
            case "well":
                return [good]
            case "never":
                return []
            case "changed":
                return [with_length(hostile.mutated(self._random, good[4:]))]
            case "another":
                return [good[:4] + self._random.randbytes(4) + good[8:]]
            case "twice":
                return [good * 2]
            case "half":
                return [good[: self._random.randrange(1, len(good))], b""]
            case "pieces":
                cut = self._random.randrange(1, 9)
                return [good[at : at + cut] for at in range(0, min(len(good), 400), cut)] + [good[400:] or good[:0]]
            case "length":
                return [self._random.choice(_LENGTHS).to_bytes(4, "big", signed=True) + good[4:]]
            case "long":
                size = self._random.choice(_LONG_BYTES)
                whole = with_length(head.correlation_id.to_bytes(4, "big", signed=True) + bytes(size))
                return [whole[at : at + _PIECE_BYTES] for at in range(0, len(whole), _PIECE_BYTES)]
            case "hangs up":
                return [b""]
        raise AssertionError(way)

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """The gateway may write to brokers as it likes."""

    def resume_reading(self) -> None:
        super().resume_reading()
        self._loop.call_soon(self._pump)


class Upstream(OverGateways):
    """The gateway's connections to clients and brokers."""

    name = "upstream"
    slow_s = 3.0

    def __init__(self) -> None:
        super().__init__()
        self._loop.connects = self._connected
        self._password = Path(self._folder.name) / "password"
        self._password.write_text("secret")
        self._ways: list[str] = []
        self._seed = 0
        self._takers: list[Callable[[Client], Answering]] = []
        same_each_time = Random(0)
        self._good = [good_frame(same_each_time, spoken) for spoken in _codecs() for _ in range(_GOOD_OF_EACH)]

    def _connected(self, protocol: asyncio.BaseProtocol) -> BrokerEnd:
        """The broker's end of a connection that the gateway has asked for."""
        return BrokerEnd(self._loop, protocol, self._ways, self._seed)

    def renew(self) -> None:
        self._end()
        common = {"gateway.listen": "127.0.0.1:0", "gateway.metrics.listen": "", "gateway.upstream": str(_BROKER)}
        enters = {
            "gateway.upstream.security.protocol": "SASL_PLAINTEXT",
            "gateway.upstream.sasl.mechanism": "PLAIN",
            "gateway.upstream.sasl.username": "gateway",
            "gateway.upstream.sasl.password.file": str(self._password),
        }
        self._gateways = [self._gateway(common), self._gateway({**common, **enters})]

    def _gateway(self, settings: dict[str, str]) -> Gateway:
        known = Settings.from_pairs(settings)
        backend = CoreBackend(GROUPS)
        self._loop.run_until_complete(backend.start())
        server = before_upstream(known, _BROKER, backend)
        assert isinstance(server, UpstreamServer)
        server.listen = self._listen  # type: ignore[method-assign]
        self._ways, self._seed = ["well"] * 3, 0
        self._takers.clear()
        self._loop.run_until_complete(server.open())
        return Gateway(self._loop, server, self._takers[0])

    async def _listen(self, taker_for: Callable[[Client], Answering], port: int) -> int:
        """In the place of a port."""
        self._takers.append(taker_for)
        return PORT + len(self._takers) - 1

    # ------------------------------------------------------------ cases

    def case(self, random: Random) -> bytes:
        frames = [self._frame(random) for _ in range(random.choice(_FRAMES))]
        if random.random() < 0.3:
            frames[-1] = with_length(hostile.mutated(random, frames[-1][4:]))
        stream = b"".join(frames)
        if random.random() < 0.1:
            stream = hostile.mutated(random, stream)
        ways = [random.choice(_WAYS) for _ in range(random.choice((3, 10, 40)))]
        cut = random.choice((0, random.randrange(300)))
        case = Case(stream, cut, random.random() < 0.9, ways, random.getrandbits(32), random.random() < 0.2)
        return msgspec.msgpack.encode(case)

    def _frame(self, random: Random) -> bytes:
        frame = random.choice(self._good)
        frame = frame[:4] + random.randbytes(4) + frame[8:]
        if random.random() < 0.2:
            frame = random.choice(_OTHER_KEYS).to_bytes(2, "big", signed=True) + frame[2:]
        return with_length(frame)

    # ------------------------------------------------------------ play

    def play(self, case: bytes) -> int:
        played = msgspec.msgpack.decode(case, type=Case)
        return self._loop.run_until_complete(self._play(played, self._gateways[played.enters]))

    async def _play(self, played: Case, gateway: Gateway) -> int:
        self._ways, self._seed = played.ways, played.seed
        peer, connection = await gateway.connected("10.0.0.2", played.reads)
        for piece in (played.stream[: played.cut], played.stream[played.cut :]):
            if piece and not peer.is_over:
                self._loop.call_soon(connection.data_received, piece)
            self._slowest_s = max(self._slowest_s, await gateway.heartbeat_s())
        await gateway.settle(connection, 0.0)
        peer.close()
        self._slowest_s = max(self._slowest_s, await gateway.heartbeat_s())
        self._errors.judge()
        asked, answered = numbers_in(played.stream, 4), numbers_in(bytes(peer.written), 0)
        self._answers += len(answered)
        rest = iter(asked)
        # A Produce may want no answer.
        if not all(number in rest for number in answered):
            raise Finding("answers come in another order than the requests")
        return min(len(asked), len(answered)) + 1


@cache
def _codecs() -> tuple[Codec, ...]:
    return tuple(codec(api, version) for api, (first, last) in _SPOKEN.items() for version in range(first, last + 1))


def _answer_to(head: RequestHeader, random: Random) -> bytes:
    """A broker's answer without its length: one of the right kind where the gateway reads it, else any bytes."""
    number = head.correlation_id.to_bytes(4, "big", signed=True)
    kinds = _answers(head.api_key, head.api_version)
    return number + (random.choice(kinds) if kinds else random.randbytes(random.choice((0, 4, 40, 4000))))


@cache
def _answers(api_key: int, version: int) -> tuple[bytes, ...]:
    """What a broker may say, behind the correlation id; made once, for long answers take long to make."""
    api = {**_NAMES, **_SASL}.get(api_key)
    if api is None or not 0 <= version <= _LAST_VERSION:
        return ()
    try:
        spoken = codec(api, version)
    except ModuleNotFoundError:
        return ()
    same_each_time = Random(f"{api}/{version}")
    node = {"node_id": 1, "host": _BROKER.host, "port": _BROKER.port}
    plain: dict[str, dict[str, Any]] = {"SaslHandshake": {"mechanisms": ["PLAIN"]}, "Metadata": {"brokers": [node]}}
    said = [entity_of(spoken.response_type, plain.get(api, {}))] * _GOOD_OF_EACH
    if api_key not in _SASL:
        said += [random_entity(same_each_time, spoken.response_type) for _ in range(_GOOD_OF_EACH)]
    written = [spoken.write_response(0, each)[8:] for each in said]
    return tuple(each for each in written if len(each) <= _ANSWER_BYTES)
