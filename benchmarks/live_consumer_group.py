"""One consumer group's members over the wire (KIP-848): how long until each has its share and nobody waits for another.

Each member has a connection, heartbeats every 10 ms, and says at once that it has taken over or given up what it was
told to. Knows the wire; must not know where answers come from.
"""

from __future__ import annotations

import asyncio
import uuid
from typing import Any

from benchmarks.live_group import LOADING, Connection, connected, seconds_to_settle
from gateway.settings import Address

_REBALANCE_TIMEOUT_MS = 60_000
_BEAT_EVERY_S = 0.01


class ConsumerMember(Connection):
    """A member by the newer protocol."""

    epoch = 0
    owned: frozenset[tuple[str, int]] = frozenset()

    async def join(self, topic: str) -> None:
        """Raises RuntimeError: refused."""
        self.member_id = str(uuid.uuid4())
        subscription = {"subscribed_topic_names": [topic], "rebalance_timeout_ms": _REBALANCE_TIMEOUT_MS}
        while not await self.beat(topic_partitions=[], **subscription):
            await asyncio.sleep(_BEAT_EVERY_S)

    async def beat(self, **values: Any) -> bool:
        """Whether the coordinator took it. Raises RuntimeError: refused."""
        said = await self.call("ConsumerGroupHeartbeat", member_id=self.member_id, member_epoch=self.epoch, **values)
        error = said.error_code.name
        if error in LOADING:
            return False
        if error != "none":
            raise RuntimeError(f"ConsumerGroupHeartbeat: {error}")
        self.epoch = said.member_epoch
        if said.assignment is not None:
            topics = said.assignment.topic_partitions
            self.owned = frozenset((str(one.topic_id), number) for one in topics for number in one.partitions)
            await self.beat(
                topic_partitions=[{"topic_id": one.topic_id, "partitions": list(one.partitions)} for one in topics]
            )
        return True

    async def leave(self) -> None:
        await self.call("ConsumerGroupHeartbeat", member_id=self.member_id, member_epoch=-1)
        self.close()


class LiveConsumerGroup:
    """So many members of a group of their own, of one topic with so many partitions."""

    def __init__(self, address: Address, group_id: str, size: int, topic: str, partitions: int) -> None:
        self._address, self._group_id, self._size = address, group_id, size
        self._topic, self._partitions = topic, partitions
        self._members: list[ConsumerMember] = []

    async def form(self) -> float:
        """Seconds from the first heartbeat until every partition has one owner and all members share one epoch."""
        self._members = await connected(ConsumerMember, self._address, self._group_id, self._size)
        return await seconds_to_settle(self._settle, self._members)

    async def _settle(self, member: ConsumerMember) -> None:
        await member.join(self._topic)
        while not self._is_shared_out():
            await asyncio.sleep(_BEAT_EVERY_S)
            await member.beat()

    def _is_shared_out(self) -> bool:
        owned = [part for member in self._members for part in member.owned]
        has_all = len(owned) == len(set(owned)) == self._partitions
        return has_all and len({member.epoch for member in self._members}) == 1

    async def leave(self) -> None:
        for member in self._members:
            await member.leave()
