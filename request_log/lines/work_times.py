"""When requests were worked on, finer than the log's milliseconds.

A line's time is cut to the millisecond, but lines are written in the order answers are sent, so of several in one
millisecond each is taken to be a little later than the one above it. Answers that were waited for are given all at
once, so requests that waited are timed from there, not from when their answers were sent one by one. And the requests
of one connection are worked on one after the other, whatever rounding says.

Knows the order of lines; knows nothing of what they say.
"""

from __future__ import annotations

from math import floor

from request_log.recorded import LoggedRequest

BETWEEN_LINES_MS = 0.23
"""How far apart lines of one millisecond are taken to be, or evenly spread where there are many."""
WAITED_MS = 20.0
"""A request that was parked for longer was answered together with others."""
_CONNECTIONS_KEPT = 100_000
_LEAST_MS = 0.001


class WorkTimes:
    """Settles the times of requests, one millisecond of the log after the other.

    at_ms, lines: the millisecond that is being read, and how many lines it has so far. unsettled: its requests, each
    with its line's place. began_ms: by connection, when its last request was taken up.
    """

    def __init__(self) -> None:
        self.at_ms: int | None = None
        self.lines = 0
        self.unsettled: list[tuple[int, LoggedRequest]] = []
        self.began_ms: dict[str | None, float] = {}

    def read(self, at_ms: int | None, logged: list[LoggedRequest]) -> list[LoggedRequest]:
        """Takes a line's requests, none for a line that tells of none; gives those whose times are settled by now."""
        settled = self.rest() if at_ms != self.at_ms else []
        self.at_ms = at_ms
        for entry in logged:
            self.unsettled.append((self.lines, entry))
        self.lines += 1
        return settled

    def rest(self) -> list[LoggedRequest]:
        """Those that were read and not given."""
        step_ms = min(BETWEEN_LINES_MS, 1 / max(self.lines, 1))
        unsettled, self.unsettled = self.unsettled, []
        self.lines = 0
        for place, entry in unsettled:
            self._settle(entry, place * step_ms)
        return [entry for _, entry in unsettled]

    def _settle(self, entry: LoggedRequest, later_ms: float) -> None:
        """later_ms: how far into its millisecond the answer was sent."""
        recorded, request = entry.recorded, entry.request
        began_ms = entry.began_ms + (recorded.sending_ms if recorded.remote_ms > WAITED_MS else later_ms)
        at_least_ms = self.began_ms.get(request.connection, 0.0) + _LEAST_MS
        if began_ms < at_least_ms:
            began_ms = at_least_ms
        if len(self.began_ms) >= _CONNECTIONS_KEPT:
            self.began_ms.clear()
        self.began_ms[request.connection] = began_ms
        entry.until_ms = max(entry.until_ms + later_ms, began_ms)
        request.received_at_ms = floor(recorded.answered_at_ms - recorded.total_ms + began_ms - entry.began_ms)
        entry.began_ms = began_ms
