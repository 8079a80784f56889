"""The one place where tests build requests: short to write, whole to read.

A field that a version does not carry keeps its default, as with a client that speaks that version. Knows the shapes
and their versions; must not know a rule of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

import msgspec

from rollcall.schemas.consumer_protocol import (
    HIGHEST_VERSION,
    Assignment,
    Subscription,
    TopicPartition,
    encode_assignment,
    encode_subscription,
)
from rollcall.schemas.heartbeat_runs import RunPacker
from rollcall.schemas.messages import (
    ENVELOPE_FIELDS,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupTopicPartitions,
    HeartbeatRequest,
    HeartbeatRunRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    Request,
    Shape,
    SyncGroupAssignment,
    SyncGroupRequest,
)
from rollcall.schemas.wire_fields import REPLAY_FIELDS, carried_names

R = TypeVar("R", bound=Request)
Partitions = Mapping[str, Sequence[int]]


def subscription(*topics: str, owned: Iterable[tuple[str, int]] = (), version: int = HIGHEST_VERSION) -> bytes:
    """What a consumer subscribes to, as a JoinGroup has it."""
    owned_partitions = tuple(TopicPartition(*partition) for partition in owned)
    return encode_subscription(Subscription(topics, owned_partitions=owned_partitions), version)


def assignment(partitions: Iterable[tuple[str, int]], version: int = HIGHEST_VERSION) -> bytes:
    """What a consumer is given, as a SyncGroup has it."""
    return encode_assignment(Assignment(tuple(TopicPartition(*partition) for partition in partitions)), version)


def flat(owned: Partitions) -> list[TopicPartition]:
    """Partitions by topic, one by one."""
    return [TopicPartition(topic, number) for topic, numbers in owned.items() for number in numbers]


SUBSCRIPTION = subscription("t1", version=0)


def fitting(kind: type[R], api_version: int, **fields: Any) -> R:
    """A request of this version, with those of the fields that it carries."""
    return kind(api_version=api_version, **_carried(kind, api_version, {"request_id": "", **fields}))


def join(
    client: str = "",
    at_ms: int = 0,
    group: str = "orders",
    *,
    api_version: int = 3,
    protocols: Mapping[str, bytes] | Iterable[tuple[str, bytes]] | None = None,
    **more: Any,
) -> JoinGroupRequest:
    """A JoinGroup; as v3 a new member is one at once. protocols: metadata by name, in the order of preference."""
    fields: dict[str, Any] = {
        "request_id": f"join-{client}-{at_ms}",
        "client_id": client,
        "received_at_ms": at_ms,
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 30_000,
        "member_id": "",
        "protocol_type": "consumer",
        "protocols": protocol_list({"range": SUBSCRIPTION} if protocols is None else protocols),
    }
    return fitting(JoinGroupRequest, api_version, **{**fields, **more})


def protocol_list(protocols: Mapping[str, bytes] | Iterable[tuple[str, bytes]]) -> list[JoinGroupProtocol]:
    """A JoinGroup's protocols: metadata by name, or pairs where a name may come twice."""
    pairs = protocols.items() if isinstance(protocols, Mapping) else protocols
    return [JoinGroupProtocol(name=name, metadata=metadata) for name, metadata in pairs]


def sync(
    member_id: str,
    generation_id: int,
    at_ms: int = 0,
    group: str = "orders",
    *,
    api_version: int = 3,
    assigned: Mapping[str, bytes] | list[str] | None = None,
    **more: Any,
) -> SyncGroupRequest:
    """A SyncGroup. assigned: a leader's, its bytes by member id, or member ids that are assigned nothing."""
    plan = assigned if isinstance(assigned, Mapping) else dict.fromkeys(assigned or [], b"")
    fields: dict[str, Any] = {
        "request_id": f"sync-{member_id}-{at_ms}",
        "received_at_ms": at_ms,
        "group_id": group,
        "generation_id": generation_id,
        "member_id": member_id,
        "assignments": [SyncGroupAssignment(member_id=each, assignment=given) for each, given in plan.items()],
    }
    return fitting(SyncGroupRequest, api_version, **{**fields, **more})


def heartbeat(
    member_id: str, generation_id: int, at_ms: int = 0, group: str = "orders", *, api_version: int = 3, **more: Any
) -> HeartbeatRequest:
    """A Heartbeat."""
    fields: dict[str, Any] = {
        "request_id": f"beat-{member_id}-{at_ms}",
        "received_at_ms": at_ms,
        "group_id": group,
        "generation_id": generation_id,
        "member_id": member_id,
    }
    return fitting(HeartbeatRequest, api_version, **{**fields, **more})


def consumer_beat(
    member_id: str,
    member_epoch: int,
    at_ms: int,
    group: str = "orders",
    *,
    api_version: int = 1,
    topics: list[str] | None = None,
    owned: Mapping[str, list[int]] | None = None,
    **more: Any,
) -> ConsumerGroupHeartbeatRequest:
    """A ConsumerGroupHeartbeat; one that joins says all. owned: what it owns by topic, None where it does not say."""
    is_join = member_epoch == 0
    if is_join:
        topics, owned = ["t1"] if topics is None else topics, owned or {}
    fields: dict[str, Any] = {
        "request_id": f"beat-{member_id}-{at_ms}",
        "client_id": member_id,
        "received_at_ms": at_ms,
        "group_id": group,
        "member_id": member_id,
        "member_epoch": member_epoch,
        "rebalance_timeout_ms": 60_000 if is_join else -1,
        "subscribed_topic_names": topics,
        "topic_partitions": topic_partitions(owned),
    }
    return fitting(ConsumerGroupHeartbeatRequest, api_version, **{**fields, **more})


def topic_partitions(owned: Partitions | None) -> list[ConsumerGroupTopicPartitions] | None:
    """What a member says that it owns; None: it does not say."""
    if owned is None:
        return None
    return [ConsumerGroupTopicPartitions(topic_name=topic, partitions=list(ps)) for topic, ps in owned.items()]


def leave(
    member_id: str = "",
    at_ms: int = 0,
    group: str = "orders",
    *,
    api_version: int = 3,
    members: list[MemberIdentity] | None = None,
    **more: Any,
) -> LeaveGroupRequest:
    """A LeaveGroup of one member; members: of these instead."""
    named = [MemberIdentity(member_id=member_id)] if members is None else members
    fields: dict[str, Any] = {
        "request_id": f"leave-{member_id}-{at_ms}",
        "received_at_ms": at_ms,
        "group_id": group,
        "member_id": named[0].member_id if named else "",
        "members": [MemberIdentity(**_carried(MemberIdentity, api_version, msgspec.structs.asdict(n))) for n in named],
    }
    return fitting(LeaveGroupRequest, api_version, **{**fields, **more})


def commit(
    member_id: str,
    generation_id: int,
    offsets: Mapping[TopicPartition, int] | Mapping[tuple[str, int], int],
    *,
    group: str = "orders",
    api_version: int = 7,
    metadata: str | None = "",
    leader_epoch: int = -1,
    **more: Any,
) -> OffsetCommitRequest:
    """An OffsetCommit; from v10 on its topics are named by their ids, which are their names here."""
    topics: dict[str, list[OffsetCommitRequestPartition]] = {}
    for (topic, partition), offset in offsets.items():
        given = OffsetCommitRequestPartition(
            partition_index=partition,
            committed_offset=offset,
            committed_leader_epoch=leader_epoch,
            committed_metadata=metadata,
        )
        topics.setdefault(topic, []).append(given)
    named = [
        OffsetCommitRequestTopic(
            **_carried(OffsetCommitRequestTopic, api_version, {"name": topic, "topic_id": topic, "partitions": parts})
        )
        for topic, parts in topics.items()
    ]
    fields: dict[str, Any] = {
        "group_id": group,
        "generation_id_or_member_epoch": generation_id,
        "member_id": member_id,
        "topics": named,
    }
    return fitting(OffsetCommitRequest, api_version, **{**fields, **more})


def _carried(shape: type[Shape], api_version: int, fields: Mapping[str, Any]) -> dict[str, Any]:
    known = {name for name, _ in carried_names(shape, api_version)} | ENVELOPE_FIELDS | REPLAY_FIELDS
    stray = fields.keys() - set(shape.__struct_fields__)
    assert not stray, f"{shape.__name__} has no {sorted(stray)}"
    return {name: value for name, value in fields.items() if name in known}


def packed(beats: Sequence[HeartbeatRequest], request_id: str) -> HeartbeatRunRequest:
    """All these heartbeats, which must fit together, as one run."""
    packer = RunPacker(beats[0])
    for beat in beats[1:]:
        assert packer.takes(beat)
        packer.add(beat)
    return packer.run(request_id)
