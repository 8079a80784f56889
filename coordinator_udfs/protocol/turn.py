"""One turn of a group: the moment, the settings, and the effects it has had so far.

A handler reads the time here and adds what happened; it returns nothing. Knows no rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum

from rollcall.coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from rollcall.schemas.effects import Effect


class Timer(StrEnum):
    """A group's own timers, in the order they fire when due at the same time; session timers come before these."""

    JOIN = "join"
    SYNC = "sync"
    SWEEP = "sweep"


class Turn:
    """One turn of a group. No dataclass, since one is made for every request.

    now_ms: when it happens. armed_from_ms: what new deadlines count from; on the processing clock that is the batch's
    timestamp, so that a slow coordinator costs no member its session. is_live: armed_from_ms is the batch's; otherwise
    it is now_ms. topics, topics_version: the topics that exist for a consumer group, which may be newer than the
    settings. consumer: the settings of consumer groups as they hold for this one.
    """

    __slots__ = (
        "armed_from_ms",
        "config",
        "consumer",
        "effects",
        "is_live",
        "now_ms",
        "topics",
        "topics_version",
    )

    def __init__(
        self,
        now_ms: int,
        config: GroupConfig,
        armed_from_ms: int | None = None,
        effects: list[Effect] | None = None,
    ) -> None:
        self.now_ms = now_ms
        self.config = config
        self.is_live = armed_from_ms is not None
        self.armed_from_ms = now_ms if armed_from_ms is None else armed_from_ms
        self.effects: list[Effect] = [] if effects is None else effects
        self.consumer: ConsumerConfig = config.consumer
        self.topics: Mapping[str, int] | None = config.topics
        self.topics_version = config.topics_version

    def emit(self, effect: Effect) -> None:
        self.effects.append(effect)
