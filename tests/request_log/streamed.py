"""A log's requests through the stream's own function, commit by commit on the event clock, for tests.

Knows what Spark does between two batches: the watermark follows the latest request, and calls the groups that are due.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

import msgspec

from coordinator_udfs.group_turns import Outcome, take_turns
from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.settings import Clock, StreamSettings
from coordinator_udfs.state_codec import StateRow
from schemas.effect_rows import EffectRow
from schemas.fan_out import group_id_of
from schemas.messages import StreamRequest


@dataclass
class Streamed:
    """Facts by group, in the order in which they were reported, and every group's state."""

    settings: StreamSettings
    facts: dict[str, list[EffectRow]] = field(default_factory=lambda: defaultdict(list))
    states: dict[str, StateRow] = field(default_factory=dict)
    _due_ms: dict[str, int] = field(default_factory=dict)
    _watermark_ms: int = 0

    def commit(self, requests: Sequence[StreamRequest], at_least_ms: int = 0) -> None:
        """A batch of one commit. at_least_ms: a tick, if there is one."""
        texts: dict[str, list[str]] = defaultdict(list)
        for request in requests:
            texts[group_id_of(request)].append(msgspec.json.encode(request).decode())
        for group_id, of_group in texts.items():
            self._call(group_id, of_group)
        latest = [request.received_at_ms for request in requests]
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


def streamed(requests: Sequence[StreamRequest], config: GroupConfig, end_ms: int, requests_a_commit: int) -> Streamed:
    """What the stream makes of a log's requests, which are in order of time."""
    reported = Streamed(StreamSettings(clock=Clock.EVENT, group=config.of_a_recording()))
    for some in _commits(requests, requests_a_commit):
        reported.commit(some)
    reported.commit([], end_ms + 1)
    return reported


def _commits(requests: Iterable[StreamRequest], size: int) -> Iterator[list[StreamRequest]]:
    left = iter(requests)
    while some := list(islice(left, size)):
        yield some
