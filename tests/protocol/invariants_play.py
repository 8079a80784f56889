"""Plays random clients against one group and keeps what was asked: the requests with their times, ready to play again.

Turns the moves of `invariants_moves` into requests by what the clients were told so far. Knows how a caller drives the
core (what is due before a request fires first); must not know any rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.states import GroupState
from coordinator_udfs.protocol.step import expire_due, step
from schemas.effects import Effect, Reply
from schemas.errors import Error
from schemas.messages import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    StreamRequest,
    SyncGroupAssignment,
    SyncGroupRequest,
)
from tests import requests
from tests.protocol import invariants_moves as m

GROUP_ID = "orders"


class Call(NamedTuple):
    """One call of the core: a request that arrived at at_ms, or, without one, the deadlines due up to and at it."""

    at_ms: int
    request: StreamRequest | None


Watcher = Callable[[Group, Call, list[Effect]], None]


def see_nothing(group: Group, call: Call, effects: list[Effect]) -> None:
    """The watcher of a play that is only played."""


@dataclass(slots=True)
class Client:
    """What one client knows of itself."""

    client_id: str
    group_instance_id: str | None
    member_id: str = ""
    generation_id: int = -1


@dataclass(slots=True)
class Play:
    """One group and its clients. `calls`: every call of the core so far; `effects`: everything that came of them."""

    config: GroupConfig
    watch: Watcher = see_nothing
    group: Group = field(default_factory=lambda: Group(GROUP_ID))
    now_ms: int = 1_000_000
    calls: list[Call] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    _clients: list[Client] = field(
        default_factory=lambda: [Client(f"c-{n}", instance_id) for n, instance_id in enumerate(m.INSTANCE_IDS)]
    )
    _sent_by: dict[str, int] = field(default_factory=dict)

    def make(self, moves: Iterable[m.Move]) -> Play:
        """Plays the moves in order; returns itself."""
        for move in moves:
            self.now_ms += move.gap_ms
            if isinstance(move, m.Wait):
                self._apply(Call(self.now_ms, None))
            for request in self._requests(move):
                self._sent_by.setdefault(request.request_id, self._client_of(request))
                self._apply(Call(self.now_ms - 1, None))
                self._apply(Call(self.now_ms, request))
        return self

    def _apply(self, call: Call) -> None:
        self.calls.append(call)
        effects = apply(self.group, call, self.config)
        self.watch(self.group, call, effects)
        self.effects += effects
        for effect in effects:
            if isinstance(effect, Reply):
                self._listen(effect)

    def _listen(self, reply: Reply) -> None:
        """A client takes over what it is told about itself."""
        client = self._clients[self._sent_by[reply.request_id]]
        if isinstance(reply.response, JoinGroupResponse) and reply.error_code in (Error.NONE, Error.MEMBER_ID_REQUIRED):
            client.member_id, client.generation_id = reply.response.member_id, reply.response.generation_id
        elif reply.error_code in (Error.UNKNOWN_MEMBER_ID, Error.FENCED_INSTANCE_ID):
            client.member_id, client.generation_id = "", -1

    def _client_of(self, request: StreamRequest) -> int:
        return next(n for n, client in enumerate(self._clients) if client.client_id == request.client_id)

    # ------------------------------------------------------------ from moves to requests

    def _requests(self, move: m.Move) -> Iterator[StreamRequest]:
        match move:
            case m.Everybody(verb="round"):
                yield from self._usual_requests("join", move)
                yield from self._rejoins(move)
                self.now_ms += 3 * self.config.group_initial_rebalance_delay_ms
                yield from self._usual_requests("sync", move)
            case m.Everybody():
                yield from self._usual_requests(move.verb, move)
            case m.Again():
                earlier = [call.request for call in self.calls if call.request is not None]
                yield from earlier[-1 - move.back : len(earlier) - move.back]
            case m.Wait():
                return
            case _:
                yield self._request(move)

    def _usual_requests(self, verb: str, move: m.Everybody) -> Iterator[StreamRequest]:
        for n, client in enumerate(self._clients[: move.count]):
            is_new = not client.member_id
            yield self._request(_usual(verb, n, move))
            if verb == "join" and is_new and client.member_id and client.generation_id < 0:
                yield self._request(_usual(verb, n, move))

    def _rejoins(self, move: m.Everybody) -> Iterator[StreamRequest]:
        """Every client that the join phase waits for learns of it and joins again."""
        for n, client in enumerate(self._clients):
            member = self.group.members.get(client.member_id)
            if self.group.state is GroupState.PREPARING_REBALANCE and member is not None and not member.parked_join:
                yield self._request(_usual("join", n, move))

    def _request(self, move: m.Move) -> StreamRequest:
        client = self._clients[move.client]
        match move:
            case m.Join():
                request: StreamRequest = self._join(move, client)
            case m.Sync():
                request = self._sync(move, client)
            case m.Heartbeat():
                generation_id = self._generation(move.generation, client)
                request = requests.heartbeat(
                    self._member_id(move.who, client),
                    generation_id,
                    0,
                    GROUP_ID,
                    api_version=move.version,
                    group_instance_id=_instance_id(client, move.is_static),
                )
            case m.Leave():
                request = self._leave(move)
            case m.Commit():
                request = self._commit(move, client)
            case m.Ask():
                request = _ask(move)
            case _:
                raise AssertionError(f"no request comes of {move}")
        request.request_id = f"r{len(self.calls)}"
        request.client_id, request.client_host = client.client_id, f"/10.0.0.{move.client}"
        request.received_at_ms = self.now_ms
        return request

    def _member_id(self, who: m.Who, client: Client) -> str:
        match who:
            case m.Who.OWN:
                return client.member_id
            case m.Who.NONE:
                return ""
            case m.Who.ANOTHER:
                others = [other.member_id for other in self._clients if other.member_id not in ("", client.member_id)]
                return others[0] if others else "nobody"
            case m.Who.UNKNOWN:
                return "nobody"

    def _generation(self, generation: m.Generation, client: Client) -> int:
        match generation:
            case m.Generation.OWN:
                return client.generation_id
            case m.Generation.CURRENT:
                return self.group.generation_id
            case m.Generation.OLD:
                return self.group.generation_id - 1
            case m.Generation.NONE:
                return -1

    def _join(self, move: m.Join, client: Client) -> JoinGroupRequest:
        return requests.join(
            client.client_id,
            group=GROUP_ID,
            api_version=move.version,
            session_timeout_ms=move.session_timeout_ms,
            rebalance_timeout_ms=move.rebalance_timeout_ms,
            member_id=self._member_id(move.who, client),
            group_instance_id=_instance_id(client, move.is_static),
            protocol_type=move.protocol_type,
            protocols=move.protocols,
            reason=move.reason,
        )

    def _sync(self, move: m.Sync, client: Client) -> SyncGroupRequest:
        member_id = self._member_id(move.who, client)
        leads = self.group.leader_id == member_id
        names_protocol = move.protocol_name is not None
        others = [*list(self.group.members)[1:], "nobody", member_id]
        return requests.sync(
            member_id,
            self._generation(move.generation, client),
            0,
            GROUP_ID,
            api_version=move.version,
            group_instance_id=_instance_id(client, move.is_static),
            protocol_type=self.group.protocol_type if names_protocol else None,
            protocol_name=(move.protocol_name or self.group.protocol_name) if names_protocol else None,
            assignments=[SyncGroupAssignment(member_id=each, assignment=move.assignment) for each in others if leads],
        )

    def _leave(self, move: m.Leave) -> LeaveGroupRequest:
        members = [
            MemberIdentity(
                member_id=self._member_id(who, self._clients[n]),
                group_instance_id=_instance_id(self._clients[n], is_static),
                reason=move.reason,
            )
            for n, who, is_static in move.members
        ]
        return requests.leave("", 0, GROUP_ID, api_version=move.version, members=members)

    def _commit(self, move: m.Commit, client: Client) -> OffsetCommitRequest:
        by_id = move.version >= 10
        return requests.fitting(
            OffsetCommitRequest,
            move.version,
            group_id=GROUP_ID,
            generation_id_or_member_epoch=self._generation(move.generation, client),
            member_id=self._member_id(move.who, client),
            group_instance_id=_instance_id(client, move.is_static),
            retention_time_ms=move.retention_time_ms,
            topics=[
                OffsetCommitRequestTopic(
                    name="" if by_id else topic,
                    topic_id=topic if by_id else "",
                    partitions=[
                        OffsetCommitRequestPartition(
                            partition_index=partition, committed_offset=len(self.calls), committed_metadata=metadata
                        )
                    ],
                )
                for topic, partition, metadata in move.offsets
            ],
        )


def _usual(verb: str, client: int, move: m.Everybody) -> m.Move:
    """What a healthy client does: joins as it is, syncs, heartbeats."""
    static = m.INSTANCE_IDS[client] is not None
    match verb:
        case "join":
            protocols = (("range", move.metadata),)
            return m.Join(0, client, 9, m.Who.OWN, static, 6000, 4000, "consumer", protocols, move.reason)
        case "sync":
            return m.Sync(0, client, 5, m.Who.OWN, static, m.Generation.OWN, "", m.ASSIGNMENTS[1])
        case _:
            return m.Heartbeat(0, client, 4, m.Who.OWN, static, m.Generation.OWN)


def _instance_id(client: Client, is_given: bool) -> str | None:
    return client.group_instance_id if is_given else None


def _ask(move: m.Ask) -> StreamRequest:
    match move.api:
        case "DescribeGroups":
            return DescribeGroupsRequest(request_id="", api_version=min(move.version, 6), groups=[GROUP_ID])
        case "DeleteGroups":
            return DeleteGroupsRequest(request_id="", api_version=min(move.version, 2), groups_names=[GROUP_ID])
        case "OffsetDelete":
            partitions = [OffsetDeleteRequestPartition(partition_index=n) for n in (0, 1, 0)]
            topics = [OffsetDeleteRequestTopic(name=topic, partitions=partitions) for topic in move.topics]
            return OffsetDeleteRequest(request_id="", api_version=0, group_id=GROUP_ID, topics=topics)
        case _:
            asked = [OffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1]) for topic in move.topics] or None
            if move.version < 8:
                return OffsetFetchRequest(request_id="", api_version=5, group_id=GROUP_ID, topics=asked)
            groups = [OffsetFetchRequestGroup(group_id=GROUP_ID, topics=asked)]
            return OffsetFetchRequest(request_id="", api_version=move.version, groups=groups)


# ---------------------------------------------------------------- driving the core


def apply(group: Group, call: Call, config: GroupConfig, armed_from_ms: int | None = None) -> list[Effect]:
    """What comes of one call of the core."""
    if call.request is None:
        return expire_due(group, call.at_ms, config, armed_from_ms)
    return step(group, call.request, call.at_ms, config, armed_from_ms)


def replay(calls: Iterable[Call], config: GroupConfig) -> tuple[Group, list[Effect]]:
    """The same calls on a new group: the group, and all effects."""
    group = Group(GROUP_ID)
    return group, [effect for call in calls for effect in apply(group, call, config)]
