"""What happened in a run, as data: what the coordinator did, what applications were told, which messages were lost.

Knows the shapes of both sides and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from clients.events import Event
from schemas.consumer_protocol import TopicPartition
from schemas.effects import Effect
from schemas.messages import GroupRequest


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """One fact about a group; the effect knows when."""

    group_id: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class ConsumerEvent:
    """One thing that a consumer's application or connection was told."""

    at_ms: int
    consumer: str
    event: Event


@dataclass(frozen=True, slots=True)
class LostMessage:
    at_ms: int
    consumer: str
    request_id: str
    is_answer: bool


@dataclass(frozen=True, slots=True)
class DoubleOwnership:
    """Two consumers, both with a valid session, owned one partition at the same time."""

    at_ms: int
    group_id: str
    partition: TopicPartition
    consumers: tuple[str, ...]


@dataclass(slots=True)
class Record:
    """One run."""

    effects: list[GroupEffect] = field(default_factory=list)
    events: list[ConsumerEvent] = field(default_factory=list)
    lost: list[LostMessage] = field(default_factory=list)
    double_ownerships: list[DoubleOwnership] = field(default_factory=list)
    requests: dict[str, str] = field(default_factory=dict)
    """The consumer that sent each request, by request id."""
    arrived: list[GroupRequest] = field(default_factory=list)
    """The requests that reached a group, in that order."""
