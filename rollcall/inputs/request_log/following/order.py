"""The requests of one group that are read and not taken yet, in order of time, and which of them their answers show to
come first. Knows times, connections and answers; knows no state of a group that a request leads to.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import chain
from math import inf
from operator import attrgetter

from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import READERS, JoinGroupRequest, OffsetFetchRequest

DEEPEST = 50
"""How many requests may each have to wait for the next one."""
LOOKED_AT = 12
"""This many of the next requests are tried after each of several things that fit."""
_KEPT_UNTIDY = 64
_began = attrgetter("began_ms")


@dataclass(slots=True)
class Order:
    """The requests that follow."""

    fetches: int = 0
    """How many of them fetch offsets."""
    depth: int = 0
    """How many requests wait for the one being taken."""
    _entries: list[LoggedRequest] = field(default_factory=list)
    _is_tidy: bool = True
    _tidy_above: int = _KEPT_UNTIDY

    @property
    def is_too_deep(self) -> bool:
        """Whether only the request being taken can come next."""
        return self.depth > DEEPEST

    def read(self, entry: LoggedRequest) -> None:
        """Adds a request, which need not be the latest."""
        self._entries.append(entry)
        self._is_tidy = False
        self.fetches += isinstance(entry.request, OffsetFetchRequest)
        if len(self._entries) > self._tidy_above:
            self._tidy()
            self._tidy_above = 2 * len(self._entries) + _KEPT_UNTIDY

    def in_order(self) -> Iterator[LoggedRequest]:
        """Requests that are not taken, in order of time."""
        if not self._is_tidy:
            self._tidy()
        return (entry for entry in self._entries if not entry.is_taken)

    def since(self, entry: LoggedRequest) -> Iterator[LoggedRequest]:
        """The request being taken, and those that are not taken."""
        return chain((entry,), self.in_order())

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

    def neighbours(self, group: Group, entry: LoggedRequest, near_ms: float) -> list[LoggedRequest]:
        """Those of them that may change how a request is answered. A member that knows of a rebalance did not set it
        off by its JoinGroup.
        """
        asked_ms: dict[str, float] = {}
        if group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
            for other in self.since(entry):
                if other.recorded.error is Error.REBALANCE_IN_PROGRESS:
                    asked_ms.setdefault(other.member_id, other.began_ms)
        return [
            other
            for other in self.near(entry, near_ms)
            if not isinstance(other.request, READERS)
            and asked_ms.get(other.member_id if isinstance(other.request, JoinGroupRequest) else "", inf)
            >= other.began_ms
        ]

    def first_to_lead(self, group: Group, entry: LoggedRequest, near_ms: float) -> LoggedRequest | None:
        """The first to join an Empty group leads it, so the leader of its next generation joined before this
        JoinGroup.
        """
        leader_id = getattr(entry.request, "recorded_leader_id", None)
        if group.members or leader_id is None or _is_of(entry, leader_id):
            return None
        leader = next((other for other in self.near(entry, near_ms) if _is_of(other, leader_id)), None)
        return leader if getattr(getattr(leader, "request", None), "recorded_leader_id", None) == leader_id else None

    def first_to_be_assigned(self, entry: LoggedRequest, near_ms: float) -> LoggedRequest | None:
        """The first to join an Empty consumer group gets all partitions. One that joins before the next assignment gets
        the same epoch and no partitions. So of joins with the same epoch the one with partitions came first.
        """
        epoch = entry.answered_epoch
        others = self.near(entry, near_ms) if entry.joins_consumers and epoch >= 0 and not entry.is_assigned else ()
        alike = (other for other in others if other.joins_consumers and other.answered_epoch == epoch)
        return next((other for other in alike if other.is_assigned), None)

    def _tidy(self) -> None:
        self._entries = [entry for entry in self._entries if not entry.is_taken]
        self._entries.sort(key=_began)
        self._is_tidy = True


def _is_of(entry: LoggedRequest, member_id: str) -> bool:
    """Whether it is the JoinGroup of this member, which may have got its id by it."""
    request = entry.request
    return isinstance(request, JoinGroupRequest) and member_id in (request.member_id, request.recorded_member_id)
