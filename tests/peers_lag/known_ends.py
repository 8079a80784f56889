"""Where logs ended as far as reports of them tell: between two reports a log counts as having grown evenly.

Knows reports and what was appended; must not know how lag is computed from them. Moments are ms since the epoch.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable

from tests.peers_lag.own_records import OwnRecords, Place

ANSWER_WITHIN_MS = 300
"""A sample's end counts from when the broker was asked, a Fetch's from when it was answered: either may be as of some
moment between the two."""


class KnownEnds:
    """reports: place, moment and end. One that no log had within ANSWER_WITHIN_MS of its moment counts as the nearest
    that it had: a wrong report changes nothing."""

    def __init__(self, own: OwnRecords, reports: Iterable[tuple[Place, int, int]]) -> None:
        self._reports: dict[Place, list[tuple[int, int]]] = defaultdict(list)
        for place, at_ms, end in sorted(reports):
            least, most = (own.end(place, at_ms + late_ms) for late_ms in (-ANSWER_WITHIN_MS, ANSWER_WITHIN_MS))
            self._reports[place].append((at_ms, min(max(end, least), most)))

    def end(self, place: Place, at_ms: float) -> float:
        """Where the partition's log ended at a moment."""
        reports = self._reports[place]
        index = bisect_right(reports, at_ms, key=lambda one: one[0])
        if index == 0:
            return 0
        earlier_ms, earlier = reports[index - 1]
        if index == len(reports):
            return earlier
        later_ms, later = reports[index]
        return earlier + (later - earlier) * (at_ms - earlier_ms) / (later_ms - earlier_ms)
