"""A log's requests through the stream's own function, commit by commit on the event clock, for tests.

Knows what Spark does between two batches: the watermark follows the latest request, and calls the groups that are due.
Must not know how requests are packed into rows.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from coordinator_udfs.group_turns import Outcome, take_turns
from coordinator_udfs.settings import Clock, StreamSettings
from coordinator_udfs.state_codec import StateRow
from request_log.in_runs import Row, in_runs
from request_log.recorded import OrderedRequest
from schemas.effect_rows import EffectRow
from tests.request_log.imported import Imported


@dataclass
class Streamed:
    """Facts by group, in the order in which they were told, and every group's state."""

    settings: StreamSettings
    facts: dict[str, list[EffectRow]] = field(default_factory=lambda: defaultdict(list))
    states: dict[str, StateRow] = field(default_factory=dict)
    rows: int = 0
    """How many rows it was given."""
    _due_ms: dict[str, int] = field(default_factory=dict)
    _watermark_ms: int = 0

    def commit(self, rows: Sequence[Row], at_least_ms: int = 0) -> None:
        """A batch of one commit. at_least_ms: a tick, if there is one."""
        self.rows += len(rows)
        texts: dict[str, list[str]] = defaultdict(list)
        for row in rows:
            texts[_group_of(row)].append(msgspec.json.encode(row.request).decode())
        for group_id, of_group in texts.items():
            self._call(group_id, of_group)
        latest = [row.request.received_at_ms for row in rows]
        self._watermark_ms = max([self._watermark_ms, at_least_ms, *latest])
        for group_id in [group_id for group_id, due_ms in self._due_ms.items() if due_ms < self._watermark_ms]:
            self._call(group_id, [])

    def _call(self, group_id: str, texts: list[str]) -> None:
        stored = self.states.pop(group_id, None)
        self._due_ms.pop(group_id, None)
        outcome: Outcome = take_turns(group_id, texts, stored, self._watermark_ms, self.settings)
        self.facts[group_id] += outcome.rows
        if outcome.row is not None:
            self.states[group_id] = outcome.row
        if outcome.deadline_ms is not None:
            self._due_ms[group_id] = outcome.deadline_ms


def _group_of(row: Row) -> str:
    return row.group_id if isinstance(row, OrderedRequest) else row.request.group_id


def streamed(log: Imported, requests_a_commit: int, *, is_packed: bool) -> tuple[Streamed, list[Row]]:
    """What the stream makes of a log, and the rows that it was given."""
    told = Streamed(StreamSettings(clock=Clock.EVENT, group=log.config.of_a_recording()))
    given: list[Row] = []
    for requests in _commits(log.rows, requests_a_commit):
        rows = in_runs(requests) if is_packed else list(requests)
        told.commit(rows)
        given += rows
    told.commit([], (log.tally.last_at_ms or 0) + 1)
    return told, given


def _commits(requests: Iterable[OrderedRequest], size: int) -> Iterator[list[OrderedRequest]]:
    left = iter(requests)
    while some := list(islice(left, size)):
        yield some
