"""The group APIs: from a client's message to requests for one group each, and back.

FindCoordinator and ListGroups are answered here, since they are about no single group. A request that names several
groups is split, and its answers are joined. A request that the rules of access forbid is refused. The backend answers
the rest.

Knows the messages and the rules of access; knows no socket and no table.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec

from rollcall.coordinator_udfs.protocol.no_single_group import find_coordinator, list_config_resources, list_groups
from rollcall.programs.steady_clock import now_ms
from rollcall.schemas.errors import Error
from rollcall.schemas.fan_out import each_once, group_id_of, join, split
from rollcall.schemas.limits import unfit_id_prefix
from rollcall.schemas.messages import (
    API_OF,
    APIS,
    GROUP_RESOURCE,
    AlterConfigsRequest,
    AlterConfigsResult,
    ClientGroupRequest,
    ClientRequest,
    ConfigsRequest,
    ConsumerGroupDescribeResponse,
    ConsumerGroupHeartbeatRequest,
    Coordinator,
    DescribeConfigsRequest,
    DescribeConfigsResult,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    HeartbeatResponse,
    IncrementalAlterConfigsRequest,
    JoinGroupRequest,
    ListConfigResourcesRequest,
    ListedGroup,
    ListGroupsRequest,
    ListGroupsResponse,
    Operation,
    Response,
)
from rollcall.schemas.refusals import refusal
from rollcall.serve.gateway.access import Access
from rollcall.serve.gateway.backend import Backend, BackendError, Known, Outcome
from rollcall.serve.gateway.exchange import (
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
from rollcall.serve.gateway.metrics import Metrics
from rollcall.serve.gateway.topic_ids import NAME_TOPICS, TopicIds
from rollcall.serve.gateway.wire.codec import Codec, WireError
from rollcall.serve.gateway.wire.shaping import values_of

GROUP_KEY_TYPE = 0
NOT_A_GROUP = "Only groups have configs here; ask only for them"
TWICE = "Each resource must appear at most once."
NO_OPERATIONS = -(1 << 31)
_LENGTH_BYTES = 3
"""At most: a string has its length before it, and a group in a list its tagged fields behind it."""
_ASKED_AT_A_TIME = 1000
"""At most this many groups of one request are asked at a time."""
_ASKED_A_TURN = 50
"""After this many groups other clients have their turn."""

_ELEMENT_BYTES = 100
"""An element of an answer has about this many as JSON."""

log = logging.getLogger("gateway")

Beside = Callable[[Response], Response]
Node = tuple[int, str, int]
"""Node id, host and port."""


class GroupApis:
    """Answers the group APIs from a backend.

    coordinator: the node that a client is sent to about its group. answer_max_bytes: a longer answer is not built.
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
                is_repeated=api.request is HeartbeatRequest,
                read=_values,
                max_elements=MAX_PARTITIONS if api.names_partitions else MAX_ELEMENTS,
            )
            for name, api in APIS.items()
        ]

    def answer(self, ask: Ask) -> Answer:
        """The response to one request. Raises WireError: an id that no new member's id can begin with."""
        request, caller = self._request(ask), ask.caller
        match request:
            case HeartbeatRequest():
                # The shortest path: nearly all requests are heartbeats.
                return self._ask([request], request, caller)
            case JoinGroupRequest() if unfit := unfit_id_prefix(request):
                raise WireError(unfit)
            case FindCoordinatorRequest():
                node = self._coordinator(caller)
                return Building(len(request.coordinator_keys), lambda: self._find_coordinator(request, caller, node))
            case ListGroupsRequest():
                return Later(self._backend.groups(), lambda done: self._listing(request, caller, done))
            case ListConfigResourcesRequest():
                return Later(self._backend.groups(), lambda _: self._configured(request, caller))
            case DescribeConfigsRequest() | AlterConfigsRequest() | IncrementalAlterConfigsRequest():
                about_groups, beside = _of_groups(request)
                if not about_groups.resources:
                    return beside(API_OF[type(request)].response())
                configs = each_once(about_groups)
                return self._ask(split(configs), configs, caller, beside)
        if not API_OF[type(request)].groups:
            return self._ask([request], request, caller)
        once = each_once(request)
        return self._ask(split(once), once, caller)

    def _ask(
        self,
        parts: Sequence[ClientGroupRequest],
        request: ClientGroupRequest,
        caller: Caller,
        beside: Beside = lambda response: response,
    ) -> Answer:
        """Asks each group that a request names. parts: of the request. beside: adds the answers that no group gives."""
        if len(parts) != 1:
            all_asked = asyncio.ensure_future(self._ask_groups(parts, caller))
            return Later(all_asked, lambda done: self._answered(request, parts, caller, done.result(), beside))
        asked = self._ask_group(parts[0], caller)
        if isinstance(asked, asyncio.Future):
            return Later(asked, lambda done: self._answered(request, parts, caller, [_outcome(done)], beside))
        if isinstance(asked, HeartbeatResponse) and not asked.throttle_time_ms:
            return asked
        return self._answered(request, parts, caller, [asked], beside)

    def _request(self, ask: Ask) -> ClientRequest:
        number, caller, codec = next(self._numbers), ask.caller, ask.codec
        request_type: Any = APIS[codec.api].request
        request: ClientRequest = request_type(
            request_id=self._id(number),
            api_version=codec.version,
            client_id=ask.client_id,
            client_host=caller.host,
            received_at_ms=now_ms(),
            request_seq=number,
            principal=None if caller.principal == ANONYMOUS else caller.principal,
            connection=caller.connection_id,
            **ask.message,
        )
        return request

    def _id(self, number: int) -> str:
        return f"{self._backend.gateway_id}-{number}"

    def _numbered(self, part: ClientGroupRequest) -> ClientGroupRequest:
        number = next(self._numbers)
        return msgspec.structs.replace(part, request_seq=number, request_id=self._id(number))

    def _ask_group(self, request: ClientGroupRequest, caller: Caller) -> Outcome | asyncio.Future[Response]:
        kind = API_OF[type(request)]
        group_id: str = group_id_of(request) if kind.groups else request.group_id  # type: ignore[union-attr]
        if not self._access.allows(caller.principal, kind.operation, group_id):
            return BackendError("not allowed", Error.GROUP_AUTHORIZATION_FAILED)
        named = self._topic_ids.with_names(request) if isinstance(request, NAME_TOPICS) else request
        answer = self._backend.submit(named)
        if isinstance(answer, asyncio.Future) and isinstance(named, ConsumerGroupHeartbeatRequest):
            answer.add_done_callback(partial(self._topic_ids.note_reported, named))
        return answer

    async def _ask_groups(self, parts: Sequence[ClientGroupRequest], caller: Caller) -> list[Outcome]:
        """The answers of many groups. Raises WireError: all of it is too long to send."""
        outcomes: list[Outcome] = []
        size_bytes = 0
        while len(outcomes) < len(parts):
            asked: list[Outcome | asyncio.Future[Response]] = []
            try:
                for part in parts[len(outcomes) : len(outcomes) + _ASKED_AT_A_TIME]:
                    asked.append(self._ask_group(self._numbered(part), caller))
                    if len(asked) % _ASKED_A_TURN == 0:
                        await asyncio.sleep(0)
                for one in asked:
                    if isinstance(one, asyncio.Future):
                        await asyncio.wait([one])
                    outcomes.append(_outcome(one) if isinstance(one, asyncio.Future) else one)
                    size_bytes = self._size_bytes(outcomes[-1:], size_bytes)
            finally:
                for one in asked:
                    if isinstance(one, asyncio.Future):
                        one.cancel()
        return outcomes

    def _size_bytes(self, outcomes: Sequence[Outcome], beside_bytes: int = 0) -> int:
        """About how long the answers of some groups are. Raises WireError: they are too long to send."""
        responses = (outcome for outcome in outcomes if isinstance(outcome, Response))
        size_bytes = sum((len(self._encoder.encode(response)) for response in responses), beside_bytes)
        if size_bytes > self._answer_max_bytes:
            raise WireError(f"an answer of more than {self._answer_max_bytes} bytes")
        return size_bytes

    def _answered(
        self,
        request: ClientGroupRequest,
        parts: Sequence[ClientGroupRequest],
        caller: Caller,
        outcomes: Sequence[Outcome],
        beside: Beside,
    ) -> Building:
        """The answer to a request, from what its groups say. Raises WireError: it is too long to send."""
        topic_ids = self._topic_ids.as_of_now() if isinstance(request, NAME_TOPICS) else None

        def build() -> Response:
            answered = zip(parts, outcomes, strict=True)
            responses = [self._response(*each, caller, topic_ids) for each in answered]
            return beside(join(request, responses) if API_OF[type(request)].groups else responses[0])

        wait_ms = max((getattr(outcome, "throttle_time_ms", 0) for outcome in outcomes), default=0)
        if wait_ms:
            caller.muted_until_s = asyncio.get_running_loop().time() + wait_ms / 1000
        return Building(self._size_bytes(outcomes) // _ELEMENT_BYTES + len(parts) - 1, build)

    def _response(
        self, request: ClientGroupRequest, outcome: Outcome, caller: Caller, topic_ids: TopicIds | None
    ) -> Response:
        """With the operations that the rules allow, where the client has asked for them."""
        if isinstance(outcome, BackendError):
            return refusal(request, outcome.answer)
        if isinstance(outcome, DescribeGroupsResponse | ConsumerGroupDescribeResponse):
            for group in outcome.groups:
                allowed = self._access.operations(caller.principal, group.group_id)
                if allowed is not None and group.authorized_operations != NO_OPERATIONS:
                    group.authorized_operations = allowed
        return outcome if topic_ids is None else topic_ids.with_ids(request, outcome)

    def _find_coordinator(self, request: FindCoordinatorRequest, caller: Caller, node: Node) -> FindCoordinatorResponse:
        found = find_coordinator(request, *node)
        if request.key_type != GROUP_KEY_TYPE:
            return found
        if found.coordinators:
            found.coordinators = [
                node
                if self._may_describe(caller, node.key)
                else Coordinator(key=node.key, error_code=Error.GROUP_AUTHORIZATION_FAILED)
                for node in found.coordinators
            ]
        elif not self._may_describe(caller, request.key):
            return FindCoordinatorResponse(error_code=Error.GROUP_AUTHORIZATION_FAILED)
        return found

    def _listing(
        self,
        request: ListGroupsRequest,
        caller: Caller,
        listing: asyncio.Future[Iterable[Known]],
    ) -> Building:
        groups = list(listing.result())

        def build() -> Response:
            seen = (group for group in groups if self._may_describe(caller, group[0]))
            return self._in_what_fits(list_groups(seen, request), caller)

        return Building(len(groups), build)

    def _configured(self, request: ListConfigResourcesRequest, caller: Caller) -> Building:
        allows = partial(self._access.allows, caller.principal, Operation.DESCRIBE_CONFIGS)
        seen = [group_id for group_id in self._backend.configured_groups() if allows(group_id)]
        return Building(len(seen), lambda: list_config_resources(seen, request))

    def _in_what_fits(self, listed: ListGroupsResponse, caller: Caller) -> ListGroupsResponse:
        """The groups with the shortest ids, if the list takes more than half of what may be unread."""
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


def _of_groups(request: ConfigsRequest) -> tuple[ConfigsRequest, Beside]:
    """The request for its groups alone, and a function that adds the answers for its other resources.

    Errors: INVALID_REQUEST, for a resource of another type and, where configs are altered, for one named twice.
    """
    is_describing = isinstance(request, DescribeConfigsRequest)
    field, answer = ("results", DescribeConfigsResult) if is_describing else ("responses", AlterConfigsResult)
    named = Counter((one.resource_type, one.resource_name) for one in request.resources)

    def why_not(one: Any) -> str:
        if not is_describing and named[one.resource_type, one.resource_name] > 1:
            return TWICE
        return NOT_A_GROUP if one.resource_type != GROUP_RESOURCE else ""

    for_groups = [one for one in request.resources if not why_not(one)]
    refused = [
        answer(
            resource_type=one.resource_type,
            resource_name=one.resource_name,
            error_code=Error.INVALID_REQUEST,
            error_message=why_not(one),
        )
        for one in request.resources
        if why_not(one)
    ]

    def beside(response: Response) -> Response:
        return msgspec.structs.replace(response, **{field: [*getattr(response, field), *refused]})

    return msgspec.structs.replace(request, resources=for_groups), beside


def _listed_bytes(group: ListedGroup) -> int:
    texts = (group.group_id, group.protocol_type, group.group_state, group.group_type)
    return sum(len(text.encode()) + _LENGTH_BYTES for text in texts)


def _values(spoken: Codec, message: Any) -> dict[str, Any]:
    """The values of a request's fields. Raises WireError: null where the protocol allows none."""
    return values_of(message, APIS[spoken.api].request)


def _outcome(done: asyncio.Future[Response]) -> Outcome:
    # Not raised: the error's frames would hold the future that holds the error.
    error = done.exception()
    return error if isinstance(error, BackendError) else done.result()
