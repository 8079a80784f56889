"""One consumer group's members over the wire (KIP-848): how long until each has its share and nobody waits for another.

Each member has a connection, heartbeats every 10 ms, and says at once that it has taken over or given up what it was
asked to. Knows the wire; must not know where answers come from.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from benchmarks.live_group import LOADING, Connection, connected, seconds_to_stable
from listeners.addresses import Address

_REBALANCE_TIMEOUT_MS = 60_000
_BEAT_EVERY_S = 0.01
_ASSIGNMENT_INTERVAL_S = 1.0


class ConsumerMember(Connection):
    """A member by the newer protocol."""

    generation_id: int = 0
    owned: frozenset[tuple[str, int]] = frozenset()

    async def join(self, topic: str) -> None:
        """Raises RuntimeError: refused."""
        self.member_id = str(uuid.uuid4())
        subscription = {"subscribed_topic_names": [topic], "rebalance_timeout_ms": _REBALANCE_TIMEOUT_MS}
        while not await self.beat(topic_partitions=[], **subscription):
            await asyncio.sleep(_BEAT_EVERY_S)

    async def beat(self, **values: Any) -> bool:
        """Whether the coordinator took it. Raises RuntimeError: refused."""
        said = await self.ask(
            "ConsumerGroupHeartbeat", member_id=self.member_id, member_epoch=self.generation_id, **values
        )
        error = said.error_code.name
        if error in LOADING:
            return False
        if error != "none":
            raise RuntimeError(f"ConsumerGroupHeartbeat: {error}")
        self.generation_id = said.member_epoch
        if said.assignment is not None:
            topics = said.assignment.topic_partitions
            self.owned = frozenset((str(one.topic_id), number) for one in topics for number in one.partitions)
            await self.beat(
                topic_partitions=[{"topic_id": one.topic_id, "partitions": list(one.partitions)} for one in topics]
            )
        return True

    async def leave(self) -> None:
        await self.ask("ConsumerGroupHeartbeat", member_id=self.member_id, member_epoch=-1)
        self.close()


class LiveConsumerGroup:
    """Members of a group of their own, of one topic."""

    def __init__(self, address: Address, group_id: str, size: int, topic: str, partitions: int) -> None:
        self._address, self._group_id, self._size = address, group_id, size
        self._topic, self._partitions = topic, partitions
        self.members: list[ConsumerMember] = []

    async def form(self) -> float:
        """Seconds from the first heartbeat until every partition has one owner and all members share one epoch."""
        self.members = await connected(ConsumerMember, self._address, self._group_id, self._size)
        return await seconds_to_stable(self._stabilize, self.members)

    async def _stabilize(self, member: ConsumerMember) -> None:
        await member.join(self._topic)
        while not self._is_shared_out():
            await asyncio.sleep(_BEAT_EVERY_S)
            await member.beat()

    def _is_shared_out(self) -> bool:
        owned = [part for member in self.members for part in member.owned]
        has_all = len(owned) == len(set(owned)) == self._partitions
        return has_all and len({member.generation_id for member in self.members}) == 1

    async def come_to_rest(self) -> None:
        """Members heartbeat until no assignment is put off (`group.consumer.assignment.interval.ms`)."""
        for _ in range(3):
            await asyncio.sleep(_ASSIGNMENT_INTERVAL_S)
            await asyncio.gather(*(member.beat() for member in self.members))

    async def leave(self) -> None:
        for member in self.members:
            await member.leave()
