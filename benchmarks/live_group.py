"""One group's members over the wire, by the rules of a real client: when they are Stable, how fast they are answered.

Each member has a connection, joins in two steps, syncs, and heartbeats every 10 ms until all share one generation. It
joins again when an answer says that a rebalance is under way. Knows the wire; must not know where a gateway's answers
come from.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

from benchmarks.wire_client import Client
from listeners.addresses import Address

_VERSIONS = {
    "FindCoordinator": 4,
    "JoinGroup": 9,
    "SyncGroup": 5,
    "Heartbeat": 4,
    "LeaveGroup": 5,
    "OffsetCommit": 9,
    "ConsumerGroupHeartbeat": 1,
}
_TIMEOUT_MS = 60_000
_BEAT_EVERY_S = 0.01
_LOOK_EVERY_S = 0.05
LOADING = ("coordinator_load_in_progress", "not_coordinator", "coordinator_not_available")
"""What a coordinator answers that has just been made."""


class Connection(Client):
    """A member's connection: one request after the other about its group."""

    member_id = ""
    generation_id: int | None = None
    """Or its epoch."""
    patience_s = None

    def __init__(self, group_id: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        super().__init__(reader, writer)
        self._group_id = group_id

    async def ask(self, api: str, **values: Any) -> Any:
        return await self.call(api, _VERSIONS[api], group_id=self._group_id, **values)

    async def find_coordinator(self) -> None:
        """Waits until the group has a coordinator: a broker that is new makes its offsets topic first."""
        while True:
            found = await self.ask("FindCoordinator", coordinator_keys=[self._group_id], key_type=0)
            if found.coordinators[0].error_code.name == "none":
                return
            await asyncio.sleep(_LOOK_EVERY_S)

    async def commit(self, topic: str, partition: int, offset: int, metadata: str = "") -> str:
        """The error that its commit is answered with."""
        given = {"partition_index": partition, "committed_offset": offset, "committed_metadata": metadata}
        who = {"member_id": self.member_id, "generation_id_or_member_epoch": self.generation_id}
        response = await self.ask("OffsetCommit", **who, topics=[{"name": topic, "partitions": [given]}])
        return str(response.topics[0].partitions[0].error_code.name)


class ClassicMember(Connection):
    """A member by the classic protocol."""

    beats = 0
    """How many of its heartbeats were answered NONE."""

    async def join(self) -> None:
        """Joins and syncs until it has a generation. Raises RuntimeError: refused."""
        while True:
            joined = await self.ask(
                "JoinGroup",
                member_id=self.member_id,
                session_timeout_ms=_TIMEOUT_MS,
                rebalance_timeout_ms=_TIMEOUT_MS,
                protocol_type="consumer",
                protocols=[{"name": "range", "metadata": b""}],
            )
            self.member_id = joined.member_id or self.member_id
            match joined.error_code.name:
                case "member_id_required":
                    continue
                case "none":
                    pass
                case error if error in LOADING:
                    await asyncio.sleep(_LOOK_EVERY_S)
                    continue
                case error:
                    raise RuntimeError(f"JoinGroup: {error}")
            shares = [{"member_id": member.member_id, "assignment": b"a"} for member in joined.members]
            synced = await self.ask(
                "SyncGroup",
                member_id=self.member_id,
                generation_id=joined.generation_id,
                protocol_type="consumer",
                protocol_name="range",
                assignments=shares,
            )
            match synced.error_code.name:
                case "none":
                    self.generation_id = joined.generation_id
                    return
                case "rebalance_in_progress" | "illegal_generation":
                    continue
                case error:
                    raise RuntimeError(f"SyncGroup: {error}")

    async def beat(self) -> str:
        """The error that its heartbeat is answered with."""
        beat = await self.ask("Heartbeat", member_id=self.member_id, generation_id=self.generation_id)
        error = str(beat.error_code.name)
        self.beats += error == "none"
        return error

    async def leave(self) -> None:
        await self.ask("LeaveGroup", members=[{"member_id": self.member_id}])
        self.close()


Joining = TypeVar("Joining", bound=Connection)


async def connected(kind: type[Joining], address: Address, group_id: str, size: int) -> list[Joining]:
    """Clients that are connected and will be members, of a group that has a coordinator."""
    members = [kind(group_id, *await asyncio.open_connection(*address)) for _ in range(size)]
    await members[0].find_coordinator()
    return members


async def seconds_to_stable(stabilize: Callable[[Joining], Awaitable[None]], members: list[Joining]) -> float:
    """How long it takes until all have settled that begin at once."""
    began = time.perf_counter()
    await asyncio.gather(*map(stabilize, members))
    return time.perf_counter() - began


async def _seconds_of_beat(member: ClassicMember) -> float:
    """How long a settled member's heartbeat takes. Raises RuntimeError: it is refused."""
    sent = time.perf_counter()
    if (error := await member.beat()) != "none":
        raise RuntimeError(f"a settled member was refused: {error}")
    return time.perf_counter() - sent


async def commit_for(members: Sequence[Connection], seconds: float, topic: str) -> list[float]:
    """Sorted seconds that commits with metadata took; each member commits again when it is answered, a partition each.

    Raises RuntimeError: a settled member was refused.
    """
    until, took = time.perf_counter() + seconds, list[float]()

    async def one(member: Connection, partition: int) -> None:
        while (sent := time.perf_counter()) < until:
            if (error := await member.commit(topic, partition, len(took), "noted")) != "none":
                raise RuntimeError(f"a settled member's commit was refused: {error}")
            took.append(time.perf_counter() - sent)

    await asyncio.gather(*(one(member, partition) for partition, member in enumerate(members)))
    return sorted(took)


class LiveGroup:
    """Members of a group of their own."""

    def __init__(self, address: Address, group_id: str, size: int) -> None:
        self._address = address
        self._group_id = group_id
        self._size = size
        self.members: list[ClassicMember] = []

    @property
    def beats(self) -> int:
        """How many heartbeats of its members were answered NONE."""
        return sum(member.beats for member in self.members)

    async def form(self) -> float:
        """Seconds from the first JoinGroup until every member has its assignment in one generation."""
        self.members = await connected(ClassicMember, self._address, self._group_id, self._size)
        return await seconds_to_stable(self._stabilize, self.members)

    async def _stabilize(self, member: ClassicMember) -> None:
        while True:
            await member.join()
            while not self._is_one_generation():
                await asyncio.sleep(_BEAT_EVERY_S)
                if await member.beat() != "none":
                    member.generation_id = None
                    break
            else:
                return

    def _is_one_generation(self) -> bool:
        return len({member.generation_id for member in self.members}) == 1

    async def beat_for(self, seconds: float) -> list[float]:
        """Sorted seconds that heartbeats took; each member sends the next one when the one before is answered."""
        until, took = time.perf_counter() + seconds, list[float]()

        async def one(member: ClassicMember) -> None:
            while time.perf_counter() < until:
                took.append(await _seconds_of_beat(member))

        await asyncio.gather(*map(one, self.members))
        return sorted(took)

    async def beat_every(self, interval_s: float, took: list[float], over: asyncio.Event) -> None:
        """Each member beats at this interval, from a random moment of it on, until it is over.

        took: the seconds of each heartbeat are added to it.
        """

        async def one(member: ClassicMember) -> None:
            due = time.perf_counter() + interval_s * random.random()
            while not over.is_set():
                await asyncio.sleep(due - time.perf_counter())
                took.append(await _seconds_of_beat(member))
                due += interval_s

        await asyncio.gather(*map(one, self.members))

    async def leave(self) -> None:
        await asyncio.gather(*(member.leave() for member in self.members))
