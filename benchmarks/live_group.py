"""A group's members over the wire, by either protocol: how long until they have settled, how fast they are answered.

Each member has a connection and heartbeats every 10 ms until its group has settled. By the classic protocol it joins in
two steps and syncs, and joins again when an answer says so; by the newer one (KIP-848) it says at once that it has
taken what it was given. Knows the wire; must not know where answers come from.
"""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any

from rollcall.serve.listeners.addresses import Address
from tests.wire_client import Client

_VERSIONS = {"FindCoordinator": 4, "JoinGroup": 9, "SyncGroup": 5, "Heartbeat": 4, "LeaveGroup": 5, "OffsetCommit": 9}
_TIMEOUT_MS = 60_000
_BEAT_EVERY_S, _LOOK_EVERY_S = 0.01, 0.05
_ASSIGNMENT_INTERVAL_S = 1.0
_NEW = ("coordinator_load_in_progress", "not_coordinator", "coordinator_not_available")
"""What a coordinator answers that has just been made."""


class Member(Client):
    """A member's connection, by the classic protocol: one request after the other about its group."""

    patience_s = None
    member_id = ""
    generation_id = -1
    """Or its epoch."""
    beats = 0
    """How many of its heartbeats were answered NONE."""
    group_id, topic = "", ""

    async def ask(self, api: str, **values: Any) -> Any:
        return await self.call(api, _VERSIONS.get(api, 1), group_id=self.group_id, **values)

    async def find_coordinator(self) -> None:
        """Waits until the group has a coordinator: a broker that is new makes its offsets topic first."""
        error = ""
        while error != "none":
            found = await self.ask("FindCoordinator", coordinator_keys=[self.group_id], key_type=0)
            error = found.coordinators[0].error_code.name
            await asyncio.sleep(_LOOK_EVERY_S)

    async def join(self) -> None:
        """Joins until it is a member with a generation. Raises RuntimeError: refused."""
        while (error := await self._join()) != "none":
            if error in _NEW:
                await asyncio.sleep(_LOOK_EVERY_S)
            elif error not in ("member_id_required", "rebalance_in_progress", "illegal_generation"):
                raise RuntimeError(f"a member could not join: {error}")

    async def commit(self, partition: int, offset: int) -> bool:
        """Whether its commit with metadata was taken."""
        given = {"partition_index": partition, "committed_offset": offset, "committed_metadata": "noted"}
        who = {"member_id": self.member_id, "generation_id_or_member_epoch": self.generation_id}
        response = await self.ask("OffsetCommit", **who, topics=[{"name": self.topic, "partitions": [given]}])
        return bool(response.topics[0].partitions[0].error_code.name == "none")

    async def _join(self) -> str:
        """The error that an attempt to become a member ends with."""
        timeouts = {"session_timeout_ms": _TIMEOUT_MS, "rebalance_timeout_ms": _TIMEOUT_MS}
        protocols = [{"name": "range", "metadata": b""}]
        who = {"member_id": self.member_id, "protocol_type": "consumer"}
        joined = await self.ask("JoinGroup", **who, **timeouts, protocols=protocols)
        self.member_id = joined.member_id or self.member_id
        if joined.error_code.name != "none":
            return str(joined.error_code.name)
        shares = [{"member_id": member.member_id, "assignment": b"a"} for member in joined.members]
        who |= {"member_id": self.member_id, "generation_id": joined.generation_id, "protocol_name": "range"}
        synced = await self.ask("SyncGroup", **who, assignments=shares)
        if synced.error_code.name == "none":
            self.generation_id = joined.generation_id
        return str(synced.error_code.name)

    async def beat(self) -> bool:
        """Whether it is a member as before."""
        beat = await self.ask("Heartbeat", member_id=self.member_id, generation_id=self.generation_id)
        is_taken = beat.error_code.name == "none"
        self.beats += is_taken
        return is_taken

    async def leave(self) -> None:
        """Leaves the group, and ends the connection."""
        await self.ask("LeaveGroup", members=[{"member_id": self.member_id}])
        self.close()


class ConsumerMember(Member):
    """A member by the newer protocol."""

    owned: frozenset[tuple[str, int]] = frozenset()

    async def _join(self) -> str:
        self.member_id, self.generation_id = self.member_id or str(uuid.uuid4()), 0
        subscribed = {"subscribed_topic_names": [self.topic], "rebalance_timeout_ms": _TIMEOUT_MS}
        return await self._said(topic_partitions=[], **subscribed)

    async def beat(self) -> bool:
        """Raises RuntimeError: refused."""
        if (error := await self._said()) != "none":
            raise RuntimeError(f"a member's heartbeat was refused: {error}")
        return True

    async def _said(self, **values: Any) -> str:
        """The error that its heartbeat is answered with."""
        who = {"member_id": self.member_id, "member_epoch": self.generation_id}
        said = await self.ask("ConsumerGroupHeartbeat", **who, **values)
        if said.error_code.name == "none":
            self.generation_id = said.member_epoch
            if said.assignment is not None:
                topics = said.assignment.topic_partitions
                self.owned = frozenset((str(one.topic_id), number) for one in topics for number in one.partitions)
                taken = [{"topic_id": one.topic_id, "partitions": list(one.partitions)} for one in topics]
                return await self._said(topic_partitions=taken)
        return str(said.error_code.name)

    async def leave(self) -> None:
        await self.ask("ConsumerGroupHeartbeat", member_id=self.member_id, member_epoch=-1)
        self.close()


@dataclass
class LiveGroup:
    """Members of a group of their own."""

    address: Address
    group_id: str
    size: int
    protocol: type[Member] = Member
    topic: str = ""
    partitions: int = 0
    """How many its topic has, which are shared out among consumers."""
    members: list[Member] = field(default_factory=list)

    async def form(self) -> float:
        """Seconds from the first join until all share one generation, and consumers all of the topic."""
        self.members = [await self.protocol.connect(self.address) for _ in range(self.size)]
        for member in self.members:
            member.group_id, member.topic = self.group_id, self.topic
        await self.members[0].find_coordinator()
        began = time.perf_counter()
        await self._each(self._settle)
        return time.perf_counter() - began

    async def _settle(self, member: Member) -> None:
        await member.join()
        while not self._has_settled():
            await asyncio.sleep(_BEAT_EVERY_S)
            if not await member.beat():
                member.generation_id = -1
                await member.join()

    def _has_settled(self) -> bool:
        owned = [part for member in self.members if isinstance(member, ConsumerMember) for part in member.owned]
        has_all = not self.partitions or len(owned) == len(set(owned)) == self.partitions
        return has_all and len({member.generation_id for member in self.members}) == 1

    async def come_to_rest(self) -> None:
        """Members heartbeat until no assignment is put off (`group.consumer.assignment.interval.ms`)."""
        for _ in range(3):
            await asyncio.sleep(_ASSIGNMENT_INTERVAL_S)
            await self._each(lambda member: member.beat())

    async def beat_for(self, seconds: float) -> list[float]:
        """What heartbeats took; each member sends the next one when the one before is answered."""
        return await self._repeat(seconds, lambda member, _: member.beat())

    async def commit_for(self, seconds: float, pause_s: float = 0.0) -> list[float]:
        """What commits took; each member commits a partition of its own again when it is answered, after a pause."""
        places = {member: place for place, member in enumerate(self.members)}
        return await self._repeat(seconds, lambda member, count: member.commit(places[member], count), pause_s)

    async def _repeat(
        self, seconds: float, ask: Callable[[Member, int], Awaitable[bool]], pause_s: float = 0.0
    ) -> list[float]:
        until, took = time.perf_counter() + seconds, list[float]()

        async def one(member: Member) -> None:
            while time.perf_counter() < until:
                took.append(await _seconds_of(ask(member, len(took))))
                await asyncio.sleep(pause_s)

        await self._each(one)
        return took

    async def beat_every(self, interval_s: float, took: list[float], over: asyncio.Event) -> None:
        """Send each member's heartbeats at this interval, from a random moment until `over`. took: seconds."""
        moments = Random(self.group_id)

        async def one(member: Member) -> None:
            due = time.perf_counter() + interval_s * moments.random()
            while not over.is_set():
                await asyncio.sleep(due - time.perf_counter())
                took.append(await _seconds_of(member.beat()))
                due += interval_s

        await self._each(one)

    async def leave(self) -> None:
        await self._each(lambda member: member.leave())

    async def _each(self, action: Callable[[Member], Awaitable[Any]]) -> None:
        await asyncio.gather(*map(action, self.members))


async def _seconds_of(asking: Awaitable[bool]) -> float:
    """How long an answer took. Raises RuntimeError: a settled member was refused."""
    sent = time.perf_counter()
    if not await asking:
        raise RuntimeError("a settled member was refused")
    return time.perf_counter() - sent
