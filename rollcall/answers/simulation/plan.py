"""What is simulated, as data: what each consumer does when, what the network does, what the broker is set to.

Knows no behaviour. All times are ms of virtual time, from 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from rollcall.answers.clients.assignors import ASSIGNORS, Assignor
from rollcall.answers.clients.config import ConsumerConfig
from rollcall.coordinator_udfs.protocol.config import GroupConfig


@dataclass(frozen=True, slots=True)
class Span:
    """A period of time."""

    from_ms: int
    length_ms: int

    @property
    def to_ms(self) -> int:
        return self.from_ms + self.length_ms

    def has(self, at_ms: int) -> bool:
        return self.from_ms <= at_ms < self.to_ms


@dataclass(frozen=True, slots=True)
class Subscribed:
    """An application subscribes to these topics from a moment on."""

    at_ms: int
    topics: tuple[str, ...]
    pattern: str = ""
    """A regular expression (RE2) for more topics; empty: none."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """One process."""

    start_ms: int = 0
    close_ms: int | None = None
    """When it is asked to close."""
    kill_ms: int | None = None
    """When it dies silently."""
    pauses: tuple[Span, ...] = ()
    """When the whole process stands still (SIGSTOP), while its connections stay."""
    slow: tuple[Span, ...] = ()
    """When the application does not poll, while heartbeats continue."""
    rejoin_delay_ms: int = 0
    """How long after a settled member learns of a rebalance its application polls again."""
    subscribed: tuple[Subscribed, ...] = ()
    """When it subscribes to other topics than at its start."""
    restart_after_ms: int | None = None
    """How long after an error that ends its application a supervisor starts it again; None: never."""


class GroupProtocol(StrEnum):
    """`group.protocol` of a consumer."""

    CLASSIC = "classic"
    CONSUMER = "consumer"


@dataclass(frozen=True, slots=True)
class ConsumerPlan:
    name: str
    """Unique in the plan."""
    config: ConsumerConfig
    topics: tuple[str, ...]
    schedule: Schedule = Schedule()
    host: str = "/127.0.0.1"
    assignors: Mapping[str, Assignor] = field(default_factory=lambda: ASSIGNORS)
    """Every assignor that its config may name."""
    protocol: GroupProtocol = GroupProtocol.CLASSIC
    """Which group protocol it speaks."""
    pattern: str = ""
    """A regular expression (RE2) for the topics that it subscribes to beside those; empty: none."""


@dataclass(frozen=True)
class NetworkPlan:
    """What the network does to messages."""

    latency_ms: tuple[int, int] = (1, 5)
    """The shortest and the longest one way."""


@dataclass(frozen=True, slots=True)
class TopicChange:
    """A topic gets more partitions, or fewer, or is deleted."""

    at_ms: int
    topic: str
    partitions: int
    """How many it has from then on; 0: it is deleted."""


@dataclass(frozen=True, slots=True)
class WorldPlan:
    """All that is simulated."""

    consumers: tuple[ConsumerPlan, ...]
    topics: Mapping[str, int]
    """Partition counts at the start."""
    group_config: GroupConfig = field(default_factory=GroupConfig)
    network: NetworkPlan = NetworkPlan()
    topic_changes: tuple[TopicChange, ...] = ()
    seed: int = 0
    """What chance is derived from."""
