"""A first look over a whole log: what its order and its causes need to know of lines that come much later.

A JoinGroup is logged when it is answered, up to the rebalance timeout after it arrived: a reader in order of arrival
must know that such a line is still to come. A client that left because its application was slow joins again only when
the application is done. Both are looked up here, so that the second look has to remember a few seconds only.

Knows lines; keeps one number for each long wait, and one entry for each connection that left.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from heapq import heappop, heappush
from math import inf

from coordinator_udfs.protocol.consumer.refusals import JOIN, LEAVE
from request_log.broker_settings import SettingsSeen
from request_log.lines.files import LogLine
from request_log.lines.line import LineReader, Unreadable
from request_log.recorded import LoggedRequest
from schemas.errors import Error
from schemas.messages import (
    APIS,
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
)

LONG_WAIT_MS = 4000
"""A request that waited longer is announced ahead of its line; shorter waits lie within what is looked ahead anyway."""
AWAY_AT_LEAST_MS = 100
"""A process that is back sooner only changed its subscription."""
MEMBERSHIP = re.compile(
    rb'"requestApiKey":(?:(?:%s),|%d,.*"memberEpoch":(?:0|-1),)'
    % (
        b"|".join(b"%d" % APIS[name].key for name in ("JoinGroup", "LeaveGroup", "SyncGroup")),
        APIS["ConsumerGroupHeartbeat"].key,
    )
)
"""Matches the lines that a survey looks at."""
_CONNECTIONS_KEPT = 200_000


@dataclass(slots=True)
class Survey:
    """What a first look found."""

    lines: int = 0
    """How many lines all files have together."""
    waits: array[float] = field(default_factory=lambda: array("d"))
    """When each request that waited long arrived, ms since the epoch, rising."""
    came_back: Set[str] = frozenset()
    """The ids of requests to leave after which the same process joined again; see `inferred_causes`."""
    seen: SettingsSeen = field(default_factory=SettingsSeen)
    """What the log gives away of the broker's settings."""

    @property
    def settings(self) -> dict[str, str]:
        """The broker's settings that the log gives away, by Kafka's keys."""
        return self.seen.shown()


class CameBack:
    """Finds the members that left and joined again: as new members on the same connection, or under the same id."""

    def __init__(self) -> None:
        self.leaves: set[str] = set()
        """The ids of the requests by which they left."""
        self.left: dict[tuple[str, str], tuple[str, float]] = {}
        """By connection and group, the id of the last LeaveGroup and when it was."""
        self.departed: dict[tuple[str, str], str] = {}
        """By group and member id, the id of the last heartbeat by which a member of a consumer group left."""

    def note(self, entry: LoggedRequest) -> None:
        """Takes in one request."""
        request, by = entry.request, (entry.request.connection or "", entry.group_id)
        if isinstance(request, LeaveGroupRequest) and entry.recorded.error is Error.NONE:
            if len(self.left) >= _CONNECTIONS_KEPT:
                self.left.clear()
            self.left[by] = (request.request_id, entry.began_ms)
        elif isinstance(request, JoinGroupRequest) and not request.member_id and by in self.left:
            leave_id, left_ms = self.left.pop(by)
            if entry.began_ms - left_ms >= AWAY_AT_LEAST_MS:
                self.leaves.add(leave_id)
        elif isinstance(request, ConsumerGroupHeartbeatRequest) and entry.recorded.error is Error.NONE:
            self._note_heartbeat(request)

    def _note_heartbeat(self, request: ConsumerGroupHeartbeatRequest) -> None:
        who = (request.group_id, request.member_id)
        if request.member_epoch == LEAVE:
            if len(self.departed) >= _CONNECTIONS_KEPT:
                self.departed.clear()
            self.departed[who] = request.request_id
        elif request.member_epoch == JOIN and who in self.departed:
            self.leaves.add(self.departed.pop(who))


class WaitsToCome:
    """The long waits whose lines have not been read yet, while a log is read for the second time."""

    def __init__(self, found: Survey) -> None:
        self._waits = found.waits
        self._first = 0
        self._read: list[float] = []

    def note(self, entry: LoggedRequest) -> None:
        """Takes in a request that was read."""
        if entry.recorded.total_ms > LONG_WAIT_MS:
            heappush(self._read, arrival_of(entry))
            while self._read and self._first < len(self._waits) and self._read[0] == self._waits[self._first]:
                heappop(self._read)
                self._first += 1

    @property
    def first_ms(self) -> float:
        """When the first of them arrived; infinity if none is to come."""
        return self._waits[self._first] if self._first < len(self._waits) else inf


def arrival_of(entry: LoggedRequest) -> float:
    """When a request arrived, ms since the epoch."""
    return entry.recorded.answered_at_ms - entry.recorded.total_ms


def survey(lines: Iterable[LogLine]) -> Survey:
    """Looks through all lines once, of which those that match `MEMBERSHIP` and each file's last are enough."""
    reader = LineReader()
    found = Survey()
    waits: list[float] = []
    came_back = CameBack()
    last_numbers: dict[str, int] = {}
    for line in lines:
        last_numbers[line.file] = line.number
        if MEMBERSHIP.search(line.text) is None:
            continue
        try:
            logged = reader.read(line)
        except Unreadable:
            continue
        for entry in logged if isinstance(logged, list) else ():
            found.seen.note(entry)
            if entry.recorded.total_ms > LONG_WAIT_MS:
                waits.append(arrival_of(entry))
            came_back.note(entry)
    found.lines = sum(last_numbers.values())
    found.waits = array("d", sorted(waits))
    found.came_back = came_back.leaves
    return found
