"""The requests that have gone to the coordinator and are not over: the gateway's one book of them.

A request is begun when it arrives, parked when the coordinator takes it and will answer it later, and settled by the
commit that answers it, also when its client has gone. It is dropped if a commit says that it is never answered, if it
could not be appended, and if it is the oldest of too many that nobody awaits. Clients can make up ids, so neither a
request nor an id in it is kept, only hashes of groups and members; the ids of groups that it makes are limited
(`NewGroups`). Two with the same hash are treated as one.

While the coordinator is away, heartbeats are answered unseen. A broker that is still loading a group answers a classic
heartbeat NONE, and one of the newer protocol COORDINATOR_LOAD_IN_PROGRESS: the member retries. Decision 6 has the
reasons why the coordinator still reads them, and what happens to its answers.

Knows what each request may change, by the rows of the APIs. Must not know a clock, a table or a socket.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import msgspec

from rollcall.coordinator_udfs.protocol.at_rest import offer_of
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroups
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import group_id_of
from rollcall.schemas.messages import (
    CHANGE_MEMBERS,
    READERS,
    ConsumerGroupAssignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    GroupRequest,
    HeartbeatRequest,
    HeartbeatResponse,
    JoinGroupRequest,
    OffsetCommitRequest,
    Response,
)
from rollcall.serve.gateway.backend import BackendError, Known, Outcome
from rollcall.serve.gateway.tables.effects_table import Reply

FORGOTTEN_AFTER_MS = 300_000
"""A request that is neither answered nor parked after this time is in quarantine and will not be answered."""
MOST_UNAWAITED = 100_000
"""Above this number of requests whose clients have their answer or are gone, the oldest is forgotten."""
LISTED_WITHIN_MS = 5000
"""ListGroups waits no longer: the coordinator may be away, or a request in quarantine."""
GROUP_BYTES = 100
"""What a new group takes beside its id."""
_NONE = HeartbeatResponse()
_LOADING = ConsumerGroupHeartbeatResponse(error_code=Error.COORDINATOR_LOAD_IN_PROGRESS)


@dataclass(slots=True, eq=False)
class Pending:
    """One request that is under way."""

    request_id: str
    number: int
    """How many were begun before."""
    received_at_ms: int
    member: int | None
    """The hash of group and member, of a heartbeat of the newer protocol."""
    offer: bytes | None
    """See `at_rest.offer_of`."""
    unseen: Response | None
    """Its answer while the coordinator is away."""
    makes: str | None
    """The id of the group that it may make."""
    answer: asyncio.Future[Response] | None
    """What its client waits for; None: it has its answer, or is gone."""
    member_id: str = ""
    """Its member's id as of the last commit; empty: it is not a member."""
    generation_id: int = -1
    concerns: list[int] = field(default_factory=list)
    """The hashes by which it is found until it changes nothing any more."""
    is_parked: bool = False

    @property
    def is_awaited(self) -> bool:
        return self.answer is not None and not self.answer.done()

    def give(self, outcome: Outcome) -> None:
        """Gives a waiting client its answer, or the reason why it gets none."""
        if self.answer is None or self.answer.done():
            return
        if isinstance(outcome, BackendError):
            self.answer.set_exception(outcome)
        else:
            self.answer.set_result(outcome)


class UnderWay:
    """All of them, by request id in the order of their arrival. known: the groups as of the last commit."""

    def __init__(self, known: KnownGroups, new_groups_max_bytes: int) -> None:
        self._known = known
        self._requests: dict[str, Pending] = {}
        self._unawaited: dict[str, None] = {}
        self._concerning: dict[int, dict[str, Pending]] = {}
        """By the hashes of what they may change, make or prove."""
        self._may_list: dict[str, Pending] = {}
        """Those that may add or remove a group and are not taken yet."""
        self._number = 0
        self._listings: list[tuple[asyncio.Future[Iterable[Known]], int]] = []
        """Each with the number of the last request before it."""
        self._unsent = UnsentAssignments()
        self.new_groups = NewGroups(new_groups_max_bytes)

    def begin(self, request: GroupRequest, answer: asyncio.Future[Response] | None) -> Pending:
        """A request goes to the coordinator. answer: what its client waits for, if it does.

        Raises BackendError: its client has created too many groups.
        """
        group_id, member_id = group_id_of(request), getattr(request, "member_id", "")
        group = self._known.get(group_id)
        makes = group_id if group is None and self.new_groups.takes(request, group_id) else None
        self._number += 1
        one = Pending(
            request.request_id,
            self._number,
            request.received_at_ms,
            member=_member_in(request),
            offer=offer_of(request),
            unseen=unseen_answer(request),
            makes=makes,
            answer=answer,
        )
        if group is not None and member_id in group.members:
            one.member_id, one.generation_id = member_id, getattr(request, "generation_id", -1)
        self._requests[one.request_id] = one
        if isinstance(request, CHANGE_MEMBERS):
            self._enter(one, hash(group_id))
        if one.member is not None:
            self._enter(one, one.member)
        if makes is not None:
            self._enter(one, _making(makes))
        if not isinstance(request, READERS):
            self._may_list[one.request_id] = one
        if answer is None:
            self._note_unawaited(one)
        else:
            answer.add_done_callback(lambda _: self._note_unawaited(one))
        return one

    def park(self, request_id: str) -> None:
        """The coordinator has taken a request and will answer it later."""
        one = self._requests.get(request_id)
        if one is not None:
            one.is_parked = True
            self._may_list.pop(request_id, None)

    def settle(self, reply: Reply) -> Pending | None:
        """A commit answers a request, and so does this its client, if it waits; what was known of the request."""
        one, response = self.drop(reply.request_id), reply.response
        if one is None:
            return None
        if one.member is not None and isinstance(response, ConsumerGroupHeartbeatResponse):
            group = self._known.get(reply.group_id)
            is_member = group is not None and response.member_id in group.members
            response = self._unsent.answered(one.member, response, is_awaited=one.is_awaited, is_member=is_member)
        one.give(BackendError("its answer cannot be read") if response is None else response)
        return one

    def drop(self, request_id: str) -> Pending | None:
        """Removes a request that has ended, and returns what was known of it."""
        one = self._requests.pop(request_id, None)
        if one is not None:
            self._unawaited.pop(request_id, None)
            self._leave(one)
        return one

    def forget_lost(self, before_ms: int) -> None:
        """Requests that came before and are not parked will not be answered: their clients alone wait for them."""
        for one in list(self._requests.values()):
            if one.received_at_ms >= before_ms:
                break
            if not one.is_parked:
                self._leave(one)
                if not one.is_awaited:
                    self.drop(one.request_id)

    def forget(self, group_id: str, member_id: str | None = None) -> None:
        """Forgets a member that is gone, or its whole group (None)."""
        if member_id is not None:
            self._unsent.forget(group_id, member_id)
        elif _making(group_id) not in self._concerning:
            self.new_groups.forget(group_id)

    # ------------------------------------------------------------ what may change

    def may_change(self, group_id: str) -> bool:
        """Whether a request is under way that may change the group."""
        return bool(self._concerning) and hash(group_id) in self._concerning

    def may_change_member(self, group_id: str, member_id: str) -> bool:
        """Likewise for a member of a consumer group, which another member's heartbeat cannot change."""
        own, changes = hash((group_id, member_id)), self._concerning.get(hash(group_id), {})
        return any(one.member in (None, own) for one in changes.values())

    def offers(self, group_id: str) -> list[bytes]:
        """The offers of a group's newcomers whose requests no commit has answered yet."""
        changes = self._concerning.get(hash(group_id), {})
        return [one.offer for one in changes.values() if one.offer is not None]

    def has_heartbeat_of(self, request: GroupRequest) -> bool:
        """Whether a heartbeat of this request's member is pending, which proves that it is alive."""
        return _member_in(request) in self._concerning

    # ------------------------------------------------------------ who waits

    @property
    def has_any(self) -> bool:
        """Whether anything is under way."""
        return bool(self._requests or self._listings)

    def awaited(self) -> list[Pending]:
        """The requests whose clients wait, the oldest first. May be called from another thread."""
        return [one for one in list(self._requests.values()) if one.is_awaited]

    def list_after_these(self, answer: asyncio.Future[Iterable[Known]]) -> None:
        """A ListGroups is answered once every request that may add or remove a group, and came before it, is taken."""
        self._listings.append((answer, self._number))

    def answer_listings(self, groups: Callable[[], Iterable[Known]], now_ms: int) -> None:
        """The effects have been read to their end: answers the listings that wait for nothing more."""
        first = self._first_that_may_list(now_ms)
        self._listings = [(answer, after) for answer, after in self._listings if not answer.done()]
        for answer, after in self._listings:
            if after < first:
                answer.set_result(groups())

    def _first_that_may_list(self, now_ms: int) -> int:
        """The number of the first that is not taken; no listing waits for those that are too old."""
        for one in list(self._may_list.values()):
            if now_ms - one.received_at_ms < LISTED_WITHIN_MS:
                return one.number
            del self._may_list[one.request_id]
        return self._number + 1

    def _note_unawaited(self, one: Pending) -> None:
        one.answer = None
        if one.request_id in self._requests:
            self._unawaited[one.request_id] = None
            if len(self._unawaited) > MOST_UNAWAITED:
                self.drop(next(iter(self._unawaited)))

    def _enter(self, one: Pending, concern: int) -> None:
        one.concerns.append(concern)
        self._concerning.setdefault(concern, {})[one.request_id] = one

    def _leave(self, one: Pending) -> None:
        """It changes nothing any more: it is answered, dropped or lost."""
        self._may_list.pop(one.request_id, None)
        for concern in one.concerns:
            left = self._concerning.get(concern, {})
            left.pop(one.request_id, None)
            if not left:
                self._concerning.pop(concern, None)
        one.concerns.clear()
        if one.makes is not None and self._known.get(one.makes) is None:
            self.forget(one.makes)


def _member_in(request: GroupRequest) -> int | None:
    if isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_id:
        return hash((request.group_id, request.member_id))
    return None


def _making(group_id: str) -> int:
    return hash(("makes", group_id))


# ---------------------------------------------------------------- while the coordinator is away


def is_away(after_s: float, *, was_away: bool, silent_s: float, oldest_s: float, batch_age_s: float | None) -> bool:
    """A coordinator is away if it has requests, but for after_s neither answers nor ends a batch.

    silent_s: since its last answer; oldest_s: since the oldest request without one.
    """
    is_asked = was_away or oldest_s >= after_s
    return is_asked and silent_s >= after_s and (batch_age_s is None or batch_age_s > after_s)


def unseen_answer(request: GroupRequest) -> Response | None:
    """The answer to a request that the coordinator does not see in time; None: the request waits.

    A leaving member does not retry. A new member without an id of its own would join anew each time.
    """
    match request:
        case HeartbeatRequest():
            return _NONE
        case ConsumerGroupHeartbeatRequest() if request.member_id and request.member_epoch >= JOIN:
            return _LOADING
    return None


class UnsentAssignments:
    """Assignments whose answer no client was waiting for, each kept until its member has an answer or is gone. The
    coordinator sends an assignment once, and again only to a heartbeat with all fields. A client whose connection
    ended, or that was answered while the coordinator was away, need not send one. So its next answer has the
    assignment.
    """

    def __init__(self) -> None:
        self._by_member: dict[int, ConsumerGroupAssignment] = {}
        """By the hashes of group and member."""

    def answered(
        self, member: int, response: ConsumerGroupHeartbeatResponse, *, is_awaited: bool, is_member: bool
    ) -> ConsumerGroupHeartbeatResponse:
        """The answer for a member's client when the coordinator has answered. is_member: it is still a member."""
        unsent = self._by_member.pop(member, None)
        if response.error_code is not Error.NONE:
            return response
        assignment = unsent if response.assignment is None else response.assignment
        if is_awaited and assignment is not response.assignment:
            return msgspec.structs.replace(response, assignment=assignment)
        if not is_awaited and is_member and assignment is not None:
            self._by_member[member] = assignment
        return response

    def forget(self, group_id: str, member_id: str) -> None:
        """A member is gone."""
        self._by_member.pop(hash((group_id, member_id)), None)


# ---------------------------------------------------------------- new groups


class NewGroups:
    """Who created which groups through this gateway, and how many bytes of a list of groups they take.

    Anybody may create groups, and a group with offsets stays for days. So one client could make the list of groups
    longer than an answer may be. Decision 11 has the limit, and why requests above it are refused. A group counts for
    its first client, by principal or, without one, by address, until it is removed, or was not created.

    max_bytes: the most bytes that all groups of one maker may take.
    """

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._makers: dict[str, str] = {}
        """By the ids of groups that exist or may be created."""
        self._bytes: Counter[str] = Counter()
        """By maker."""
        self.refused = 0
        """How many requests were."""

    def takes(self, request: GroupRequest, group_id: str) -> bool:
        """Whether a request may make its group, which does not exist. Raises BackendError: its client has made too
        many.
        """
        error = _error_of_maker(request)
        if error is None:
            return False
        maker = request.principal or request.client_host
        if group_id not in self._makers:
            if self._bytes[maker] + _bytes_of(group_id) > self._max_bytes:
                self.refused += 1
                raise BackendError(f"{maker}: no more groups may be made", error)
            self._makers[group_id] = maker
            self._bytes[maker] += _bytes_of(group_id)
        return True

    def forget(self, group_id: str) -> None:
        maker = self._makers.pop(group_id, None)
        if maker is not None:
            self._bytes[maker] -= _bytes_of(group_id)
            if not self._bytes[maker]:
                del self._bytes[maker]


def _error_of_maker(request: GroupRequest) -> Error | None:
    """The refusal of a request that may create a group; None: it creates none."""
    match request:
        case JoinGroupRequest():
            return Error.GROUP_MAX_SIZE_REACHED
        case ConsumerGroupHeartbeatRequest() if request.member_epoch == JOIN:
            return Error.GROUP_MAX_SIZE_REACHED
        case OffsetCommitRequest() if request.generation_id_or_member_epoch < 0:
            return Error.INVALID_COMMIT_OFFSET_SIZE
    return None


def _bytes_of(group_id: str) -> int:
    return len(group_id.encode()) + GROUP_BYTES
