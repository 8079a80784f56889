"""Which connections a broker had when, and where they show that its process began anew.

Kafka numbers the connections of each network thread from 0 (`SocketServer.Processor.nextConnectionId`), and a line
names the thread and the number. So a number that another client has later shows that the broker began anew in between,
while it had no open connection. Knows times and connections; knows no group.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import defaultdict
from itertools import pairwise
from typing import NamedTuple

import msgspec

from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import DOWN_AT_LEAST_MS, RESTART_SHOWN_WITHIN_MS
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatRequest

_KEPT = 10_000
_numbered = re.compile(r":\d+-(\d+-\d+)$")
"""What follows the client's address: its port, the network thread and the connection's number."""


NOT_YET_MS = 1 << 62


class Open(msgspec.Struct):
    """When a connection was open."""

    first_ms: int
    """When its first request arrived."""
    last_ms: int
    """When its last was answered."""
    loaded_ms: int = NOT_YET_MS
    """When the first arrived whose answer shows that its group was loaded."""


class Restart(NamedTuple):
    """A broker's process began anew: its last answer before, its first request after, and when a group was loaded."""

    from_ms: int
    began_ms: int
    loaded_ms: int

    @property
    def until_ms(self) -> int:
        """When it had its groups again, as far as requests show it."""
        return self.began_ms if self.loaded_ms == NOT_YET_MS else self.loaded_ms


class Connections(msgspec.Struct):
    open: dict[str, Open] = {}
    """By connection."""
    holders: dict[str, str] = {}
    """By network thread and number, the last connection that had it."""

    def note(self, connection: str, seen: Open) -> bool:
        """Takes in a request; returns whether its connection is a new one with the number of another."""
        known = self.open.get(connection)
        if known is not None:
            known.first_ms = min(known.first_ms, seen.first_ms)
            known.last_ms = max(known.last_ms, seen.last_ms)
            known.loaded_ms = min(known.loaded_ms, seen.loaded_ms)
            return False
        numbered = _numbered.search(connection)
        if numbered is None:
            return False
        if len(self.open) >= _KEPT:
            self.forget_before(sorted(each.last_ms for each in self.open.values())[_KEPT // 2])
        self.open[connection] = seen
        is_again = numbered[1] in self.holders
        self.holders[numbered[1]] = connection
        return is_again

    def add(self, later: Connections) -> None:
        """Takes in what a later part of the log shows."""
        for connection, each in later.open.items():
            self.note(connection, each)

    def forget_before(self, at_ms: int) -> None:
        """Forgets the connections that sent nothing later."""
        self.open = {connection: each for connection, each in self.open.items() if each.last_ms > at_ms}
        self.holders = {number: connection for number, connection in self.holders.items() if connection in self.open}

    def restarts(self) -> list[Restart]:
        """When the broker began anew."""
        of_number: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
        for connection, each in self.open.items():
            numbered = _numbered.search(connection)
            assert numbered is not None
            of_number[numbered[1]].append((each.first_ms, each.last_ms))
        closed = self._closed()
        found: set[tuple[int, int]] = set()
        for (_, before_ms), (after_ms, _) in (two for each in of_number.values() for two in pairwise(sorted(each))):
            within = closed[bisect_left(closed, (before_ms, 0)) : bisect_left(closed, (after_ms, 0))]
            # Which of several it was is not known.
            if len(within) == 1 and after_ms <= within[0][1] + RESTART_SHOWN_WITHIN_MS:
                found.update(within)
        return [Restart(from_ms, began_ms, self._loaded_ms(began_ms)) for from_ms, began_ms in sorted(found)]

    def _closed(self) -> list[tuple[int, int]]:
        """The times in which no connection was open."""
        found: list[tuple[int, int]] = []
        spans = sorted((each.first_ms, each.last_ms) for each in self.open.values())
        last_ms = spans[0][1] if spans else 0
        for first_ms, until_ms in spans:
            if first_ms - last_ms >= DOWN_AT_LEAST_MS:
                found.append((last_ms, first_ms))
            last_ms = max(last_ms, until_ms)
        return found

    def _loaded_ms(self, began_ms: int) -> int:
        loaded_ms = min(each.loaded_ms for each in self.open.values() if each.first_ms >= began_ms)
        return loaded_ms if loaded_ms <= began_ms + RESTART_SHOWN_WITHIN_MS else NOT_YET_MS


def open_at(entry: LoggedRequest) -> Open:
    """What a request shows of its connection. A broker answers a HeartbeatRequest without an error while it loads."""
    answered_ms = entry.recorded.answered_at_ms
    arrived_ms = int(answered_ms - entry.recorded.total_ms)
    is_blind = entry.was_refused or isinstance(entry.request, HeartbeatRequest)
    is_loaded = entry.recorded.error is Error.NONE and not is_blind
    return Open(arrived_ms, answered_ms, arrived_ms if is_loaded else NOT_YET_MS)
