"""When a broker wrote no line at all, and whether it was away meanwhile: it crashed and came back with its groups. If
members of two groups fall silent together and are accepted later with the same ids, their broker was away, not they. A
request that waited through a silence shows that the broker was there; connections show that it began anew. Whether a
single group's members survived their sessions is decided where sessions are known.

Knows times, brokers and member ids; knows no session and no state of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import msgspec

from rollcall.inputs.request_log.lines.connections import Connections, open_at
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.tolerances import (
    ALIVE_WITHIN_MS,
    BROKER_SILENT_MS,
    DOWN_AT_LEAST_MS,
    LINE_LATE_MS,
    RESTART_SHOWN_WITHIN_MS,
)
from rollcall.schemas.errors import Error

GROUPS_AT_LEAST = 2
_MEMBERS_KEPT = 100_000
_FORGOTTEN_AFTER_MS = 3_600_000
"""How long a silence is kept that proves nothing yet."""
_ACCEPTED = (Error.NONE, Error.REBALANCE_IN_PROGRESS)


class Silence(msgspec.Struct):
    """A time in which a broker wrote no line."""

    from_ms: int
    """Its last line before."""
    until_ms: int
    """Its first line after."""
    before: set[str]
    """The members that were there when it began, with their groups."""
    back: set[str]
    """The groups with one of these members accepted after it."""
    is_disproved: bool = False
    """A request waited at the broker meanwhile."""
    is_restart: bool = False
    """Its connections show that the broker's process began anew."""
    has_loaded: bool = True
    """Whether until_ms is when a broker that began anew had loaded a group."""

    @property
    def is_of_broker(self) -> bool:
        """Whether groups or connections show that their broker was away."""
        return self.is_restart or (len(self.back) >= GROUPS_AT_LEAST and not self.is_disproved)


class Broker(msgspec.Struct):
    alive_ms: int
    """Its last line."""
    heard: dict[str, int]
    """By group and member, the time of its last request."""
    silences: list[Silence]
    connections: Connections = msgspec.field(default_factory=Connections)
    answered_ms: int = 0
    """Its last answer to a group."""
    paused: tuple[int, int] | None = None
    """Its last answer before, and the first request after, a time in which it may have begun anew."""


class Silences(msgspec.Struct):
    """The silences of all brokers, while their lines are read in order of time."""

    brokers: dict[str, Broker] = {}
    broker_of: dict[str, str] = {}
    """The broker that writes to a file, by the file."""

    def note(self, line: LogLine, logged: Sequence[LoggedRequest]) -> None:
        """Takes in a line with its requests. A line without requests also shows that its broker is alive."""
        for entry in logged:
            self._note(line.file, entry)
        if not logged and line.at_ms is not None:
            broker = self.brokers.get(self.broker_of.get(line.file, ""))
            if broker is not None and line.at_ms - broker.alive_ms <= BROKER_SILENT_MS:
                broker.alive_ms = max(broker.alive_ms, line.at_ms)

    def _note(self, file: str, entry: LoggedRequest) -> None:
        at_ms = entry.recorded.answered_at_ms
        broker = self.brokers.get(entry.broker)
        if broker is None:
            broker = self.brokers[entry.broker] = Broker(at_ms, {}, [])
        self.broker_of[file] = entry.broker
        member = member_of(entry)
        if at_ms - broker.alive_ms > BROKER_SILENT_MS:
            _note_silence(broker, at_ms)
        if broker.silences:
            _note_what_shows(broker.silences[-1], entry, member, at_ms)
        _note_connection(broker, entry)
        broker.alive_ms = max(broker.alive_ms, at_ms)
        if member:
            broker.heard[member] = at_ms
        if len(broker.heard) > _MEMBERS_KEPT:
            broker.heard = {each: ms for each, ms in broker.heard.items() if ms >= at_ms - ALIVE_WITHIN_MS}

    def _of(self, broker: str) -> Sequence[Silence]:
        found = self.brokers.get(broker)
        return () if found is None else found.silences

    def of(self, broker: str, at_ms: int) -> Silence | None:
        """The silence of a broker that a time lies in."""
        return next((one for one in reversed(self._of(broker)) if one.from_ms < at_ms <= one.until_ms), None)

    def restart_between(self, broker: str, from_ms: int, until_ms: int) -> Silence | None:
        """The first restart of a broker that ends after one time and begins before another."""
        restarts = (one for one in self._of(broker) if one.is_restart)
        return next((one for one in restarts if from_ms < one.until_ms and one.from_ms < until_ms), None)

    def decided_until_ms(self, broker: str, now_ms: float) -> float:
        """Up to when it is known whether a broker began anew; later, lines that are still to be read may show that."""
        found = self.brokers.get(broker)
        if found is None or found.paused is None or now_ms > found.paused[1] + RESTART_SHOWN_WITHIN_MS + LINE_LATE_MS:
            return inf
        return found.paused[0]

    def last(self, broker: str) -> Silence | None:
        return next(reversed(self._of(broker)), None)

    def absent_until_ms(self, broker: str) -> int:
        """The end of the last silence in which a broker was away; 0 if there is none."""
        return max((one.until_ms for one in self._of(broker) if one.is_of_broker), default=0)

    def alive_ms(self, broker: str, otherwise_ms: int) -> int:
        """The last line of a broker."""
        found = self.brokers.get(broker)
        return otherwise_ms if found is None else found.alive_ms


def member_of(entry: LoggedRequest) -> str:
    """The member that a request names, with its group; empty where it names none."""
    member_id = getattr(entry.request, "member_id", "")
    return f"{entry.group_id}\0{member_id}" if member_id else ""


def is_accepted(entry: LoggedRequest) -> bool:
    """Whether a request's answer proves that its sender is a member."""
    return entry.recorded.error in _ACCEPTED


def _note_silence(broker: Broker, until_ms: int) -> None:
    from_ms = broker.alive_ms
    before = {member for member, seen_ms in broker.heard.items() if seen_ms >= from_ms - ALIVE_WITHIN_MS}
    broker.heard.clear()
    kept = [each for each in broker.silences if each.is_of_broker or each.until_ms >= until_ms - _FORGOTTEN_AFTER_MS]
    broker.silences = [*kept, Silence(from_ms, until_ms, before, set())]


def _note_connection(broker: Broker, entry: LoggedRequest) -> None:
    """Takes in what a request's connection shows of whether the broker began anew."""
    connection, seen = entry.request.connection or "", open_at(entry)
    known = broker.connections.open.get(connection)
    if broker.paused is not None and (
        seen.first_ms > broker.paused[1] + RESTART_SHOWN_WITHIN_MS
        or (known is not None and known.first_ms <= broker.paused[0])
    ):
        broker.paused = None
    if broker.paused is None and known is None and 0 < broker.answered_ms <= seen.first_ms - DOWN_AT_LEAST_MS:
        broker.paused = (broker.answered_ms, seen.first_ms)
    broker.answered_ms = max(broker.answered_ms, seen.last_ms)
    if broker.connections.note(connection, seen):
        for each in broker.connections.restarts():
            silence = Silence(each.from_ms, each.until_ms, set(), set(), is_restart=True, has_loaded=False)
            broker.silences.append(silence)
            broker.connections.forget_before(each.from_ms)
    last = broker.silences[-1] if broker.silences else None
    if last is not None and not last.has_loaded and broker.paused is not None:
        loaded_ms = min(each.loaded_ms for each in broker.connections.open.values())
        if loaded_ms <= broker.paused[1] + RESTART_SHOWN_WITHIN_MS:
            last.until_ms, last.has_loaded, broker.paused = loaded_ms, True, None


def _note_what_shows(silence: Silence, entry: LoggedRequest, member: str, at_ms: int) -> None:
    # The broker was there since the request arrived; before, it was away for less than any session.
    if at_ms - entry.recorded.total_ms <= silence.from_ms + BROKER_SILENT_MS:
        silence.is_disproved = True
    elif at_ms <= silence.until_ms + ALIVE_WITHIN_MS and member in silence.before and is_accepted(entry):
        silence.back.add(entry.group_id)
