"""One record of the topic as it lies in the log, with the bytes that it has, before anybody reads them.

Knows no format and no record's type.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

NO_PRODUCER = -1


class Marker(StrEnum):
    """What a control record says of its producer's transaction."""

    COMMIT = "COMMIT"
    ABORT = "ABORT"


class LogRecord(NamedTuple):
    """One record."""

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


class BadLine(NamedTuple):
    """A line of a dump that cannot be read, and why."""

    file: str
    line: int
    reason: str
    text: str
