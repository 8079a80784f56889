"""When each broker wrote lines, section by section of a log, and the silences between that may show that it was away.

A request that waited through a silence shows that the broker was there. `gaps_come_back_from` finds which groups came
back after one, from their requests. Knows times and brokers; knows no member and no group.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from operator import attrgetter
from typing import NamedTuple

import msgspec

from rollcall.inputs.request_log.lines.connections import Connections, open_at
from rollcall.inputs.request_log.lines.silences import is_accepted, member_of
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import ALIVE_WITHIN_MS, BROKER_SILENT_MS

_until = attrgetter("until_ms")


class UnbrokenTime(msgspec.Struct):
    """A time without a silence."""

    first_ms: int
    last_ms: int
    arrived_ms: float
    """When the first of its requests arrived."""


class Gap(NamedTuple):
    """A silence of a broker."""

    broker: str
    from_ms: int
    until_ms: int
    is_restart: bool = False
    """Whether its process surely began anew."""


class BrokerTimes(msgspec.Struct):
    """The times of all brokers in one section, or in all up to one."""

    spans: dict[str, list[UnbrokenTime]] = {}
    broker_of: dict[str, str] = {}
    """The broker that writes to a file, by the file."""
    leads: dict[str, tuple[int, int]] = {}
    """By file, the first and last time of lines above the first request, as long as none is silent between."""
    connections: dict[str, Connections] = {}
    """By broker."""

    def note(self, file: str, at_ms: int | None, logged: Sequence[LoggedRequest]) -> None:
        """Takes in a line with its requests. A line without requests also shows that its broker is alive."""
        for entry in logged:
            self.broker_of[file] = entry.broker
            recorded = entry.recorded
            self._note(entry.broker, recorded.answered_at_ms, recorded.answered_at_ms - recorded.total_ms)
            self._connections_of(entry.broker).note(entry.request.connection or "", open_at(entry))
        if not logged and at_ms is not None:
            self._note_alive(file, at_ms)

    def _note(self, broker: str, at_ms: int, arrived_ms: float) -> None:
        spans = self.spans.get(broker)
        if spans is None:
            self.spans[broker] = [UnbrokenTime(at_ms, at_ms, arrived_ms)]
            return
        last = spans[-1]
        if at_ms - last.last_ms > BROKER_SILENT_MS:
            spans.append(UnbrokenTime(at_ms, at_ms, arrived_ms))
            return
        if at_ms > last.last_ms:
            last.last_ms = at_ms
        if arrived_ms < last.arrived_ms:
            last.arrived_ms = arrived_ms

    def _note_alive(self, file: str, at_ms: int) -> None:
        broker = self.broker_of.get(file)
        if broker is None:
            first_ms, last_ms = self.leads.setdefault(file, (at_ms, at_ms))
            if last_ms < at_ms <= last_ms + BROKER_SILENT_MS:
                self.leads[file] = first_ms, at_ms
            return
        last = self.spans[broker][-1]
        if last.last_ms < at_ms <= last.last_ms + BROKER_SILENT_MS:
            last.last_ms = at_ms

    def add(self, later: BrokerTimes) -> None:
        """Goes on with the times of a later section."""
        for file, (first_ms, last_ms) in later.leads.items():
            if file not in self.broker_of:
                self.leads.setdefault(file, (first_ms, last_ms))
            elif first_ms - self.spans[self.broker_of[file]][-1].last_ms <= BROKER_SILENT_MS:
                self._note_alive(file, first_ms)
                self._note_alive(file, last_ms)
        self.broker_of.update(later.broker_of)
        for broker, spans in later.spans.items():
            for span in spans:
                self._note(broker, span.first_ms, span.arrived_ms)
                self.spans[broker][-1].last_ms = max(self.spans[broker][-1].last_ms, span.last_ms)

        for broker, connections in later.connections.items():
            self._connections_of(broker).add(connections)

    def _connections_of(self, broker: str) -> Connections:
        found = self.connections.get(broker)
        return self.connections.setdefault(broker, Connections()) if found is None else found

    def gaps(self) -> list[Gap]:
        """The silences in which no request is seen to have waited, and those in which a broker's process began anew."""
        restarts = [
            Gap(broker, restart.from_ms, restart.until_ms, is_restart=True)
            for broker, connections in self.connections.items()
            for restart in connections.restarts()
        ]
        silences = [
            Gap(broker, before.last_ms, after.first_ms)
            for broker, spans in self.spans.items()
            for before, after in pairwise(spans)
            if after.arrived_ms > before.last_ms + BROKER_SILENT_MS
        ]
        return restarts + silences


def gaps_come_back_from(gaps: Iterable[Gap], entries: Iterable[LoggedRequest]) -> set[tuple[Gap, str]]:
    """The silences, each with its group, after which a member was accepted that had sent a request shortly before.

    entries: requests of any groups, those of each in order.
    """
    of_broker: defaultdict[str, list[Gap]] = defaultdict(list)
    for gap in sorted(gaps):
        of_broker[gap.broker].append(gap)
    members: set[tuple[Gap, str]] = set()
    found: set[tuple[Gap, str]] = set()
    for entry in entries:
        at_ms, member = entry.recorded.answered_at_ms, member_of(entry)
        if not member:
            continue
        near = of_broker[entry.broker]
        for place in range(bisect_left(near, at_ms - ALIVE_WITHIN_MS, key=_until), len(near)):
            gap = near[place]
            if at_ms < gap.from_ms - ALIVE_WITHIN_MS:
                break
            if at_ms <= gap.from_ms:
                members.add((gap, member))
            elif at_ms >= gap.until_ms and (gap, member) in members and is_accepted(entry):
                found.add((gap, entry.group_id))
    return found
