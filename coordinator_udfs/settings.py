"""What `coordinate` is told: the group settings, the clock, and the limits of what it takes in.

A small frozen object, since it travels to every worker with the function. Knows no file, no Spark setting and no home.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from coordinator_udfs.protocol.config import GroupConfig

LATEST_MS = 253_402_300_799_999
"""The last millisecond of the year 9999: no request arrives after it."""
REQUEST_ID_MAX_CHARACTERS = 512


class Clock(StrEnum):
    """What moves a group's time: the batches' own timestamps (live), or the requests' times of arrival (replay)."""

    PROCESSING = "processing"
    EVENT = "event"


@dataclass(frozen=True, slots=True)
class StreamSettings:
    """How requests become effects.

    source: what the quarantine calls the place the requests come from. started_at_ms: when this run of the job began;
    a group stored by an earlier run is given time to be found again (0: no such thing). stall_ms: a deadline noticed
    that much too late means that the coordinator slept, not its members. remembered_request_ids: how many of a group's
    latest request ids are kept, to tell a request that comes twice. watermark_delay_ms: event clock only, how far out
    of order requests may come.
    """

    group: GroupConfig = field(default_factory=GroupConfig)
    clock: Clock = Clock.PROCESSING
    source: str = "delta"
    started_at_ms: int = 0
    stall_ms: int = 3000
    remembered_request_ids: int = 16
    watermark_delay_ms: int = 0
    group_id_max_bytes: int = 32_767
    request_max_bytes: int = 4_194_304
    quarantine_raw_max_bytes: int = 1_048_576
