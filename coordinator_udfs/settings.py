"""The settings of `coordinate`: the group settings, the clock, and the limits of what it takes in.

A small frozen object, since it is sent to every worker with the function. Knows no file, no Spark setting and no home.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from rollcall.coordinator_udfs.protocol.config import GroupConfig
from rollcall.programs.request_limits import RequestLimits

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no request arrives after it."""
REQUEST_ID_MAX_CHARACTERS = 512


class Clock(StrEnum):
    """What moves a group's time: the batches' own timestamps (live), or the requests' times of arrival (replay)."""

    PROCESSING = "processing"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class StreamSettings(RequestLimits):
    """How requests become effects."""

    group: GroupConfig = field(default_factory=GroupConfig)
    clock: Clock = Clock.PROCESSING
    source: str = "delta"
    """The name of the requests' source in the quarantine."""
    started_at_ms: int = 0
    """When this run of the job began: members of a group stored by an earlier run get the lost time back (0: they do
    not).
    """
    stall_ms: int = 3000
    """A deadline that fires this much too late shows that the coordinator was asleep, not its members."""
    remembered_request_ids: int = 16
    """How many of a group's latest request ids are kept, to notice a request that comes twice."""
    watermark_delay_ms: int = 0
    """Event clock only: how far out of order requests may arrive."""
    quarantine_raw_max_bytes: int = 1_048_576
    turn_max_work: int = 0
    """What a group's turn may cost, in about microseconds, before the rest is put off (0: any amount); see
    `turn_budget`.
    """
    says_waits: bool = False
    """Whether each turn also says until when its group waits; see `rollcall.schemas.effect_rows`."""
