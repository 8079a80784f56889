"""When requests were handled, finer than the log's milliseconds.

A line's time is cut to the millisecond, but lines are written in the order in which answers are sent: of several lines
in one millisecond each is a little later than the one above it. Requests that waited for the same event are answered
all at once, so their times are counted back from that moment, not from when each answer was sent. The requests of one
connection are handled one after the other, whatever the rounded times show. Knows the order of lines, not their
content.
"""

from __future__ import annotations

from math import floor

from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import BETWEEN_LINES_MS, PARKED_MS

_CONNECTIONS_KEPT = 100_000
_LEAST_MS = 0.001


class WorkTimes:
    """Decides the times of requests, one millisecond of the log after the other."""

    def __init__(self) -> None:
        self.at_ms: int | None = None
        """The millisecond that is being read."""
        self.lines = 0
        """How many lines of it are read."""
        self.unsettled: list[tuple[int, LoggedRequest]] = []
        """Its requests, each with the place of its line."""
        self.began_ms: dict[str | None, float] = {}
        """By connection, when its last request was taken up."""

    def read(self, at_ms: int | None, logged: list[LoggedRequest]) -> list[LoggedRequest]:
        """Takes in the requests of a line, maybe none; returns those whose times are decided."""
        decided = self.rest() if at_ms != self.at_ms else []
        self.at_ms = at_ms
        for entry in logged:
            self.unsettled.append((self.lines, entry))
        self.lines += 1
        return decided

    def rest(self) -> list[LoggedRequest]:
        """The requests that were read and not given yet."""
        step_ms = min(BETWEEN_LINES_MS, 1 / max(self.lines, 1))
        unsettled, self.unsettled = self.unsettled, []
        self.lines = 0
        for place, entry in unsettled:
            self._decide(entry, place * step_ms)
        return [entry for _, entry in unsettled]

    def _decide(self, entry: LoggedRequest, later_ms: float) -> None:
        """later_ms: how far into its millisecond the answer was sent."""
        recorded, request = entry.recorded, entry.request
        began_ms = entry.began_ms + (recorded.sending_ms if recorded.remote_ms > PARKED_MS else later_ms)
        at_least_ms = self.began_ms.get(request.connection, 0.0) + _LEAST_MS
        if began_ms < at_least_ms:
            began_ms = at_least_ms
        if len(self.began_ms) >= _CONNECTIONS_KEPT:
            self.began_ms.clear()
        self.began_ms[request.connection] = began_ms
        entry.until_ms = max(entry.until_ms + later_ms, began_ms)
        request.received_at_ms = floor(recorded.answered_at_ms - recorded.total_ms + began_ms - entry.began_ms)
        entry.began_ms = began_ms
