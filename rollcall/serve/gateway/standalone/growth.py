"""Logs that grow by the clock: every second each partition of a demo's topic gets as many records.

A log is a function of the time, so nothing is stored and every gateway with these settings has the same one. Knows
topics, offsets and times; knows no request.
"""

from __future__ import annotations

import datetime
import io
from collections.abc import Mapping
from dataclasses import dataclass, field
from time import time

from kio.records.schema import NewRecordBatch, Record
from kio.records.writers import write_new_batch
from kio.static.primitive import TZAwareMicros, i8, i16, i32, i64

LOG_START = 0
LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
"""What ListOffsets asks for where a time would be."""
NONE = -1
_STEP_MS = 1000
_EPOCH = datetime.datetime.fromtimestamp(0, datetime.UTC)


@dataclass(frozen=True)
class Growth:
    """How the topics of a gateway grow; without an entry in per_second, a topic stays empty."""

    per_second: Mapping[str, int] = field(default_factory=dict)
    """Records per second and partition."""
    since_ms: int = 0

    def end(self, topic: str | None) -> int:
        """Return the next offset of each partition of a topic."""
        per_second = self.per_second.get(topic or "", 0)
        return per_second and per_second * max(0, (int(time() * 1000) - self.since_ms) // _STEP_MS)

    def listed(self, topic: str, asked: int) -> tuple[int, int]:
        """Return an offset and its record's time, as Kafka lists them. asked: a time or one of the numbers above."""
        end = self.end(topic)
        if asked in (EARLIEST, EARLIEST_LOCAL):
            return LOG_START, NONE
        if asked == LATEST:
            return end, NONE
        if asked == MAX_TIMESTAMP:
            # The first of the records that share the latest time.
            asked = self.since_ms + end // max(1, self.per_second.get(topic, 0)) * _STEP_MS
        if asked < 0 or not end:
            return NONE, NONE
        offset = self.per_second[topic] * max(0, -((self.since_ms - asked) // _STEP_MS) - 1)
        return (offset, self._at_ms(topic, offset)) if offset < end else (NONE, NONE)

    def batch(self, topic: str, begin: int, end: int) -> bytes:
        """Return the records of a partition between two offsets as one batch; none if there are none."""
        if begin >= end:
            return b""
        records = tuple(
            Record(
                attributes=i8(0),
                timestamp=TZAwareMicros.parse(_EPOCH + datetime.timedelta(milliseconds=self._at_ms(topic, offset))),
                offset=i64(offset),
                key=None,
                value=f"{topic} {offset}".encode(),
                headers=(),
            )
            for offset in range(begin, end)
        )
        buffer = io.BytesIO()
        made = NewRecordBatch(
            producer_id=i64(NONE), producer_epoch=i16(NONE), base_sequence=i32(NONE), records=records, attributes=i16(0)
        )
        write_new_batch(buffer, made)
        return buffer.getvalue()

    def _at_ms(self, topic: str, offset: int) -> int:
        return self.since_ms + (offset // self.per_second[topic] + 1) * _STEP_MS
