"""A member of the newer protocol (KIP-848) that lives against the broker of a test, beside members of the classic one.

It joins with epoch 0, says what it owns as it is given it or asked to give it up, commits, leaves, dies, stalls, and
joins again where it is told that it is no member. Knows what a client does with an answer; knows no log.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from schemas.errors import Error
from schemas.messages import ConsumerGroupHeartbeatResponse, Response
from tests.request_log.broker import Broker, id_of

HEARTBEAT_MS = 1000
REVOKES_MS = 40
"""How long it takes to give up what it is asked to."""
AGAIN = (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH)


@dataclass
class NewerMember:
    """One consumer of one group. knows_topics_ms: how long after its join it says which topics; 0: with it.

    asks_topics: whether it asks for their metadata first.
    """

    broker: Broker
    group_id: str
    name: str
    instance_id: str | None = None
    rebalance_ms: int = 30_000
    topics: tuple[str, ...] = ("t",)
    knows_topics_ms: int = 0
    asks_topics: bool = False
    generation_id: int = -1
    is_alive: bool = True
    is_stalled: bool = False
    owned: dict[str, list[int]] = field(default_factory=dict)
    """By topic."""
    _life: int = 0

    @property
    def member_id(self) -> str:
        """Made by the client, for as long as it lives."""
        return f"id-of-{self.name}"

    @property
    def connection(self) -> str:
        return str(40_000 + abs(int.from_bytes(self.name.encode(), "big")) % 20_000)

    def start(self) -> NewerMember:
        """Joins, and goes on until it is closed or killed."""
        self._life += 1
        if self.asks_topics:
            self.broker.tell_topics(self.topics)
        self.owned, self.generation_id = {}, -1
        self._beat(
            self._life,
            0,
            rebalance_timeout_ms=self.rebalance_ms,
            subscribed_topic_names=[] if self.knows_topics_ms else [*self.topics],
            topic_partitions=[],
        )
        if self.knows_topics_ms:
            life, said = self._life, {"subscribed_topic_names": [*self.topics]}
            self.broker.at(self.broker.now_ms + self.knows_topics_ms, lambda: self._go_on(life, **said))
        return self

    def kill(self) -> None:
        """Dies without a word."""
        self.is_alive = False
        self.broker.kill(self.connection)

    def close(self) -> None:
        """Leaves."""
        self.is_alive = False
        self._beat(self._life, -1)

    def stall(self, for_ms: float) -> None:
        """Is stopped for a while, and goes on as if nothing had happened."""
        self.is_stalled = True
        life = self._life
        self.broker.at(self.broker.now_ms + for_ms, lambda: self._wake(life))

    def commit(self, offset: int = 1) -> None:
        """Commits an offset of its first partition."""
        topic, numbers = next(iter(self.owned.items()), (self.topics[0], [0]))
        partition = {"partition_index": min(numbers), "committed_offset": offset}
        topics = [{"name": topic, "partitions": [partition]}]
        epoch = self.generation_id
        self._send("OffsetCommit", 9, lambda _: None, generation_id_or_member_epoch=epoch, topics=topics)

    def _wake(self, life: int) -> None:
        self.is_stalled = False
        self._go_on(life)

    def _go_on(self, life: int, **fields: Any) -> None:
        if self.is_alive and not self.is_stalled and life == self._life:
            self._beat(life, self.generation_id, **fields)

    def _beat(self, life: int, epoch: int, **fields: Any) -> None:
        fields = {"member_epoch": epoch, "instance_id": self.instance_id, **fields}
        self._send("ConsumerGroupHeartbeat", 1, lambda response: self._answered(response, life), **fields)

    def _send(self, api: str, version: int, answered: Any, **fields: Any) -> None:
        ends: dict[str, Any] = {"client_id": self.name, "host": "10.0.1.8", "connection": self.connection}
        self.broker.send(api, version, answered, **ends, group_id=self.group_id, member_id=self.member_id, **fields)

    def _answered(self, response: Response, life: int) -> None:
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if not self.is_alive or life != self._life:
            return
        if response.error_code in AGAIN:
            self.start()
        elif response.error_code is not Error.NONE:
            self.is_alive = False
        else:
            self.generation_id = response.member_epoch
            wait_ms, fields = HEARTBEAT_MS, {}
            if response.assignment is not None:
                given = response.assignment.topic_partitions
                self.owned = {each.topic_name: [*each.partitions] for each in given}
                owned = [
                    {"topic_id": id_of(topic), "topic_name": topic, "partitions": numbers}
                    for topic, numbers in self.owned.items()
                ]
                wait_ms, fields = REVOKES_MS, {"topic_partitions": owned}
            self.broker.at(self.broker.now_ms + wait_ms, lambda: self._go_on(life, **fields))
