"""Plays random clients against one group of the newer protocol and keeps what was asked, to be played again.

Turns the moves of `consumer_moves` into requests by what the clients were told so far. Knows how a caller drives the
core (what is due before a request fires first); must not know any rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, assert_never

from coordinator_udfs.protocol.config import GroupConfig
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, step
from schemas.consumer_protocol import Assignment as ClassicAssignment
from schemas.consumer_protocol import (
    Subscription,
    TopicPartition,
    decode_assignment,
    encode_assignment,
    encode_subscription,
)
from schemas.effects import Effect, Reply
from schemas.errors import Error
from schemas.messages import (
    AlterConfigsRequest,
    AlterConfigsResource,
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    ConsumerGroupTopicPartitions,
    DeleteGroupsRequest,
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeGroupsRequest,
    GroupObservedRequest,
    GroupRequest,
    HeartbeatRequest,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResource,
    IncrementallyAlteredConfig,
    JoinGroupProtocol,
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
    SyncGroupAssignment,
    SyncGroupRequest,
    SyncGroupResponse,
)
from tests.protocol import consumer_moves as m

GROUP_ID = "orders"
Partitions = dict[str, list[int]]


class Call(NamedTuple):
    """One call of the core at at_ms, with the topics there were: a request, or, without one, what is due by then."""

    at_ms: int
    request: GroupRequest | None
    config: GroupConfig


Watcher = Callable[[Group, Call, list[Effect]], None]


def see_nothing(group: Group, call: Call, effects: list[Effect]) -> None:
    """The watcher of a play that is only played."""


def apply(group: Group, call: Call) -> list[Effect]:
    """Makes one call of the core."""
    if call.request is None:
        return expire_due(group, call.at_ms, call.config)
    return step(group, call.request, call.at_ms, call.config)


@dataclass(slots=True)
class Client:
    """What one client knows of itself. protocol_name: of the classic protocol it joined with."""

    number: int
    member_id: str
    epoch: int = 0
    owned: Partitions = field(default_factory=dict)
    subscription: tuple[str, ...] = ()
    is_cooperative: bool = False
    is_classic: bool = False
    lives: int = 0

    @property
    def instance_id(self) -> str | None:
        return m.INSTANCE_IDS[self.number]


@dataclass(slots=True)
class ConsumerPlay:
    """One group and its clients. `calls`: every call of the core so far; `effects`: everything that came of them."""

    config: GroupConfig
    watch: Watcher = see_nothing
    group: Group = field(default_factory=lambda: Group(GROUP_ID))
    now_ms: int = 1_000_000
    calls: list[Call] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    clients: list[Client] = field(default_factory=lambda: [Client(n, f"member-{n}") for n in range(m.CLIENTS)])

    def make(self, moves: Iterable[m.Move]) -> ConsumerPlay:
        """Makes these moves, one after the other."""
        for move in moves:
            self.wait(move.gap_ms)
            self._make(move, self.clients[move.client])
        return self

    def wait(self, gap_ms: int) -> None:
        """Lets time pass; what is due before the end of it fires."""
        self.now_ms += gap_ms
        self.call(Call(self.now_ms - 1, None, self.config))

    def load(self) -> None:
        """A coordinator loads the group anew."""
        if self.group.is_known:
            named: dict[str, Any] = {"request_id": "load", "api_version": 0, "group_id": GROUP_ID, "why": ""}
            self.call(
                Call(
                    self.now_ms, GroupObservedRequest(**named, received_at_ms=self.now_ms, is_loaded=True), self.config
                )
            )

    # ------------------------------------------------------------ moves

    def _make(self, move: m.Move, client: Client) -> None:
        match move:
            case m.Join():
                self._join(move, client)
            case m.Beat():
                self._beat(move, client)
            case m.Leave():
                epoch = -2 if move.is_for_now else -1
                instance_id = client.instance_id if move.is_for_now else None
                self.heartbeat(client, member_epoch=epoch, instance_id=instance_id)
            case m.Restart():
                self._restart(move, client)
            case _:
                self._make_another(move, client)

    def _make_another(self, move: m.Move, client: Client) -> None:
        match move:
            case m.ClassicJoin():
                self._join_classic(move, client)
            case m.ClassicCycle():
                self.cycle(client)
            case m.ClassicLeave():
                named = [client, *(self.clients[n] for n in move.others)]
                members = [MemberIdentity(member_id=each.member_id) for each in named]
                self.send(LeaveGroupRequest, 5, client, group_id=GROUP_ID, members=members)
            case m.Commit():
                self._commit(move, client)
            case m.Ask():
                self._ask(move.api)
            case m.Topics():
                self._change_topics(move)
            case m.Again():
                requests = [call.request for call in self.calls if call.request is not None]
                if move.back < len(requests):
                    self.call(Call(self.now_ms, requests[-1 - move.back], self.config))
            case _:
                self.everybody()

    def _join(self, move: m.Join, client: Client) -> None:
        if move.is_new_id:
            client.lives += 1
            client.member_id = f"member-{client.number}-{client.lives}"
        client.is_classic = False
        topics = move.topics
        if topics is None and move.pattern is None:
            topics = ("t1",)
        self.heartbeat(
            client,
            member_epoch=0,
            instance_id=client.instance_id if move.is_static else None,
            rebalance_timeout_ms=move.rebalance_timeout_ms,
            subscribed_topic_names=None if topics is None else list(topics),
            subscribed_topic_regex=move.pattern,
            server_assignor=move.assignor,
            topic_partitions=[],
        )

    def _restart(self, move: m.Restart, client: Client) -> None:
        usual = m.Join(0, move.client, ("t1", "t2"), None, None, True, False, 5000)
        self._join(usual, client)
        self.everybody()
        self.heartbeat(client, member_epoch=-2, instance_id=client.instance_id)
        self._join(replace(usual, is_new_id=move.is_new_id), client)

    def _beat(self, move: m.Beat, client: Client) -> None:
        said: Partitions | None = None
        match move.said:
            case m.Said.ANSWERED:
                said = client.owned
            case m.Said.NONE:
                said = {}
            case m.Said.FOREIGN:
                said = {"t1": [0, 1, 2, 3]}
            case m.Said.NOTHING_SAID:
                pass
            case _:
                assert_never(move.said)
        self.heartbeat(
            client,
            member_epoch=max(_epoch(client, move.epoch), 1),
            rebalance_timeout_ms=700 if move.is_full else -1,
            subscribed_topic_names=None if move.topics is None else list(move.topics),
            subscribed_topic_regex=move.pattern,
            topic_partitions=None if said is None else _listed(said),
        )

    def everybody(self, rounds: int = 2) -> None:
        """Every client that was told an epoch beats with what it was told."""
        for _ in range(rounds):
            for client in self.clients:
                if client.epoch > 0 and client.is_classic:
                    self.cycle(client)
                elif client.epoch > 0:
                    self.heartbeat(client, member_epoch=client.epoch, topic_partitions=_listed(client.owned))

    def heartbeat(self, client: Client, **fields: Any) -> Reply | None:
        """A ConsumerGroupHeartbeat, and what its client learns of the answer."""
        reply = self.send(
            ConsumerGroupHeartbeatRequest, 1, client, group_id=GROUP_ID, member_id=client.member_id, **fields
        )
        response = reply.response if reply else None
        if isinstance(response, ConsumerGroupHeartbeatResponse) and response.error_code is Error.NONE:
            client.epoch = max(response.member_epoch, 0)
            client.is_classic = False
            if response.assignment is not None:
                client.owned = {t.topic: list(t.partitions) for t in response.assignment.topic_partitions}
        return reply

    # ------------------------------------------------------------ the classic protocol

    def _join_classic(self, move: m.ClassicJoin, client: Client) -> None:
        client.subscription, client.is_cooperative = move.topics, move.is_cooperative
        client.is_classic = True
        self.join_classic(client, move.is_static, move.session_timeout_ms)

    def join_classic(self, client: Client, is_static: bool = False, session_timeout_ms: int = 6000) -> None:
        """A JoinGroup v3, by a new id where the client has none that is known, and a SyncGroup if it is answered."""
        owned = client.owned if client.is_cooperative else {}
        kept = tuple(TopicPartition(topic, p) for topic, ps in owned.items() for p in ps)
        metadata = encode_subscription(Subscription(client.subscription, owned_partitions=kept), version=1)
        reply = self.send(
            JoinGroupRequest,
            5,
            client,
            group_id=GROUP_ID,
            member_id=client.member_id,
            group_instance_id=client.instance_id if is_static else None,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=5000,
            protocol_type="consumer",
            protocols=[JoinGroupProtocol(name="range", metadata=metadata)],
        )
        self._learn_join(client, reply)

    def _learn_join(self, client: Client, reply: Reply | None) -> None:
        if reply is None or not isinstance(reply.response, JoinGroupResponse):
            return
        if reply.error_code is Error.NONE:
            client.member_id, client.epoch = reply.response.member_id, reply.response.generation_id
            self._sync(client)

    def _sync(self, client: Client) -> None:
        first = encode_assignment(ClassicAssignment((TopicPartition("t1", 0),)))
        reply = self.send(
            SyncGroupRequest,
            3,
            client,
            group_id=GROUP_ID,
            member_id=client.member_id,
            generation_id=client.epoch,
            assignments=[SyncGroupAssignment(member_id=client.member_id, assignment=first)],
        )
        if reply and isinstance(reply.response, SyncGroupResponse) and reply.error_code is Error.NONE:
            client.owned = {}
            reported = decode_assignment(reply.response.assignment).partitions if reply.response.assignment else ()
            for topic, partition in reported:
                client.owned.setdefault(topic, []).append(partition)

    def cycle(self, client: Client) -> None:
        """A classic member's heartbeat, and a JoinGroup if it is told to."""
        reply = self.send(
            HeartbeatRequest,
            3,
            client,
            group_id=GROUP_ID,
            member_id=client.member_id,
            generation_id=client.epoch,
        )
        if reply is not None and reply.error_code in (Error.REBALANCE_IN_PROGRESS, Error.ILLEGAL_GENERATION):
            self.join_classic(client)

    # ------------------------------------------------------------ the rest

    def _commit(self, move: m.Commit, client: Client) -> None:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
        self.send(
            OffsetCommitRequest,
            move.version,
            client,
            group_id=GROUP_ID,
            member_id=client.member_id,
            generation_id_or_member_epoch=_epoch(client, move.epoch),
            topics=[OffsetCommitRequestTopic(name="t1", partitions=[partition])],
        )

    def _ask(self, api: str) -> None:
        admin = Client(0, "")
        topic = OffsetDeleteRequestTopic(name="t1", partitions=[OffsetDeleteRequestPartition(partition_index=0)])
        match api:
            case "ConsumerGroupDescribe":
                self.send(ConsumerGroupDescribeRequest, 1, admin, group_ids=[GROUP_ID])
            case "DescribeGroups":
                self.send(DescribeGroupsRequest, 6, admin, groups=[GROUP_ID])
            case "DeleteGroups":
                self.send(DeleteGroupsRequest, 2, admin, groups_names=[GROUP_ID])
            case "OffsetFetch":
                self.send(OffsetFetchRequest, 9, admin, groups=[OffsetFetchRequestGroup(group_id=GROUP_ID)])
            case "DescribeConfigs":
                asked = DescribeConfigsResource(resource_name=GROUP_ID)
                self.send(DescribeConfigsRequest, 4, admin, resources=[asked])
            case "IncrementalAlterConfigs":
                shorter = IncrementallyAlteredConfig(name="consumer.session.timeout.ms", value="2500")
                altered = IncrementalAlterConfigsResource(resource_name=GROUP_ID, configs=[shorter])
                self.send(IncrementalAlterConfigsRequest, 1, admin, resources=[altered])
            case "AlterConfigs":
                self.send(AlterConfigsRequest, 2, admin, resources=[AlterConfigsResource(resource_name=GROUP_ID)])
            case _:
                self.send(OffsetDeleteRequest, 0, admin, group_id=GROUP_ID, topics=[topic])

    def _change_topics(self, move: m.Topics) -> None:
        topics = dict(self.config.topics or {})
        is_new = move.topic not in topics and move.partition_count > 0
        if move.partition_count == 0:
            topics.pop(move.topic, None)
        else:
            topics[move.topic] = max(topics.get(move.topic, 0), move.partition_count)
        self.config = replace(self.config, topics=topics, topics_version=self.config.topics_version + is_new)

    def send(self, kind: type[Any], version: int, client: Client, **fields: Any) -> Reply | None:
        """Sends a request now; its answer, None if it is parked or dropped."""
        request: GroupRequest = kind(
            request_id=f"r-{len(self.calls)}",
            api_version=version,
            client_id=f"c-{client.number}",
            client_host="/10.0.0.7",
            received_at_ms=self.now_ms,
            **fields,
        )
        effects = self.call(Call(self.now_ms, request, self.config))
        mine = [effect for effect in effects if isinstance(effect, Reply) and effect.request_id == request.request_id]
        return mine[0] if mine else None

    def call(self, call: Call) -> list[Effect]:
        effects = apply(self.group, call)
        self.calls.append(call)
        self.effects += effects
        self.watch(self.group, call, effects)
        return effects


def _epoch(client: Client, epoch: m.Epoch) -> int:
    match epoch:
        case m.Epoch.OWN:
            return client.epoch
        case m.Epoch.BEFORE:
            return client.epoch - 1
        case m.Epoch.AFTER:
            return client.epoch + 1


def _listed(partitions: Mapping[str, list[int]]) -> list[ConsumerGroupTopicPartitions]:
    return [ConsumerGroupTopicPartitions(topic_name=topic, partitions=list(ps)) for topic, ps in partitions.items()]
