"""One record of the topic as it is in the log, with its undecoded bytes.

Knows no format and no record's type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from rollcall.coordinator_udfs.settings import LATEST_MS

NO_PRODUCER = -1
_OFFSETS = 2**62
_PARTITIONS = 2**31
_NO_TIME = -1
_SHOWN_DIGITS = 30


class Marker(StrEnum):
    """How a control record ends its producer's transaction."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"


class LogRecord(NamedTuple):
    partition: int
    offset: int
    timestamp_ms: int
    key: bytes | None
    value: bytes | None
    """None: a tombstone."""
    producer_id: int = NO_PRODUCER
    """Whose transaction it is part of; NO_PRODUCER: of none."""
    marker: Marker | None = None
    """Set for a control record, which ends that transaction."""


def check(record: LogRecord) -> None:
    """Raises ValueError: a number that no record of the topic has; the text names it."""
    for name, number, least, end in (
        ("partition", record.partition, 0, _PARTITIONS),
        ("offset", record.offset, 0, _OFFSETS),
        ("timestamp_ms", record.timestamp_ms, _NO_TIME, LATEST_MS + 1),
    ):
        if not least <= number < end:
            raise ValueError(f"{name}: {str(number)[:_SHOWN_DIGITS]} lies outside {least} to {end - 1}")


class BadLine(NamedTuple):
    """A line of a dump that cannot be read, and why."""

    file: str
    line: int
    reason: str
    text: str
    """The line itself, cut off where it is very long."""
