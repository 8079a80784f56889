"""The requests of one group that are read and not taken yet, in order of time. Knows times and connections; knows
nothing of what a request does.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from operator import attrgetter

from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.messages import OffsetFetchRequest

_KEPT_UNTIDY = 64
_began = attrgetter("began_ms")


@dataclass(slots=True)
class Upcoming:
    """The requests that follow."""

    fetches: int = 0
    """How many of them fetch offsets."""
    _entries: list[LoggedRequest] = field(default_factory=list)
    _is_tidy: bool = True
    _tidy_above: int = _KEPT_UNTIDY

    def read(self, entry: LoggedRequest) -> None:
        """Adds a request, which need not be the latest."""
        self._entries.append(entry)
        self._is_tidy = False
        self.fetches += isinstance(entry.request, OffsetFetchRequest)
        if len(self._entries) > self._tidy_above:
            self._tidy()
            self._tidy_above = 2 * len(self._entries) + _KEPT_UNTIDY

    def note_taken(self, entry: LoggedRequest) -> None:
        """Marks a request as taken."""
        entry.is_taken = True
        self.fetches -= isinstance(entry.request, OffsetFetchRequest)

    def in_order(self) -> Iterator[LoggedRequest]:
        """Requests that are not taken, in order of time."""
        if not self._is_tidy:
            self._tidy()
        return (entry for entry in self._entries if not entry.is_taken)

    def near(self, entry: LoggedRequest, near_ms: float) -> list[LoggedRequest]:
        """Requests that the broker may have worked on before this one: near in time, the next of each connection."""
        until_ms = entry.until_ms + near_ms
        connections = {entry.request.connection}
        found = []
        for other in self.in_order():
            if other.began_ms > until_ms:
                break
            if other.request.connection not in connections and not other.was_refused:
                connections.add(other.request.connection)
                found.append(other)
        return found

    def _tidy(self) -> None:
        self._entries = [entry for entry in self._entries if not entry.is_taken]
        self._entries.sort(key=_began)
        self._is_tidy = True
