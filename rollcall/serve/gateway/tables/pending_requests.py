"""The requests that have gone to the coordinator and that no commit has answered yet.

A request stays here from its arrival until the commit that answers or drops it has been read, also when its client has
gone. Clients can make up ids, so neither a request nor an id in it is kept, only hashes of groups and members. Two with
the same hash are treated as one.

Knows what each request may change, by the rows of the APIs. Must not know a clock, a table or a socket.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rollcall.coordinator_udfs.protocol.at_rest import offer_of
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import CHANGE_MEMBERS, READERS, ConsumerGroupHeartbeatRequest, GroupRequest, Response
from rollcall.serve.gateway.backend import BackendError, Known
from rollcall.serve.gateway.tables.unseen_answers import unseen_answer

FORGOTTEN_AFTER_MS = 300_000
"""A request that is neither answered nor parked after this time is in quarantine and will not be answered."""
MOST_UNAWAITED = 100_000
"""Above this number of requests whose clients have their answer or are gone, the oldest is forgotten."""
LISTED_WITHIN_MS = 5000
"""ListGroups waits no longer: the coordinator may be away, or a request in quarantine."""


@dataclass(slots=True, eq=False)
class Pending:
    """One request that is under way."""

    request_id: str
    received_at_ms: int
    group: int
    """The hash of its group's id."""
    member: int | None
    """The hash of group and member, of a heartbeat of the newer protocol."""
    is_change: bool
    """Whether it may change the group's state or members."""
    offer: bytes | None
    """See `at_rest.offer_of`."""
    unseen: Response | None
    """Its answer while the coordinator is away."""
    answer: asyncio.Future[Response] | None = None
    """What its client waits for; None: it has its answer, or is gone."""
    member_id: str = ""
    """Its member's id as of the last commit; empty: it is not a member."""
    generation_id: int = -1
    is_parked: bool = False
    is_lost: bool = False

    @property
    def is_awaited(self) -> bool:
        return self.answer is not None and not self.answer.done()

    def give(self, response: Response) -> None:
        """Answers the client, if it waits."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(response)

    def fail(self, error: BackendError) -> None:
        """Likewise, with why there is no answer."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_exception(error)


@dataclass(slots=True)
class _Listing:
    answer: asyncio.Future[Iterable[Known]]
    after: int
    """The number of the last request before it."""
    until_ms: int


class PendingRequests:
    """All of them, by request id in the order of their arrival.

    is_over: called with the id of each that changes nothing any more, since it is answered, dropped or lost.
    """

    def __init__(self, is_over: Callable[[str], None] = lambda _: None) -> None:
        self._is_over = is_over
        self._requests: dict[str, Pending] = {}
        self._unawaited: dict[str, None] = {}
        self._changes: dict[int, dict[str, Pending]] = {}
        """By their groups' hashes."""
        self._members: dict[int, str] = {}
        """The last heartbeat of the newer protocol by its member's hash."""
        self._may_list: dict[str, tuple[int, int]] = {}
        """Requests that may add or remove a group and are not taken yet: their numbers, and when they came."""
        self._number = 0
        self._listings: list[_Listing] = []

    def add(self, request: GroupRequest, answer: asyncio.Future[Response] | None) -> Pending:
        """A request goes to the coordinator. answer: what its client waits for, if it does."""
        group_id = group_id_of(request)
        one = Pending(
            request.request_id,
            request.received_at_ms,
            hash(group_id),
            member=_member_in(request),
            is_change=isinstance(request, CHANGE_MEMBERS),
            offer=offer_of(request),
            unseen=unseen_answer(request),
            answer=answer,
        )
        self._requests[one.request_id] = one
        if one.is_change:
            self._changes.setdefault(one.group, {})[one.request_id] = one
        if one.member is not None:
            self._members[one.member] = one.request_id
        if not isinstance(request, READERS):
            self._number += 1
            self._may_list[one.request_id] = self._number, one.received_at_ms
        if answer is None:
            self._note_unawaited(one)
        else:
            answer.add_done_callback(lambda _: self._note_answered(one))
        return one

    @property
    def has_any(self) -> bool:
        """Whether anything is under way."""
        return bool(self._requests or self._listings)

    def park(self, request_id: str) -> None:
        """The coordinator has taken a request and will answer it later."""
        one = self._requests.get(request_id)
        if one is not None:
            one.is_parked = True
            self._may_list.pop(request_id, None)

    def remove(self, request_id: str) -> Pending | None:
        """A commit answers a request, or says that it is never answered; what was known of it."""
        one = self._requests.pop(request_id, None)
        if one is not None:
            self._unawaited.pop(request_id, None)
            self._forget_effects_of(one)
        return one

    def forget_lost(self, before_ms: int) -> None:
        """Requests that came before and are not parked will not be answered: their clients alone wait for them."""
        for one in list(self._requests.values()):
            if one.received_at_ms >= before_ms:
                break
            if not one.is_lost and not one.is_parked:
                one.is_lost = True
                self._forget_effects_of(one)
                if not one.is_awaited:
                    self.remove(one.request_id)

    # ------------------------------------------------------------ what may change

    def may_change(self, group_id: str) -> bool:
        """Whether a request is under way that may change the group."""
        return bool(self._changes) and hash(group_id) in self._changes

    def may_change_member(self, group_id: str, member_id: str) -> bool:
        """Likewise for a member of a consumer group, which another member's heartbeat cannot change."""
        own, changes = hash((group_id, member_id)), self._changes.get(hash(group_id), {})
        return any(one.member in (None, own) for one in changes.values())

    def offers(self, group_id: str) -> list[bytes]:
        """The offers of a group's newcomers whose requests no commit has answered yet."""
        changes = self._changes.get(hash(group_id), {})
        return [one.offer for one in changes.values() if one.offer is not None]

    def has_heartbeat_of(self, request: GroupRequest) -> bool:
        """Whether a heartbeat of this request's member is pending, which proves that it is alive."""
        return _member_in(request) in self._members

    # ------------------------------------------------------------ who waits

    def awaited(self) -> list[Pending]:
        """The requests whose clients wait, the oldest first. May be called from another thread."""
        return [one for one in list(self._requests.values()) if one.is_awaited]

    def list_after_these(self, answer: asyncio.Future[Iterable[Known]], now_ms: int) -> None:
        """A ListGroups is answered once every request that may add or remove a group, and came before it, is taken."""
        self._listings.append(_Listing(answer, self._number, now_ms + LISTED_WITHIN_MS))

    def answer_listings(self, groups: Callable[[], Iterable[Known]], now_ms: int) -> None:
        """The effects have been read to their end: answers the listings that wait for nothing more."""
        first = self._first_that_may_list(now_ms)
        waiting, self._listings = self._listings, []
        for listing in waiting:
            if listing.answer.done():
                continue
            if listing.after < first or now_ms >= listing.until_ms:
                listing.answer.set_result(groups())
            else:
                self._listings.append(listing)

    def _first_that_may_list(self, now_ms: int) -> int:
        """The number of the first that is not taken; no listing waits for those that are too old."""
        while self._may_list:
            request_id, (number, came_ms) = next(iter(self._may_list.items()))
            if now_ms - came_ms < LISTED_WITHIN_MS:
                return number
            del self._may_list[request_id]
        return self._number + 1

    def _note_answered(self, one: Pending) -> None:
        one.answer = None
        if one.request_id in self._requests:
            if one.is_lost:
                self.remove(one.request_id)
            else:
                self._note_unawaited(one)

    def _note_unawaited(self, one: Pending) -> None:
        self._unawaited[one.request_id] = None
        if len(self._unawaited) > MOST_UNAWAITED:
            self.remove(next(iter(self._unawaited)))

    def _forget_effects_of(self, one: Pending) -> None:
        self._is_over(one.request_id)
        self._may_list.pop(one.request_id, None)
        if one.member is not None and self._members.get(one.member) == one.request_id:
            del self._members[one.member]
        if one.is_change:
            changes = self._changes.get(one.group, {})
            changes.pop(one.request_id, None)
            if not changes:
                self._changes.pop(one.group, None)


def _member_in(request: GroupRequest) -> int | None:
    if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_id:
        return hash((request.group_id, request.member_id))
    return None
