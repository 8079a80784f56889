"""Spark's half of the stream, without Spark: groups a batch, calls the function, keeps state and timeouts.

Uses the real GroupState. Copies what Spark 4.2 does, not what its contract says: a call that neither updates nor
removes nor sets a timeout leaves the old timeout in place.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import msgspec
import pandas as pd
from pyspark.sql import Row
from pyspark.sql.streaming.state import GroupState, GroupStateTimeout

from rollcall.coordinator_udfs.group_udf import run_group
from rollcall.coordinator_udfs.settings import Clock, StreamSettings
from rollcall.schemas.effect_rows import Wait, apart
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import StreamRequest

NO_TIMEOUT = -1
Effect = dict[str, Any]


class Arrived(NamedTuple):
    """A request row as it reaches the function."""

    group_id: str | None
    text: str


def arrived(*requests: StreamRequest) -> list[Arrived]:
    """Requests as rows."""
    return [Arrived(group_id_of(request), msgspec.json.encode(request).decode()) for request in requests]


class Stored(NamedTuple):
    value: tuple[Any, ...]
    timeout_ms: int


@dataclass
class Stream:
    """A stream's state between batches, and every effect so far. calls: how often the function was called."""

    settings: StreamSettings = field(default_factory=StreamSettings)
    stored: dict[str, Stored] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    calls: int = 0
    watermark_ms: int = 0
    waits: list[Wait] = field(default_factory=list)
    """Of the last batch."""

    def batch(self, at_ms: int, rows: Iterable[Arrived] = ()) -> list[Effect]:
        """A batch on the processing clock, begun at at_ms: the effects it leads to."""
        return self._run(at_ms, list(rows))

    def events(self, batches: Iterable[list[Arrived]]) -> list[Effect]:
        """Batches on the event clock, and the empty one that the last watermark leads to."""
        found: list[Effect] = []
        for rows in [*batches, []]:
            found += self._run(0, rows)
            latest = [json.loads(row.text)["received_at_ms"] for row in rows]
            self.watermark_ms = max([self.watermark_ms, *latest])
        return found

    def document(self, group_id: str) -> dict[str, Any]:
        """A group's state document."""
        return dict(json.loads(self.stored[group_id].value[-1]))

    def _run(self, at_ms: int, rows: list[Arrived]) -> list[Effect]:
        by_group: dict[str | None, list[str]] = {}
        for row in rows:
            by_group.setdefault(row.group_id, []).append(row.text)
        found: list[Effect] = []
        self.waits.clear()
        for group_id, texts in by_group.items():
            found += self._call(group_id, texts, at_ms, has_timed_out=False)
        due_before_ms = at_ms if self.settings.clock is Clock.PROCESSING else self.watermark_ms
        due = [g for g, s in self.stored.items() if g not in by_group and NO_TIMEOUT != s.timeout_ms < due_before_ms]
        for group_id in due:
            found += self._call(group_id, [], at_ms, has_timed_out=True)
        self.effects += found
        return found

    def _call(self, group_id: str | None, texts: list[str], at_ms: int, *, has_timed_out: bool) -> list[Effect]:
        self.calls += 1
        old = None if group_id is None else self.stored.get(group_id)
        state = self._state(old, at_ms, has_timed_out)
        # Two chunks, as Spark splits a group that spans two Arrow batches.
        half = len(texts) // 2
        chunks = [pd.DataFrame({"group_id": group_id, "request": part}) for part in (texts[:half], texts[half:])]
        frames = list(run_group(self.settings, (group_id,), iter(chunks), state))
        if group_id is not None:
            self._keep(group_id, old, state)
        written, waits = apart([text for frame in frames for text in frame["effects"]])
        self.waits += waits
        lines = [line for text in written for line in text.split("\n") if line]
        return [{"group_id": None, **json.loads(line)} for line in lines]

    def _state(self, old: Stored | None, at_ms: int, has_timed_out: bool) -> GroupState:
        is_live = self.settings.clock is Clock.PROCESSING
        return GroupState(
            optionalValue=None if old is None else Row(*old.value),  # type: ignore[arg-type]
            batchProcessingTimeMs=at_ms,
            eventTimeWatermarkMs=-1 if is_live else self.watermark_ms,
            timeoutConf=GroupStateTimeout.ProcessingTimeTimeout if is_live else GroupStateTimeout.EventTimeTimeout,
            hasTimedOut=has_timed_out,
            watermarkPresent=not is_live,
            defined=old is not None,
            updated=False,
            removed=False,
            timeoutTimestamp=NO_TIMEOUT,
            keyAsUnsafe=b"",
            valueSchema=None,  # type: ignore[arg-type]
        )

    def _keep(self, group_id: str, old: Stored | None, state: GroupState) -> None:
        timeout_ms = state._timeout_timestamp
        if state._removed:
            self.stored.pop(group_id, None)
        elif state._updated:
            self.stored[group_id] = Stored(tuple(state.get), timeout_ms)
        elif timeout_ms != NO_TIMEOUT and old is not None:
            self.stored[group_id] = Stored(old.value, timeout_ms)
