"""Members over the wire that do nothing but heartbeat: each one connection, one group of its own.

Knows the wire; must not know where a gateway's answers come from.
"""

from __future__ import annotations

import asyncio
import struct
import time
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from benchmarks.wire_client import framed
from gateway.wire.codec import codec
from listeners.addresses import Address

_JOIN_VERSION, _SYNC_VERSION, _HEARTBEAT_VERSION = 3, 3, 4
_SESSION_MS = 300_000
_AT_A_TIME = 50
_PATIENCE_S = 30.0
_ANSWER = struct.pack(">ii", 12, 1) + bytes(8)
"""A heartbeat's good answer, the same for every request as all have one correlation id."""


class Beat(NamedTuple):
    """A heartbeat that was answered, in seconds since the epoch: when it was due or sent, and when its answer came."""

    group_id: str
    sent_at: float
    answered_at: float


class Member(asyncio.Protocol):
    """One member. next_beat: called after each answer."""

    def __init__(self, number: int, beats: list[Beat]) -> None:
        self._group_id = f"group-{number}"
        self._beats = beats
        self._held = b""
        self._sent: deque[float] = deque()
        self._joining: asyncio.Future[bytes] | None = None
        self.next_beat: Callable[[], None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        if self._joining is not None:
            self._joining.set_exception(EOFError("the gateway ended the connection"))

    async def join(self) -> None:
        """Becomes the only member of its group."""
        joined = await self._call(
            "JoinGroup",
            _JOIN_VERSION,
            session_timeout_ms=_SESSION_MS,
            rebalance_timeout_ms=_SESSION_MS,
            protocol_type="consumer",
            protocols=[{"name": "range", "metadata": b""}],
        )
        member = {"member_id": joined.member_id, "generation_id": joined.generation_id}
        synced = await self._call(
            "SyncGroup", _SYNC_VERSION, **member, assignments=[{"member_id": joined.member_id, "assignment": b"a"}]
        )
        assert synced.assignment == b"a"
        self._heartbeat = framed("Heartbeat", _HEARTBEAT_VERSION, group_id=self._group_id, **member)

    async def _call(self, api: str, version: int, **values: Any) -> Any:
        self._joining = asyncio.get_running_loop().create_future()
        self._transport.write(framed(api, version, group_id=self._group_id, **values))
        frame = await self._joining
        self._joining = None
        _, message = codec(api, version).read_response(frame)
        assert message.error_code.name == "none", message
        return message

    def beat(self, due_at: float | None = None) -> None:
        """Sends a heartbeat."""
        self._sent.append(time.time() if due_at is None else due_at)
        self._transport.write(self._heartbeat)

    def data_received(self, data: bytes) -> None:
        self._held += data
        if self._joining is not None:
            if len(self._held) >= 4 and len(self._held) == 4 + int.from_bytes(self._held[:4]):
                frame, self._held = self._held[4:], b""
                self._joining.set_result(frame)
            return
        now = time.time()
        while len(self._held) >= len(_ANSWER):
            assert self._held.startswith(_ANSWER), self._held
            self._held = self._held[len(_ANSWER) :]
            self._beats.append(Beat(self._group_id, self._sent.popleft(), now))
            if self.next_beat is not None:
                self.next_beat()


class Load:
    """The members of a gateway."""

    def __init__(self, address: Address, members: int) -> None:
        self._address = address
        self.beats: list[Beat] = []
        self.members = [Member(number, self.beats) for number in range(members)]

    async def join(self) -> None:
        """Connects and joins all of them."""
        loop = asyncio.get_running_loop()

        async def join_some(some: list[Member]) -> None:
            for member in some:
                await loop.create_connection(lambda member=member: member, *self._address)  # type: ignore[misc]
                await member.join()

        await asyncio.gather(*(join_some(self.members[start::_AT_A_TIME]) for start in range(_AT_A_TIME)))

    async def beat_evenly(self, a_second: int, for_s: float) -> list[Beat]:
        """Sends this many heartbeats a second, one member after the other, and returns with all answers.

        Each counts as sent when it was due, so that a slow sender makes no answer look quick.
        """
        self.beats.clear()
        began, count, sent = time.time(), int(a_second * for_s), 0
        while sent < count:
            due = min(count, int((time.time() - began) * a_second) + 1)
            for number in range(sent, due):
                self.members[number % len(self.members)].beat(began + number / a_second)
            sent = max(sent, due)
            await asyncio.sleep(0.001)
        async with asyncio.timeout(_PATIENCE_S):
            while len(self.beats) < count:
                await asyncio.sleep(0.001)
        return list(self.beats)

    async def beat_without_pause(self, for_s: float) -> float:
        """Each member sends its next heartbeat when the one before is answered; gives the answers a second."""
        for member in self.members:
            member.next_beat = member.beat
            member.beat()
        await asyncio.sleep(for_s / 4)
        began, before = time.time(), len(self.beats)
        await asyncio.sleep(for_s)
        rate = (len(self.beats) - before) / (time.time() - began)
        for member in self.members:
            member.next_beat = None
        return rate
