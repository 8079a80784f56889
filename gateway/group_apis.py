"""The group APIs: from a client's message to requests for one group each, and back.

FindCoordinator and ListGroups are answered here, since no single group can. A request that names several groups is
split, and its answers are joined. A request that the rules of access forbid is refused. The backend answers the rest.

Knows the messages and the rules of access; knows no socket and no table.
"""

from __future__ import annotations

import asyncio
import itertools
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, assert_never

import msgspec

from coordinator_udfs.protocol.find_coordinator import find_coordinator
from coordinator_udfs.protocol.list_groups import list_groups
from gateway.access import Access, Operation
from gateway.backend import Backend, BackendError, Known
from gateway.exchange import ANONYMOUS, Answer, Ask, Caller, Endpoint, Later
from gateway.refusals import refusal
from gateway.topic_ids import TopicIds
from gateway.wire.shaping import entity_of, values_of
from schemas.errors import Error
from schemas.fan_out import group_id_of, join, split
from schemas.messages import (
    APIS,
    ClientGroupRequest,
    ClientRequest,
    Coordinator,
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
    Response,
    SyncGroupRequest,
)

HOLDING_APIS = frozenset({"JoinGroup", "SyncGroup"})
"""Their answers may be withheld for minutes."""
GROUP_KEY_TYPE = 0
NO_OPERATIONS_TOLD = -(1 << 31)

Node = tuple[int, str, int]
"""Node id, host and port."""


class GroupApis:
    """Answers the group APIs from a backend. coordinator: the node that a client is told to ask about its group."""

    def __init__(
        self, backend: Backend, coordinator: Callable[[Caller], Node], access: Access, topic_ids: TopicIds
    ) -> None:
        self._backend = backend
        self._coordinator = coordinator
        self._access = access
        self._topic_ids = topic_ids
        self._numbers = itertools.count(1)
        self._last_ms = 0

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
                holds=name in HOLDING_APIS,
            )
            for name, api in APIS.items()
        ]

    def answer(self, ask: Ask) -> Answer:
        """The response to one request. Raises WireError: null where the protocol allows none."""
        request = self._request(ask)
        entity_type = ask.codec.response_type
        match request:
            case FindCoordinatorRequest():
                return entity_of(entity_type, self._find_coordinator(request, ask.caller))
            case ListGroupsRequest():
                listing = self._backend.groups()
                return Later(listing, lambda done: entity_of(entity_type, self._listed(request, ask.caller, done)))
        parts = split(request)
        if len(parts) == 1:
            future = self._ask_group(parts[0], ask.caller)
            return Later(future, lambda done: entity_of(entity_type, self._response(parts[0], ask.caller, done)))
        futures = [self._ask_group(self._numbered(part), ask.caller) for part in parts]

        def joined(_: asyncio.Future[Any]) -> Any:
            responses = [self._response(part, ask.caller, done) for part, done in zip(parts, futures, strict=True)]
            return entity_of(entity_type, join(request, responses))

        return Later(asyncio.gather(*futures, return_exceptions=True), joined)

    def _request(self, ask: Ask) -> ClientRequest:
        self._last_ms = max(self._last_ms, time.time_ns() // 1_000_000)
        number = next(self._numbers)
        request_type: Any = APIS[ask.codec.api].request
        request: ClientRequest = request_type(
            request_id=self._id(number),
            api_version=ask.codec.version,
            client_id=ask.client_id,
            client_host=ask.caller.host,
            received_at_ms=self._last_ms,
            request_seq=number,
            principal=None if ask.caller.principal == ANONYMOUS else ask.caller.principal,
            connection=ask.caller.connection_id,
            **values_of(ask.message, request_type),
        )
        return request

    def _id(self, number: int) -> str:
        return f"{self._backend.gateway_id}-{number}"

    def _numbered(self, part: ClientGroupRequest) -> ClientGroupRequest:
        number = next(self._numbers)
        return msgspec.structs.replace(part, request_seq=number, request_id=self._id(number))

    def _ask_group(self, request: ClientGroupRequest, caller: Caller) -> asyncio.Future[Response]:
        if not self._access.allows(caller.principal, _operation(request), group_id_of(request)):
            refused: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
            refused.set_exception(BackendError("not allowed", Error.GROUP_AUTHORIZATION_FAILED))
            return refused
        return self._backend.submit(self._topic_ids.named(request))

    def _response(self, request: ClientGroupRequest, caller: Caller, done: asyncio.Future[Response]) -> Response:
        try:
            response = done.result()
        except BackendError as error:
            return refusal(request, error.answer)
        if isinstance(response, DescribeGroupsResponse):
            self._name_operations(response, caller)
        return self._topic_ids.answered(request, response)

    def _name_operations(self, response: DescribeGroupsResponse, caller: Caller) -> None:
        """Puts in the operations that the rules allow, where the client has asked for them."""
        for group in response.groups:
            allowed = self._access.operations(caller.principal, group.group_id)
            if allowed is not None and group.authorized_operations != NO_OPERATIONS_TOLD:
                group.authorized_operations = allowed

    def _find_coordinator(self, request: FindCoordinatorRequest, caller: Caller) -> FindCoordinatorResponse:
        found = find_coordinator(request, *self._coordinator(caller))
        if request.key_type != GROUP_KEY_TYPE:
            return found
        if found.coordinators:
            found.coordinators = [
                node if self._may_describe(caller, node.key) else _hidden(node.key) for node in found.coordinators
            ]
        elif not self._may_describe(caller, request.key):
            return FindCoordinatorResponse(error_code=Error.GROUP_AUTHORIZATION_FAILED)
        return found

    def _listed(self, request: ListGroupsRequest, caller: Caller, listing: asyncio.Future[Iterable[Known]]) -> Response:
        return list_groups((group for group in listing.result() if self._may_describe(caller, group[0])), request)

    def _may_describe(self, caller: Caller, group_id: str) -> bool:
        return self._access.allows(caller.principal, Operation.DESCRIBE, group_id)


def _operation(request: ClientGroupRequest) -> Operation:
    """What a request does with its group, as Kafka sees it."""
    match request:
        case DescribeGroupsRequest() | OffsetFetchRequest():
            return Operation.DESCRIBE
        case DeleteGroupsRequest() | OffsetDeleteRequest():
            return Operation.DELETE
        case JoinGroupRequest() | SyncGroupRequest() | HeartbeatRequest() | LeaveGroupRequest() | OffsetCommitRequest():
            return Operation.READ
        case _:
            assert_never(request)


def _hidden(key: str) -> Coordinator:
    return Coordinator(key=key, error_code=Error.GROUP_AUTHORIZATION_FAILED)
