"""When a broker wrote no line at all, and whether it was away meanwhile: it crashed and came back with its groups. If
members of two groups fall silent together and are accepted later with the same ids, their broker was away, not they. A
request that waited through a silence shows that the broker was there; connections show that it began anew. Whether a
single group's members survived their sessions is decided where sessions are known. Sections of a log are read apart and
put together.

Knows times, brokers and member ids; knows no session and no state of a group.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf
from operator import attrgetter

import msgspec

from rollcall.inputs.request_log.lines.connections import Connections, open_at
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
"""How long a silence is kept that proves nothing yet, while a log is written."""
_ACCEPTED = (Error.NONE, Error.REBALANCE_IN_PROGRESS)


class Silence(msgspec.Struct):
    """A time in which a broker wrote no line."""

    from_ms: int
    """Its last line before."""
    until_ms: int
    """Its first line after."""
    before: set[str] = set()
    """The members that were there when it began, with their groups."""
    accepted: dict[str, int] = {}
    """By group and member, when one was first accepted soon after it."""
    arrived_ms: float = inf
    """When the first request arrived that was answered after it."""
    is_restart: bool = False
    """Its connections show that the broker's process began anew."""
    has_loaded: bool = True
    """Whether until_ms is when a broker that began anew had loaded a group."""

    @property
    def back(self) -> set[str]:
        """The members that were there before and were accepted after it."""
        return self.before & self.accepted.keys()

    @property
    def is_disproved(self) -> bool:
        """Whether a request waited at the broker meanwhile: before, it was away for less than any session."""
        return self.arrived_ms <= self.from_ms + BROKER_SILENT_MS

    @property
    def is_of_broker(self) -> bool:
        """Whether groups or connections show that their broker was away."""
        if self.is_restart or self.is_disproved:
            return self.is_restart
        return len({member.partition("\0")[0] for member in self.back}) >= GROUPS_AT_LEAST


class Broker(msgspec.Struct):
    alive_ms: int
    """Its last line."""
    silences: list[Silence] = []
    """The first is none: it ends with the broker's first line, where it begins."""
    heard: dict[str, int] = {}
    """By group and member, the time of its last request."""
    connections: Connections = msgspec.field(default_factory=Connections)
    answered_ms: int = 0
    """Its last answer to a group."""
    paused: tuple[int, int] | None = None
    """Its last answer before, and the first request after, a time in which it may have begun anew."""

    def __post_init__(self) -> None:
        if not self.silences:
            self.silences.append(Silence(self.alive_ms, self.alive_ms))

    def note(self, entry: LoggedRequest) -> None:
        """Takes in a request."""
        recorded = entry.recorded
        at_ms, member_id = recorded.answered_at_ms, getattr(entry.request, "member_id", "")
        if at_ms - self.alive_ms > BROKER_SILENT_MS:
            self.silences.append(Silence(self.alive_ms, at_ms, self._heard_before(self.alive_ms)))
        if at_ms > self.alive_ms:
            self.alive_ms = at_ms
        last, arrived_ms = self.silences[-1], at_ms - recorded.total_ms
        if arrived_ms < last.arrived_ms:
            last.arrived_ms = arrived_ms
        if not member_id:
            return
        member = f"{entry.group_id}\0{member_id}"
        if at_ms <= last.until_ms + ALIVE_WITHIN_MS and recorded.error in _ACCEPTED:
            self._note_accepted(member, at_ms)
        self.heard[member] = at_ms
        if len(self.heard) > _MEMBERS_KEPT:
            self.heard = {each: ms for each, ms in self.heard.items() if ms >= at_ms - ALIVE_WITHIN_MS}

    def note_alive(self, at_ms: int) -> None:
        """Takes in a line without requests."""
        if at_ms - self.alive_ms <= BROKER_SILENT_MS:
            self.alive_ms = max(self.alive_ms, at_ms)

    def add(self, later: Broker) -> None:
        """Goes on with what a later section shows."""
        first = later.silences[0]
        first.from_ms = self.alive_ms
        for silence in later.silences:
            silence.from_ms = max(self.alive_ms, silence.from_ms)
            if silence.until_ms - silence.from_ms > BROKER_SILENT_MS:
                silence.before |= self._heard_before(silence.from_ms)
                self.silences.append(silence)
            else:
                self.silences[-1].arrived_ms = min(self.silences[-1].arrived_ms, silence.arrived_ms)
            self.alive_ms = max(silence.from_ms, silence.until_ms)
        for member, at_ms in first.accepted.items():
            self._note_accepted(member, at_ms)
        self.alive_ms = max(self.alive_ms, later.alive_ms)
        self.heard |= later.heard
        self.heard = {each: self.heard[each] for each in self._heard_before(self.alive_ms)}
        self.connections.add(later.connections)

    def _heard_before(self, from_ms: int) -> set[str]:
        return {member for member, ms in self.heard.items() if ms >= from_ms - ALIVE_WITHIN_MS}

    def _note_accepted(self, member: str, at_ms: int) -> None:
        for silence in reversed(self.silences):
            if at_ms > silence.until_ms + ALIVE_WITHIN_MS:
                return
            if at_ms >= silence.until_ms:
                silence.accepted.setdefault(member, at_ms)


class Silences(msgspec.Struct):
    """The silences of all brokers, in one section or in all up to one."""

    brokers: dict[str, Broker] = {}
    broker_of: dict[str, str] = {}
    """The broker that writes to a file, by the file."""
    leads: dict[str, tuple[int, int]] = {}
    """By file, the first and last time of lines above the first request, as long as none is silent between."""

    def note(self, file: str, at_ms: int | None, logged: Sequence[LoggedRequest]) -> None:
        """Takes in a line with its requests. A line without requests also shows that its broker is alive."""
        for entry in logged:
            broker = self.brokers.get(entry.broker)
            if broker is None:
                broker = self.brokers[entry.broker] = Broker(entry.recorded.answered_at_ms)
            self.broker_of[file] = entry.broker
            broker.note(entry)
            self._note_connection(broker, entry)
        if logged or at_ms is None:
            return
        if file in self.broker_of:
            self.brokers[self.broker_of[file]].note_alive(at_ms)
            return
        first_ms, last_ms = self.leads.setdefault(file, (at_ms, at_ms))
        if last_ms < at_ms <= last_ms + BROKER_SILENT_MS:
            self.leads[file] = first_ms, at_ms

    def _note_connection(self, broker: Broker, entry: LoggedRequest) -> None:
        broker.connections.note(entry.request.connection or "", open_at(entry))

    def add(self, later: Silences) -> None:
        """Goes on with a later section."""
        for file, (first_ms, last_ms) in later.leads.items():
            broker = self.brokers.get(self.broker_of.get(file, ""))
            if broker is not None and first_ms - broker.alive_ms <= BROKER_SILENT_MS:
                broker.note_alive(last_ms)
        self.broker_of.update(later.broker_of)
        for name, of_later in later.brokers.items():
            known = self.brokers.setdefault(name, of_later)
            if known is not of_later:
                known.add(of_later)

    def of_whole_log(self) -> Silences:
        """What groups are followed with: without the silences that are disproved, and with the restarts."""
        found = Silences()
        for name, broker in self.brokers.items():
            restarts = broker.connections.restarts()
            silences = [Silence(each.from_ms, each.until_ms, is_restart=True) for each in restarts]
            for each in broker.silences:
                if not each.is_disproved:
                    back = dict.fromkeys(each.back, each.until_ms)
                    silences.append(Silence(each.from_ms, each.until_ms, set(back), back))
            silences.sort(key=attrgetter("from_ms", "until_ms", "is_restart"))
            found.brokers[name] = Broker(broker.alive_ms, silences)
        return found

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

    def absent_until_ms(self, broker: str) -> int:
        """The end of the last silence in which a broker was away; 0 if there is none."""
        return max((one.until_ms for one in self._of(broker) if one.is_of_broker), default=0)


class LiveSilences(Silences):
    """Those of a log that is still written, its lines in order of time: restarts show as soon as lines have them."""

    def decided_until_ms(self, broker: str, now_ms: float) -> float:
        """Up to when it is known whether a broker began anew; later, lines that are still to be read may show that."""
        found = self.brokers.get(broker)
        if found is None or found.paused is None or now_ms > found.paused[1] + RESTART_SHOWN_WITHIN_MS + LINE_LATE_MS:
            return inf
        return found.paused[0]

    def last(self, broker: str) -> Silence | None:
        last = next(reversed(self._of(broker)), None)
        return last if last is not None and last.from_ms < last.until_ms else None

    def alive_ms(self, broker: str, otherwise_ms: int) -> int:
        """The last line of a broker."""
        found = self.brokers.get(broker)
        return otherwise_ms if found is None else found.alive_ms

    def _note_connection(self, broker: Broker, entry: LoggedRequest) -> None:
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
                silence = Silence(each.from_ms, each.until_ms, is_restart=True, has_loaded=False)
                broker.silences.append(silence)
                broker.connections.forget_before(each.from_ms)
        last = broker.silences[-1]
        if last.until_ms == seen.last_ms:
            kept_ms = last.until_ms - _FORGOTTEN_AFTER_MS
            broker.silences = [each for each in broker.silences if each.is_of_broker or each.until_ms >= kept_ms]
        if not last.has_loaded and broker.paused is not None:
            loaded_ms = min(each.loaded_ms for each in broker.connections.open.values())
            if loaded_ms <= broker.paused[1] + RESTART_SHOWN_WITHIN_MS:
                last.until_ms, last.has_loaded, broker.paused = loaded_ms, True, None
