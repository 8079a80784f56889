"""What is simulated, as data: who lives how, what the network does, what the broker is set to.

Knows no behaviour. All times are ms of virtual time, from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clients.assignors import ASSIGNORS, Assignor
from clients.config import ConsumerConfig
from coordinator_udfs.protocol.config import GroupConfig


class PlanError(ValueError):
    """A plan that cannot be simulated; the text names the field and the value."""


@dataclass(frozen=True, slots=True)
class Span:
    """A stretch of time."""

    from_ms: int
    length_ms: int

    def __post_init__(self) -> None:
        if self.length_ms < 0:
            raise PlanError(f"length_ms={self.length_ms}: must not be negative")

    @property
    def to_ms(self) -> int:
        return self.from_ms + self.length_ms

    def has(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms < self.to_ms


@dataclass(frozen=True, slots=True)
class Life:
    """One process. close_ms: a clean close is asked for. kill_ms: it is gone without a word.

    pauses: the whole process stands still (SIGSTOP) while its connections stay. slow: the application does not poll,
    while heartbeats go on. processing_ms: how long the application works on what a poll gave it, once it has an
    assignment; 0 means that it always waits in a poll. rejoin_delay_ms: how long after a settled member learns of a
    rebalance its application polls again. restart_after_ms: after an error that ends its application a supervisor
    starts it anew; None: nobody does.
    """

    start_ms: int = 0
    close_ms: int | None = None
    kill_ms: int | None = None
    pauses: tuple[Span, ...] = ()
    slow: tuple[Span, ...] = ()
    processing_ms: int = 0
    rejoin_delay_ms: int = 0
    restart_after_ms: int | None = None


@dataclass(frozen=True, slots=True)
class ConsumerPlan:
    """One consumer. name: unique in the plan. metadata_delay_ms: the longest until it sees a topic change.

    assignors: every assignor that its config may name.
    """

    name: str
    config: ConsumerConfig
    topics: tuple[str, ...]
    life: Life = Life()
    host: str = "/127.0.0.1"
    metadata_delay_ms: int = 0
    assignors: Mapping[str, Assignor] = field(default_factory=lambda: ASSIGNORS)


@dataclass(frozen=True, slots=True)
class Loss:
    """One message that does not arrive: a consumer's nth request of an API (from 1), or the answer to it."""

    consumer: str
    api: str
    nth: int
    is_answer: bool = False
    is_noticed: bool = False


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """latency_ms: the shortest and the longest one way. request_loss, answer_loss: the share of messages that do not

    arrive before loss_until_ms. noticed: the share of these whose sender sees its connection break; the others are
    waited for. losses: the same, message by message. outages: nothing at all arrives.
    """

    latency_ms: tuple[int, int] = (1, 5)
    request_loss: float = 0.0
    answer_loss: float = 0.0
    noticed: float = 0.5
    loss_until_ms: int = 0
    losses: tuple[Loss, ...] = ()
    outages: tuple[Span, ...] = ()

    def __post_init__(self) -> None:
        low, high = self.latency_ms
        if not 0 <= low <= high:
            raise PlanError(f"latency_ms={low},{high}: the shortest must be 0 or more and at most the longest")
        for name in ("request_loss", "answer_loss", "noticed"):
            share = getattr(self, name)
            if not 0.0 <= share <= 1.0:
                raise PlanError(f"{name}={share}: must be between 0 and 1")


@dataclass(frozen=True, slots=True)
class TopicChange:
    """From at_ms on a topic has this many partitions; 0: it is gone."""

    at_ms: int
    topic: str
    partitions: int


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """topics: partition counts at the start."""

    consumers: tuple[ConsumerPlan, ...]
    topics: Mapping[str, int]
    group_config: GroupConfig = field(default_factory=GroupConfig)
    network: NetworkPlan = NetworkPlan()
    topic_changes: tuple[TopicChange, ...] = ()
    seed: int = 0

    def __post_init__(self) -> None:
        names = [consumer.name for consumer in self.consumers]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise PlanError(f"consumers: the name {twice[0]!r} is given twice")
