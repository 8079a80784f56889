"""Members that live against the broker of a test: what both protocols share, and one of the newer (KIP-848).

The newer one joins with epoch 0, says what it owns as it is given it or asked to give it up, commits, leaves, dies,
stalls, and joins again when an answer says that it is no member. Knows what a client does with an answer; knows no log.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import Any, ClassVar

from rollcall.schemas.errors import Error
from rollcall.schemas.messages import ConsumerGroupHeartbeatResponse, Response
from tests.request_log.broker import Broker, id_of

HEARTBEAT_MS = 1000
REVOKES_MS = 40
"""How long it takes to give up what it is asked to."""
AGAIN = (Error.UNKNOWN_MEMBER_ID, Error.FENCED_MEMBER_EPOCH)


@dataclass
class LoggedMember:
    """One consumer of one group, of either protocol: its connection, and how it dies and stalls."""

    broker: Broker
    group_id: str
    name: str
    instance_id: str | None = None
    rebalance_ms: int = 30_000
    generation_id: int = -1
    is_alive: bool = True
    is_stalled: bool = False
    _joins: int = 0
    """How many times it has joined; what it planned before its last join is void."""
    host: ClassVar[str]

    @property
    def connection(self) -> str:
        return str(40_000 + abs(int.from_bytes(self.name.encode(), "big")) % 20_000)

    def kill(self) -> None:
        """Dies without a word."""
        self.is_alive = False
        self.broker.kill(self.connection)

    def stall(self, for_ms: float) -> None:
        """Is stopped for a while, and goes on as if nothing had happened."""
        self.is_stalled = True
        join = self._joins
        self.broker.at(self.broker.now_ms + for_ms, lambda: self._wake(join))

    def _wake(self, join: int) -> None:
        self.is_stalled = False
        self._go_on(join)

    @abstractmethod
    def _go_on(self, join: int, **fields: Any) -> None:
        """Its next heartbeat."""

    def _is_of(self, join: int) -> bool:
        return self.is_alive and join == self._joins

    def _later(self, after_ms: float, join: int, **fields: Any) -> None:
        """Its next heartbeat comes after this time."""
        self.broker.at(self.broker.now_ms + after_ms, lambda: self._go_on(join, **fields))

    def _send(self, api: str, version: int, answered: Any = lambda _: None, **fields: Any) -> None:
        ends: dict[str, Any] = {"client_id": self.name, "host": self.host, "connection": self.connection}
        self.broker.send(api, version, answered, **ends, group_id=self.group_id, **fields)


@dataclass
class NewerMember(LoggedMember):
    """One of the newer protocol. knows_topics_ms: how long after its join it says which topics; 0: with it.

    asks_topics: whether it asks for their metadata first.
    """

    host = "10.0.1.8"
    topics: tuple[str, ...] = ("t",)
    knows_topics_ms: int = 0
    asks_topics: bool = False
    owned: dict[str, list[int]] = field(default_factory=dict)
    """By topic."""

    @property
    def member_id(self) -> str:
        """Made by the client, for as long as it lives."""
        return f"id-of-{self.name}"

    def start(self) -> NewerMember:
        """Joins, and goes on until it is closed or killed."""
        self._joins += 1
        if self.asks_topics:
            self.broker.answer_topics(self.topics)
        self.owned, self.generation_id = {}, -1
        self._beat(
            self._joins,
            0,
            rebalance_timeout_ms=self.rebalance_ms,
            subscribed_topic_names=[] if self.knows_topics_ms else [*self.topics],
            topic_partitions=[],
        )
        if self.knows_topics_ms:
            self._later(self.knows_topics_ms, self._joins, subscribed_topic_names=[*self.topics])
        return self

    def close(self) -> None:
        """Leaves."""
        self.is_alive = False
        self._beat(self._joins, -1)

    def commit(self, offset: int = 1) -> None:
        """Commits an offset of its first partition."""
        topic, numbers = next(iter(self.owned.items()), (self.topics[0], [0]))
        partition = {"partition_index": min(numbers), "committed_offset": offset}
        topics = [{"name": topic, "partitions": [partition]}]
        by = {"member_id": self.member_id, "generation_id_or_member_epoch": self.generation_id}
        self._send("OffsetCommit", 9, **by, topics=topics)

    def _go_on(self, join: int, **fields: Any) -> None:
        if self._is_of(join) and not self.is_stalled:
            self._beat(join, self.generation_id, **fields)

    def _beat(self, join: int, epoch: int, **fields: Any) -> None:
        fields = {"member_id": self.member_id, "member_epoch": epoch, "instance_id": self.instance_id, **fields}
        self._send("ConsumerGroupHeartbeat", 1, lambda response: self._answered(response, join), **fields)

    def _answered(self, response: Response, join: int) -> None:
        assert isinstance(response, ConsumerGroupHeartbeatResponse)
        if not self._is_of(join):
            return
        if response.error_code in AGAIN:
            self.start()
        elif response.error_code is not Error.NONE:
            self.is_alive = False
        else:
            self.generation_id = response.member_epoch
            if response.assignment is None:
                self._later(HEARTBEAT_MS, join)
                return
            given = response.assignment.topic_partitions
            self.owned = {each.topic_name: [*each.partitions] for each in given}
            owned = [
                {"topic_id": id_of(topic), "topic_name": topic, "partitions": numbers}
                for topic, numbers in self.owned.items()
            ]
            self._later(REVOKES_MS, join, topic_partitions=owned)
