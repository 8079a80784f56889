"""ListGroups waits for what came before it through this gateway.

A group that a client has just joined, or deleted, is known here only once the commit that took the request has been
read. So a listing waits until every earlier request that may add or remove a group is answered, parked or dropped.

Knows requests and their order. Must not know a table.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import NamedTuple

from gateway.backend import Known
from schemas.messages import DescribeGroupsRequest, GroupRequest, HeartbeatRequest, OffsetFetchRequest

LONGEST_WAIT_S = 5.0
"""A listing waits no longer: the coordinator may be away, or a request in quarantine."""
_READERS = (HeartbeatRequest, OffsetFetchRequest, DescribeGroupsRequest)


class _Listing(NamedTuple):
    answer: asyncio.Future[Iterable[Known]]
    after: int
    """The number of the last request before it."""
    until_s: float


class Listings:
    """The listings that wait, and the requests that they wait for. Times are the loop's, in seconds."""

    def __init__(self) -> None:
        self._number = 0
        self._unsettled: dict[str, tuple[int, float]] = {}
        self._waiting: list[_Listing] = []

    def begin(self, request: GroupRequest, now_s: float) -> None:
        """A request goes to the coordinator."""
        if not isinstance(request, _READERS):
            self._number += 1
            self._unsettled[request.request_id] = (self._number, now_s)

    def settle(self, request_id: str) -> None:
        """A commit that has been read takes a request."""
        self._unsettled.pop(request_id, None)

    def ask(self, answer: asyncio.Future[Iterable[Known]], now_s: float) -> None:
        """A listing comes in."""
        self._waiting.append(_Listing(answer, self._number, now_s + LONGEST_WAIT_S))

    def tell(self, groups: Iterable[Known], now_s: float) -> None:
        """The effects have been read to their end: answers the listings that wait for nothing more."""
        first = self._first(now_s)
        if not self._waiting:
            return
        still: list[_Listing] = []
        for listing in self._waiting:
            if listing.answer.done():
                continue
            if listing.after < first or now_s >= listing.until_s:
                listing.answer.set_result(groups)
            else:
                still.append(listing)
        self._waiting = still

    def _first(self, now_s: float) -> int:
        """The number of the first request that is not settled; those that are too old are forgotten."""
        while self._unsettled:
            request_id, (number, began_s) = next(iter(self._unsettled.items()))
            if now_s - began_s < LONGEST_WAIT_S:
                return number
            del self._unsettled[request_id]
        return self._number + 1
