"""What is reported about lag beside commits: where a partition's log ends, and what a client has fetched of it.

Knows the two shapes; must not know who tells them, nor how they are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class LogEnd(NamedTuple):
    """Where a partition's log began and ended at one moment. An offset is None where it was not reported."""

    topic: str
    partition: int
    at_ms: int
    log_start_offset: int | None
    """The first offset that is there."""
    end_offset: int | None
    """The high watermark."""
    last_stable_offset: int | None
    """Up to where transactions are decided."""
    known_from: str
    """fetch, list_offsets, delete_records or sample."""
    topic_id: str | None = None
    """The id of the topic that has this log, if that is known."""


class Fetched(NamedTuple):
    """The offset from which a client fetched on, as its request arrived."""

    client_id: str
    client_host: str
    topic: str
    partition: int
    at_ms: int
    fetched_offset: int
    isolation_level: str


@dataclass
class LagRows:
    """Rows of either kind, to be written."""

    ends: list[LogEnd] = field(default_factory=list)
    fetches: list[Fetched] = field(default_factory=list)
    asked_ms: int | None = None
    """The moment at which every partition that is known was asked for and stood as reported, None: none."""
