"""A test bench for consumer groups: one group in virtual time, driven by verbs, clients called by their member ids.

    bench = ConsumerBench(topics={"t1": 4})
    bench.join("m1", "t1")
    bench.join("m2", "t1")
    assert bench.beat("m1").assigned == {"t1": [0, 1]}     # the rest it must give up
    bench.beat("m1", owned={"t1": [0, 1]})

A client beats with the epoch it was told last. The assignment interval is 0 unless a test sets it. Before a request at
T every earlier deadline fires, as for the live job. Knows how to ask and what was answered; must not know a rule of the
protocol.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from coordinator_udfs.protocol.config import ConsumerConfig, GroupConfig
from coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.lifecycle import load_group
from coordinator_udfs.protocol.step import expire_due, step
from coordinator_udfs.protocol.turn import Turn
from schemas.consumer_protocol import Subscription, TopicPartition, decode_assignment, encode_subscription
from schemas.effects import Effect, Reply
from schemas.errors import Error
from schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupTopicPartitions,
    DescribedConsumerGroup,
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    SyncGroupRequest,
)

E = TypeVar("E", bound=Effect)
Partitions = Mapping[str, Sequence[int]]


class Told:
    """What a request was answered; asserts that it was."""

    def __init__(self, reply: Reply | None) -> None:
        assert reply is not None, "not answered"
        self.reply = reply
        self.error = reply.error_code
        self.response: Any = reply.response

    @property
    def epoch(self) -> int:
        epoch: int = self.response.member_epoch
        return epoch

    @property
    def assigned(self) -> dict[str, list[int]] | None:
        """What a heartbeat is told that it may use; None if it is told nothing."""
        told = self.response.assignment
        return None if told is None else {each.topic_id: each.partitions for each in told.topic_partitions}


class ConsumerBench:
    """One group. topics: partition counts; settings: by their names in ConsumerConfig, group_*: in GroupConfig."""

    def __init__(self, topics: Mapping[str, int] | None = None, **settings: Any) -> None:
        defaults = {"assignment_interval_ms": 0, "session_timeout_ms": 45_000, "heartbeat_interval_ms": 5_000}
        of_group = ("group_", "offset", "expressions", "members_")
        group = {name: value for name, value in settings.items() if name.startswith(of_group)}
        consumer = {name: value for name, value in settings.items() if name not in group}
        self.config = GroupConfig(
            topics=dict(topics or {"t1": 4, "t2": 4}),
            consumer=ConsumerConfig(**(defaults | consumer)),
            **({"group_initial_rebalance_delay_ms": 0} | group),
        )
        self.group = Group("g")
        self.now_ms = 0
        self.effects: list[Effect] = []
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Partitions] = {}
        self._sent = 0

    # ------------------------------------------------------------ time and topics

    def at(self, now_ms: int) -> ConsumerBench:
        """Sets the clock; what is due before, and not at, that time fires."""
        self.effects += expire_due(self.group, now_ms - 1, self.config)
        self.now_ms = now_ms
        return self

    def tick(self, now_ms: int) -> ConsumerBench:
        """Lets time pass: what is due up to and at that time fires."""
        self.now_ms = now_ms
        self.effects += expire_due(self.group, now_ms, self.config)
        return self

    def set_topics(self, **counts: int) -> None:
        """Topics with these counts from now on, 0 for one that goes."""
        topics = {name: count for name, count in {**(self.config.topics or {}), **counts}.items() if count}
        created = topics.keys() - (self.config.topics or {}).keys()
        version = self.config.topics_version + bool(created)
        self.config = replace(self.config, topics=topics, topics_version=version)

    def set(self, **settings: Any) -> None:
        """The broker has other settings from now on."""
        self.config = replace(self.config, consumer=replace(self.config.consumer, **settings))

    def load(self) -> None:
        """A coordinator takes the group over from storage."""
        turn = Turn(self.now_ms, self.config, self.now_ms)
        load_group(self.group, turn)
        self.effects += turn.effects

    # ------------------------------------------------------------ the newer protocol

    def send(self, kind: type[Any], version: int, client: str, **fields: Any) -> Told:
        """Sends a request now; its answer."""
        reply = self.send_and_wait(kind, version, client, **fields)
        return Told(reply)

    def send_and_wait(self, kind: type[Any], version: int, client: str, **fields: Any) -> Reply | None:
        """Sends a request now; its answer, None if it is parked."""
        self._sent += 1
        envelope = {
            "api_version": version,
            "request_id": str(self._sent),
            "client_id": client,
            "client_host": f"/{client}",
            "received_at_ms": self.now_ms,
        }
        request = kind(**(envelope | fields))
        self.effects += expire_due(self.group, self.now_ms - 1, self.config)
        effects = step(self.group, request, self.now_ms, self.config)
        self.effects += effects
        return next((e for e in effects if isinstance(e, Reply) and e.request_id == request.request_id), None)

    def heartbeat(self, client: str, epoch: int, owned: Partitions | None = None, **fields: Any) -> Told:
        """A ConsumerGroupHeartbeat v1, with nothing said that is not told to be."""
        version = fields.pop("v", 1)
        member = {"group_id": "g", "member_id": fields.pop("member_id", client), "member_epoch": epoch}
        told = self.send(
            ConsumerGroupHeartbeatRequest, version, client, topic_partitions=_listed(owned), **(member | fields)
        )
        if told.error is Error.NONE and epoch >= 0:
            self.epochs[client] = told.epoch
            self.owned[client] = self.owned.get(client, {}) if told.assigned is None else told.assigned
        return told

    def join(self, client: str, *topics: str, **fields: Any) -> Told:
        """Epoch 0, with these topics and a rebalance timeout of a minute."""
        said: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": list(topics), "owned": {}}
        return self.heartbeat(client, 0, **(said | fields))

    def beat(self, client: str, owned: Partitions | None = None, **fields: Any) -> Told:
        """A heartbeat with the epoch told last."""
        return self.heartbeat(client, self.epochs[client], owned, **fields)

    def leave(self, client: str, epoch: int = -1, **fields: Any) -> Told:
        return self.heartbeat(client, epoch, **fields)

    def settle(self) -> ConsumerBench:
        """Everybody acknowledges what it was told, until the group is Stable."""
        for _ in range(2 * len(self.consumer.members) + 2):
            for member_id, member in list(self.consumer.members.items()):
                if member.classic is None and not member.is_away:
                    self.beat(member_id, self.owned[member_id])
        assert self.consumer.state == "Stable", self.consumer.state
        return self

    def describe(self, v: int = 1) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe: what it says of the group."""
        told = self.send(ConsumerGroupDescribeRequest, v, "admin", group_ids=["g"])
        described: DescribedConsumerGroup = told.response.groups[0]
        return described

    # ------------------------------------------------------------ the classic protocol

    def join_classic(self, client: str, *topics: str, owned: Partitions | None = None, **fields: Any) -> Reply | None:
        """JoinGroup v9 by a member id of the client's own, with one protocol; its answer, None if it is parked."""
        kept = tuple(TopicPartition(topic, p) for topic, ps in (owned or {}).items() for p in ps)
        metadata = encode_subscription(Subscription(topics or ("t1",), owned_partitions=kept), version=1)
        said = {
            "group_id": "g",
            "member_id": client,
            "session_timeout_ms": 10_000,
            "rebalance_timeout_ms": 30_000,
            "protocol_type": "consumer",
            "protocols": [JoinGroupProtocol(name="range", metadata=metadata)],
        }
        reply = self.send_and_wait(JoinGroupRequest, fields.pop("v", 9), client, **(said | fields))
        if reply is not None and reply.error_code is Error.NONE:
            self.epochs[client] = reply.generation_id
        return reply

    def sync(self, client: str, **fields: Any) -> Told:
        said = {"group_id": "g", "member_id": client, "generation_id": self.epochs.get(client, 0)}
        protocol = {"protocol_type": "consumer", "protocol_name": "range"}
        return self.send(SyncGroupRequest, 5, client, **(said | protocol | fields))

    def synced(self, client: str) -> dict[str, list[int]]:
        """SyncGroup: the partitions that its answer names."""
        found: dict[str, list[int]] = {}
        for topic, partition in decode_assignment(self.sync(client).response.assignment).partitions:
            found.setdefault(topic, []).append(partition)
        return found

    def classic_heartbeat(self, client: str, **fields: Any) -> Error:
        said = {"group_id": "g", "member_id": client, "generation_id": self.epochs.get(client, 0)}
        return self.send(HeartbeatRequest, 4, client, **(said | fields)).error

    def leave_classic(self, *members: MemberIdentity, client: str = "admin") -> list[Error]:
        """LeaveGroup v5: the error of each member named."""
        told = self.send(LeaveGroupRequest, 5, client, group_id="g", members=list(members))
        return [member.error_code for member in told.response.members]

    # ------------------------------------------------------------ offsets

    def commit(self, client: str, epoch: int, *partitions: tuple[str, int], v: int = 9, **fields: Any) -> list[Error]:
        """OffsetCommit: the error of each partition."""
        topics = [
            OffsetCommitRequestTopic(
                name=topic,
                partitions=[OffsetCommitRequestPartition(partition_index=p, committed_offset=7, **fields)],
            )
            for topic, p in partitions or (("t1", 0),)
        ]
        said = {"group_id": "g", "member_id": client, "generation_id_or_member_epoch": epoch}
        told = self.send(OffsetCommitRequest, v, client, topics=topics, **said)
        return [partition.error_code for topic in told.response.topics for partition in topic.partitions]

    def fetch(self, member_id: str | None, epoch: int) -> Error:
        """OffsetFetch v9 of all topics: the group's error."""
        asked = OffsetFetchRequestGroup(group_id="g", member_id=member_id, member_epoch=epoch)
        error: Error = (
            self.send(OffsetFetchRequest, 9, member_id or "admin", groups=[asked]).response.groups[0].error_code
        )
        return error

    # ------------------------------------------------------------ what is and what was

    @property
    def consumer(self) -> ConsumerGroup:
        assert self.group.consumer is not None, "not a consumer group"
        return self.group.consumer

    @property
    def epoch(self) -> int:
        """The group's."""
        return self.group.generation_id

    @property
    def state(self) -> str:
        return self.group.shown_state

    def member(self, member_id: str) -> ConsumerMember:
        return self.consumer.members[member_id]

    def targets(self) -> dict[str, dict[str, list[int]]]:
        """Each member's target."""
        members = self.consumer.members.items()
        return {member_id: {t: list(ps) for t, ps in (member.target or {}).items()} for member_id, member in members}

    def of(self, kind: type[E]) -> list[E]:
        """Every effect of a kind so far, in order."""
        return [effect for effect in self.effects if isinstance(effect, kind)]


def _listed(owned: Partitions | None) -> list[ConsumerGroupTopicPartitions] | None:
    if owned is None:
        return None
    return [ConsumerGroupTopicPartitions(topic_id=topic, partitions=list(ps)) for topic, ps in owned.items()]


def identity(member_id: str, instance_id: str | None = None, reason: str | None = None) -> MemberIdentity:
    """A member in a LeaveGroup."""
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=reason)
