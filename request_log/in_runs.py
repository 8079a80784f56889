"""A commit's requests with their heartbeats packed into runs, so that most lines of a log need no row of their own.

Heartbeats of a group that follow each other, of one generation and within a few seconds, are one request. A run ends
before any other request of its group and with the commit: so the requests of a group keep their order, and no time
passes for a group before all its heartbeats up to then are there.

Knows ordered requests and what fits into a run; knows no line, no table and no rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

import msgspec

from request_log.recorded import OrderedRequest
from schemas.heartbeat_runs import RunPacker
from schemas.membership_messages import beat_id
from schemas.messages import HeartbeatRequest, HeartbeatRunRequest

LONGEST_MS = 5_000
"""How long a run is at the most, as with a gateway's: a view AT= a moment lacks the run that goes on then."""


class OrderedRun(msgspec.Struct, eq=False, gc=False):
    """Heartbeats of a group as one request. Its id is that of its first heartbeat, so it names that one's line."""

    request: HeartbeatRunRequest
    beats: list[OrderedRequest]
    """The heartbeats in their order, with the answers that were recorded for them."""
    places: list[tuple[int, int]]
    """Of each its place among the run's members, and its moment in ms after the run's first."""

    def by_id(self) -> dict[str, OrderedRequest]:
        """The heartbeats by the ids that answers to them carry."""
        run_id = self.request.request_id
        return {beat_id(run_id, *place): beat for place, beat in zip(self.places, self.beats, strict=True)}


Row: TypeAlias = OrderedRequest | OrderedRun
"""What becomes one row of the request table."""


class _Run:
    """A run while it is packed."""

    def __init__(self, first: OrderedRequest, beat: HeartbeatRequest) -> None:
        self.packer = RunPacker(beat)
        self.beats = [first]
        self.places = [(0, 0)]

    def maybe_add(self, ordered: OrderedRequest, beat: HeartbeatRequest) -> bool:
        """Packs a heartbeat, if it fits in."""
        if beat.received_at_ms - self.packer.from_ms > LONGEST_MS or not self.packer.takes(beat):
            return False
        self.places.append(self.packer.add(beat))
        self.beats.append(ordered)
        return True

    def row(self) -> Row:
        """The run; a heartbeat that stands alone stays what it is."""
        first, last = self.beats[0], self.beats[-1]
        if first is last:
            return first
        run = self.packer.run(first.request.request_id, request_seq=last.request.request_seq)
        return OrderedRun(run, self.beats, self.places)


def in_runs(requests: Iterable[OrderedRequest]) -> list[Row]:
    """The rows of a commit. requests: all its requests, those of each group in order; so are its rows."""
    rows: list[Row] = []
    runs: dict[str, _Run] = {}
    for ordered in requests:
        request, group_id = ordered.request, ordered.group_id
        run = runs.get(group_id)
        if not isinstance(request, HeartbeatRequest) or ordered.recorded is None:
            if run is not None:
                rows.append(runs.pop(group_id).row())
            rows.append(ordered)
        elif run is None or not run.maybe_add(ordered, request):
            if run is not None:
                rows.append(run.row())
            runs[group_id] = _Run(ordered, request)
    rows += (run.row() for run in runs.values())
    return rows
