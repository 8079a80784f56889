"""The events of a run, as data: the coordinator's effects, and what applications received.

Knows the shapes of both sides and computes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollcall.answers.clients.events import Event
from rollcall.schemas.effects import Effect
from rollcall.schemas.messages import GroupRequest


@dataclass(frozen=True, slots=True)
class GroupEffect:
    """One fact about a group; the effect knows when."""

    group_id: str
    effect: Effect


@dataclass(frozen=True, slots=True)
class ConsumerEvent:
    """One event that a consumer's application or connection received."""

    at_ms: int
    consumer: str
    event: Event


@dataclass(slots=True)
class Record:
    """One run."""

    effects: list[GroupEffect] = field(default_factory=list)
    events: list[ConsumerEvent] = field(default_factory=list)
    requests: dict[str, str] = field(default_factory=dict)
    """The consumer that sent each request, by request id."""
    arrived: list[GroupRequest] = field(default_factory=list)
    """The requests that reached a group, in that order."""
