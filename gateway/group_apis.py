"""The group APIs: from a client's message to requests for one group each, and back.

FindCoordinator and ListGroups are answered here, since no single group can. A request that names several groups is
split, and its answers are joined. A request that the rules of access forbid is refused. The backend answers the rest.

Knows the messages and the rules of access; knows no socket and no table.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from coordinator_udfs.protocol.find_coordinator import find_coordinator
from coordinator_udfs.protocol.list_groups import list_groups
from gateway.access import Access
from gateway.backend import Backend, BackendError, Known
from gateway.exchange import (
    ANONYMOUS,
    MAX_ELEMENTS,
    MAX_PARTITIONS,
    Answer,
    Ask,
    Building,
    Caller,
    Endpoint,
    Later,
)
from gateway.metrics import Metrics
from gateway.topic_ids import TopicIds
from gateway.wire.codec import Codec, WireError
from gateway.wire.shaping import elements_in, entity_of, values_of
from programs.steady_clock import now_ms
from schemas.errors import Error
from schemas.fan_out import each_once, group_id_of, join, split
from schemas.messages import (
    API_OF,
    APIS,
    ClientGroupRequest,
    ClientRequest,
    ConsumerGroupDescribeResponse,
    Coordinator,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    JoinGroupRequest,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    Operation,
    Response,
)
from schemas.refusals import refusal
from schemas.strings import unfit_id_prefix

GROUP_KEY_TYPE = 0
NO_OPERATIONS_TOLD = -(1 << 31)
_LENGTH_BYTES = 3
"""At most: a string has its length before it, and a group in a list its tagged fields behind it."""
_ASKED_AT_A_TIME = 1000
"""So many groups that one request names are asked before the first of them have answered."""
_ASKED_A_TURN = 50
"""So many are asked before other clients have their turn."""

log = logging.getLogger("gateway")

Node = tuple[int, str, int]
"""Node id, host and port."""


Outcome = Response | BackendError
"""What comes of asking one group."""


class GroupApis:
    """Answers the group APIs from a backend.

    coordinator: the node that a client is told to ask about its group. answer_max_bytes: a longer answer is
    not built.
    """

    def __init__(
        self,
        backend: Backend,
        coordinator: Callable[[Caller], Node],
        access: Access,
        topic_ids: TopicIds,
        answer_max_bytes: int,
        metrics: Metrics,
    ) -> None:
        self._backend = backend
        self._coordinator = coordinator
        self._access = access
        self._topic_ids = topic_ids
        self._answer_max_bytes = answer_max_bytes
        self._metrics = metrics
        self._encoder = msgspec.json.Encoder()
        self._numbers = itertools.count(1)

    def endpoints(self, last_versions: Mapping[str, int] | None = None) -> list[Endpoint]:
        """One a group API. last_versions: where some of them end."""
        ends = last_versions or {}
        return [
            Endpoint(
                name,
                api.key,
                api.versions.first,
                ends.get(name, api.versions.last),
                self.answer,
                holds=api.holds,
                read=_values,
                max_elements=MAX_PARTITIONS if api.names_partitions else MAX_ELEMENTS,
            )
            for name, api in APIS.items()
        ]

    def answer(self, ask: Ask) -> Answer:
        """The response to one request. Raises WireError: an id that no new member's id can begin with."""
        request, caller = self._request(ask), ask.caller
        if isinstance(request, JoinGroupRequest) and (unfit := unfit_id_prefix(request)):
            raise WireError(unfit)
        written = partial(entity_of, ask.codec.response_type)
        match request:
            case FindCoordinatorRequest():
                node = self._coordinator(caller)
                return Building(
                    len(request.coordinator_keys), lambda: written(self._find_coordinator(request, caller, node))
                )
            case ListGroupsRequest():
                return Later(self._backend.groups(), lambda done: self._listing(request, caller, done, written))
        once = each_once(request)
        parts = split(once)
        if len(parts) == 1:
            future = self._ask_group(parts[0], caller)
            return Later(future, lambda done: self._told(once, parts, caller, [self._one_outcome(done)], written))
        asked = asyncio.ensure_future(self._ask_groups(parts, caller))
        return Later(asked, lambda done: self._told(once, parts, caller, done.result(), written))

    def _request(self, ask: Ask) -> ClientRequest:
        number = next(self._numbers)
        request_type: Any = APIS[ask.codec.api].request
        request: ClientRequest = request_type(
            request_id=self._id(number),
            api_version=ask.codec.version,
            client_id=ask.client_id,
            client_host=ask.caller.host,
            received_at_ms=now_ms(),
            request_seq=number,
            principal=None if ask.caller.principal == ANONYMOUS else ask.caller.principal,
            connection=ask.caller.connection_id,
            **ask.message,
        )
        return request

    def _id(self, number: int) -> str:
        return f"{self._backend.gateway_id}-{number}"

    def _numbered(self, part: ClientGroupRequest) -> ClientGroupRequest:
        number = next(self._numbers)
        return msgspec.structs.replace(part, request_seq=number, request_id=self._id(number))

    def _ask_group(self, request: ClientGroupRequest, caller: Caller) -> asyncio.Future[Response]:
        if not self._access.allows(caller.principal, API_OF[type(request)].operation, group_id_of(request)):
            refused: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
            refused.set_exception(BackendError("not allowed", Error.GROUP_AUTHORIZATION_FAILED))
            return refused
        named = self._topic_ids.named(request)
        answer = self._backend.submit(named)
        answer.add_done_callback(partial(self._topic_ids.settle, named))
        return answer

    async def _ask_groups(self, parts: Sequence[ClientGroupRequest], caller: Caller) -> list[Outcome]:
        """What each of many groups answers. Raises WireError: all of it is too long to send."""
        outcomes: list[Outcome] = []
        room_bytes = self._answer_max_bytes
        while len(outcomes) < len(parts):
            asked: list[asyncio.Future[Response]] = []
            try:
                for part in parts[len(outcomes) : len(outcomes) + _ASKED_AT_A_TIME]:
                    asked.append(self._ask_group(self._numbered(part), caller))
                    if len(asked) % _ASKED_A_TURN == 0:
                        await asyncio.sleep(0)
                for future in asked:
                    await asyncio.wait([future])
                    outcomes.append(_outcome(future))
                    room_bytes = self._room_left(room_bytes, outcomes[-1])
            finally:
                for future in asked:
                    future.cancel()
        return outcomes

    def _one_outcome(self, done: asyncio.Future[Response]) -> Outcome:
        """What the only group answers. Raises WireError: it is too long to send."""
        outcome = _outcome(done)
        self._room_left(self._answer_max_bytes, outcome)
        return outcome

    def _room_left(self, room_bytes: int, outcome: Outcome) -> int:
        """How many bytes of an answer are left behind what a group answers. Raises WireError: less than none."""
        left = room_bytes - (len(self._encoder.encode(outcome)) if isinstance(outcome, Response) else 0)
        if left < 0:
            raise WireError(f"an answer of more than {self._answer_max_bytes} bytes")
        return left

    def _told(
        self,
        request: ClientGroupRequest,
        parts: Sequence[ClientGroupRequest],
        caller: Caller,
        outcomes: Sequence[Outcome],
        written: Callable[[Response], Any],
    ) -> Building:
        """The answer to a request, from what its groups say."""

        topic_ids = self._topic_ids.as_of_now()

        def build() -> Any:
            answered = zip(parts, outcomes, strict=True)
            told = [self._response(part, caller, outcome, topic_ids) for part, outcome in answered]
            return written(join(request, told))

        told_of = [outcome for outcome in outcomes if isinstance(outcome, Response)]
        wait_ms = max((outcome.wait_ms for outcome in told_of), default=0)
        if wait_ms:
            caller.muted_until_s = asyncio.get_running_loop().time() + wait_ms / 1000
        return Building(sum(map(elements_in, told_of)) + len(parts) - 1, build)

    def _response(self, request: ClientGroupRequest, caller: Caller, outcome: Outcome, topic_ids: TopicIds) -> Response:
        if isinstance(outcome, BackendError):
            return refusal(request, outcome.answer)
        if isinstance(outcome, DescribeGroupsResponse | ConsumerGroupDescribeResponse):
            self._name_operations(outcome, caller)
        return topic_ids.answered(request, outcome)

    def _name_operations(
        self, response: DescribeGroupsResponse | ConsumerGroupDescribeResponse, caller: Caller
    ) -> None:
        """Puts in the operations that the rules allow, where the client has asked for them."""
        for group in response.groups:
            allowed = self._access.operations(caller.principal, group.group_id)
            if allowed is not None and group.authorized_operations != NO_OPERATIONS_TOLD:
                group.authorized_operations = allowed

    def _find_coordinator(self, request: FindCoordinatorRequest, caller: Caller, node: Node) -> FindCoordinatorResponse:
        found = find_coordinator(request, *node)
        if request.key_type != GROUP_KEY_TYPE:
            return found
        if found.coordinators:
            found.coordinators = [
                node if self._may_describe(caller, node.key) else _hidden(node.key) for node in found.coordinators
            ]
        elif not self._may_describe(caller, request.key):
            return FindCoordinatorResponse(error_code=Error.GROUP_AUTHORIZATION_FAILED)
        return found

    def _listing(
        self,
        request: ListGroupsRequest,
        caller: Caller,
        listing: asyncio.Future[Iterable[Known]],
        written: Callable[[Response], Any],
    ) -> Building:
        groups = list(listing.result())

        def build() -> Any:
            seen = (group for group in groups if self._may_describe(caller, group[0]))
            return written(self._in_what_fits(list_groups(seen, request), caller))

        return Building(len(groups), build)

    def _in_what_fits(self, listed: ListGroupsResponse, caller: Caller) -> ListGroupsResponse:
        """Of a list that takes more than half of what may be unread, the groups with the shortest ids."""
        room_bytes, kept = self._answer_max_bytes // 2, []
        if sum(map(_listed_bytes, listed.groups)) <= room_bytes:
            return listed
        for group in sorted(listed.groups, key=lambda group: len(group.group_id.encode())):
            room_bytes -= _listed_bytes(group)
            if room_bytes < 0:
                break
            kept.append(group)
        text = "%s: of %d groups %d are listed: more is longer than half of gateway.send.max.bytes=%d"
        log.warning(text, caller.connection_id, len(listed.groups), len(kept), self._answer_max_bytes)
        self._metrics.cut_lists.inc()
        return ListGroupsResponse(groups=kept)

    def _may_describe(self, caller: Caller, group_id: str) -> bool:
        return self._access.allows(caller.principal, Operation.DESCRIBE, group_id)


def _listed_bytes(group: ListedGroup) -> int:
    texts = (group.group_id, group.protocol_type, group.group_state, group.group_type)
    return sum(len(text.encode()) + _LENGTH_BYTES for text in texts)


def _hidden(key: str) -> Coordinator:
    return Coordinator(key=key, error_code=Error.GROUP_AUTHORIZATION_FAILED)


def _values(spoken: Codec, message: Any) -> dict[str, Any]:
    """The values of a request's fields. Raises WireError: null where the protocol allows none."""
    return values_of(message, APIS[spoken.api].request)


def _outcome(done: asyncio.Future[Response]) -> Outcome:
    # Not raised, or the error's frames would hold the future that holds the error.
    error = done.exception()
    return error if isinstance(error, BackendError) else done.result()
