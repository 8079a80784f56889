"""A test bench for consumer groups: one group in virtual time, driven by verbs, clients called by their member ids.

    bench = ConsumerBench(topics={"t1": 4}).with_members("m1", "m2")
    assert bench.beat("m1").assigned == {"t1": [0, 1]}     # the rest it must give up
    bench.beat("m1", owned={"t1": [0, 1]})

A client beats with its last answer's epoch. The assignment interval is 0 unless a test sets it. Before a request at
T every earlier deadline fires, as for the live job. Knows how to ask and what was answered; must not know a rule of the
protocol.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from rollcall.coordinator_udfs.protocol.consumer.group import ConsumerGroup, ConsumerMember
from rollcall.schemas.consumer_protocol import decode_assignment
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupHeartbeatRequest,
    DescribedConsumerGroup,
    MemberIdentity,
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
)
from tests import requests
from tests.protocol.bench import Call, GroupBench
from tests.protocol.bench_requests import Kind
from tests.requests import Partitions


class ConsumerBench(GroupBench):
    """A consumer group. topics: partition counts."""

    def __init__(self, topics: Mapping[str, int] | None = None, **settings: Any) -> None:
        defaults: dict[str, Any] = {"assignment_interval_ms": 0, "group_initial_rebalance_delay_ms": 0}
        super().__init__("g", topics=dict(topics or {"t1": 4, "t2": 4}), **(defaults | settings))
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, Partitions] = {}

    def with_members(self, *clients: str) -> Self:
        """These clients have joined for t1, one after the other."""
        for client in clients:
            self.join(client, "t1")
        return self

    # ------------------------------------------------------------ settings

    def set_topics(self, **counts: int) -> None:
        """Topics with these counts from now on, 0 for one that goes."""
        topics = {name: count for name, count in {**(self.config.topics or {}), **counts}.items() if count}
        created = topics.keys() - (self.config.topics or {}).keys()
        version = self.config.topics_version + bool(created)
        self.config = replace(self.config, topics=topics, topics_version=version)

    # ------------------------------------------------------------ the newer protocol

    def send(self, kind: Kind, version: int, client: str, **fields: Any) -> Call:
        """Sends a request now, which is answered at once."""
        call = self.ask(kind, version, client, **{"client_host": f"/{client}", **fields})
        assert call.reply is not None, "not answered"
        return call

    def heartbeat(self, client: str, epoch: int, owned: Partitions | None = None, **fields: Any) -> Call:
        """A ConsumerGroupHeartbeat v1 that says only what is given."""
        version = fields.pop("v", 1)
        member = {"group_id": "g", "member_id": fields.pop("member_id", client), "member_epoch": epoch}
        reported = self.send(
            ConsumerGroupHeartbeatRequest,
            version,
            client,
            topic_partitions=requests.topic_partitions(owned),
            **(member | fields),
        )
        if reported.error is Error.NONE and epoch >= 0:
            self.epochs[client] = reported.epoch
            self.owned[client] = self.owned.get(client, {}) if reported.assigned is None else reported.assigned
        return reported

    def join(self, client: str, *topics: str, **fields: Any) -> Call:
        """Epoch 0, with these topics and a rebalance timeout of a minute."""
        said: dict[str, Any] = {"rebalance_timeout_ms": 60_000, "subscribed_topic_names": list(topics), "owned": {}}
        return self.heartbeat(client, 0, **(said | fields))

    def join_matching(self, client: str, pattern: str) -> Call:
        """Epoch 0, with the topics that a regular expression stands for."""
        return self.join(client, subscribed_topic_names=None, subscribed_topic_regex=pattern)

    def beat(self, client: str, owned: Partitions | None = None, **fields: Any) -> Call:
        """A heartbeat with the epoch of the last answer."""
        return self.heartbeat(client, self.epochs[client], owned, **fields)

    def leave(self, client: str, epoch: int = -1, **fields: Any) -> Call:
        return self.heartbeat(client, epoch, **fields)

    def settle(self) -> ConsumerBench:
        """Every member acknowledges its last answer, until the group is Stable."""
        for _ in range(2 * len(self.consumer.members) + 2):
            for member_id, member in list(self.consumer.members.items()):
                if member.classic is None and not member.is_away:
                    self.beat(member_id, self.owned[member_id])
        assert self.consumer.state == "Stable", self.consumer.state
        return self

    def describe(self, v: int = 1) -> DescribedConsumerGroup:
        """ConsumerGroupDescribe: what it says of the group."""
        reported = self.send(ConsumerGroupDescribeRequest, v, "admin", group_ids=["g"])
        described: DescribedConsumerGroup = reported.response.groups[0]
        return described

    # ------------------------------------------------------------ the classic protocol

    def join_classic(self, client: str, *topics: str, owned: Partitions | None = None, **fields: Any) -> Call:
        """JoinGroup v9 by a member id of the client's own, with one protocol."""
        metadata = requests.subscription(*(topics or ("t1",)), owned=requests.flat(owned or {}), version=1)
        said = {"member_id": client, "protocols": {"range": metadata}}
        call = self.ask(requests.join, fields.pop("v", 9), client, **(said | fields))
        if call.reply is not None and call.error is Error.NONE:
            self.epochs[client] = call.response.generation_id
        return call

    def sync(self, client: str, **fields: Any) -> Call:
        said = {"member_id": client, "generation_id": self.epochs.get(client, 0)}
        protocol = {"protocol_type": "consumer", "protocol_name": "range"}
        return self.send(requests.sync, 5, client, **(said | protocol | fields))

    def synced(self, client: str) -> dict[str, list[int]]:
        """SyncGroup: the partitions that its answer names."""
        found: dict[str, list[int]] = {}
        for topic, partition in decode_assignment(self.sync(client).response.assignment).partitions:
            found.setdefault(topic, []).append(partition)
        return found

    def classic_heartbeat(self, client: str, **fields: Any) -> Error:
        said = {"member_id": client, "generation_id": self.epochs.get(client, 0)}
        return self.send(requests.heartbeat, 4, client, **(said | fields)).error

    def leave_classic(self, *members: MemberIdentity, client: str = "admin") -> list[Error]:
        """LeaveGroup v5: the error of each member named."""
        return self.send(requests.leave, 5, client, members=list(members)).member_errors

    # ------------------------------------------------------------ offsets

    def commit(self, client: str, epoch: int, *partitions: tuple[str, int], v: int = 9, **fields: Any) -> list[Error]:
        """OffsetCommit: the error of each partition."""
        offsets = dict.fromkeys(partitions or (("t1", 0),), 7)
        said = {"member_id": client, "generation_id": epoch, "offsets": offsets}
        return list(self.send(requests.commit, v, client, **said, **fields).partition_errors.values())

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


def identity(member_id: str, instance_id: str | None = None, reason: str | None = None) -> MemberIdentity:
    """A member in a LeaveGroup."""
    return MemberIdentity(member_id=member_id, group_instance_id=instance_id, reason=reason)
