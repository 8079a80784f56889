"""The requests of a member, each with the fields its version carries.

Knows what a version can say; knows nothing of when it is said. The envelope holds only what a client knows: host,
connection and time of arrival are the network's.
"""

from __future__ import annotations

from rollcall.answers.clients.config import ConsumerConfig
from rollcall.answers.clients.events import MemberRequest, Send
from rollcall.answers.clients.membership import Commit, InFlight, Membership, Turn, sorted_partitions
from rollcall.answers.clients.reactions import cut
from rollcall.schemas.consumer_protocol import NO_GENERATION, Subscription, encode_subscription
from rollcall.schemas.messages import (
    FindCoordinatorRequest,
    HeartbeatRequest,
    JoinGroupProtocol,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    SyncGroupAssignment,
    SyncGroupRequest,
)
from rollcall.schemas.wire_fields import carries

PROTOCOL_TYPE = "consumer"
_LOOK_VERSION = 6


def send_find_coordinator(member: Membership, turn: Turn) -> None:
    request = find_coordinator(member.config, member.next_request_id())
    _send(member, request, member.config.request_timeout_ms, turn)


def find_coordinator(config: ConsumerConfig, request_id: str) -> FindCoordinatorRequest:
    """Asks for the coordinator of one group, in a version that names groups in a list."""
    return FindCoordinatorRequest(
        request_id=request_id,
        api_version=_LOOK_VERSION,
        client_id=config.client_id,
        key="",
        coordinator_keys=[config.group_id],
    )


def send_join_group(member: Membership, turn: Turn) -> None:
    config, version = member.config, member.config.api_versions.join_group
    has_rebalance_timeout = carries(JoinGroupRequest, "rebalance_timeout_ms", version)
    request = JoinGroupRequest(
        request_id=member.next_request_id(),
        api_version=version,
        client_id=config.client_id,
        group_id=config.group_id,
        session_timeout_ms=config.session_timeout_ms,
        rebalance_timeout_ms=config.join_rebalance_timeout_ms if has_rebalance_timeout else -1,
        member_id=member.generation.member_id,
        group_instance_id=config.group_instance_id,
        protocol_type=PROTOCOL_TYPE,
        protocols=[JoinGroupProtocol(name=name, metadata=_metadata(member, name)) for name in member.assignors],
        reason=_reason(member.rejoin.reason, JoinGroupRequest, version),
    )
    _send(member, request, config.join_request_timeout_ms, turn)


def _metadata(member: Membership, assignor_name: str) -> bytes:
    """The subscription with one assignor's user data: its last assignment; and the partitions owned now."""
    wanted = member.subscription
    last = wanted.last_assignments.get(assignor_name)
    subscription = Subscription(
        topics=tuple(sorted(wanted.topics or ())),
        user_data=member.assignors[assignor_name].subscription_user_data(
            None if last is None else last.partitions, NO_GENERATION if last is None else last.generation_id
        ),
        owned_partitions=sorted_partitions(wanted.owned),
        generation_id=member.generation.generation_id,
    )
    return encode_subscription(subscription, member.config.consumer_protocol_version)


def send_sync_group(member: Membership, assignments: list[SyncGroupAssignment], turn: Turn) -> None:
    """Sends a SyncGroup. assignments: those that a leader made; empty for a follower."""
    config, version = member.config, member.config.api_versions.sync_group
    names_protocol = carries(SyncGroupRequest, "protocol_name", version)
    request = SyncGroupRequest(
        request_id=member.next_request_id(),
        api_version=version,
        client_id=config.client_id,
        group_id=config.group_id,
        generation_id=member.generation.generation_id,
        member_id=member.generation.member_id,
        group_instance_id=_instance_id(member, SyncGroupRequest, version),
        protocol_type=PROTOCOL_TYPE if names_protocol else None,
        protocol_name=member.generation.protocol_name if names_protocol else None,
        assignments=assignments,
    )
    _send(member, request, config.request_timeout_ms, turn)


def send_heartbeat(member: Membership, turn: Turn) -> None:
    config, version = member.config, member.config.api_versions.heartbeat
    request = HeartbeatRequest(
        request_id=member.next_request_id(),
        api_version=version,
        client_id=config.client_id,
        group_id=config.group_id,
        generation_id=member.generation.generation_id,
        member_id=member.generation.member_id,
        group_instance_id=_instance_id(member, HeartbeatRequest, version),
    )
    _send(member, request, config.request_timeout_ms, turn)


def send_leave_group(member: Membership, reason: str, turn: Turn) -> None:
    config, version = member.config, member.config.api_versions.leave_group
    names_members, member_id = carries(LeaveGroupRequest, "members", version), member.generation.member_id
    identity = MemberIdentity(member_id=member_id, reason=_reason(reason, MemberIdentity, version))
    request = LeaveGroupRequest(
        request_id=member.next_request_id(),
        api_version=version,
        client_id=config.client_id,
        group_id=config.group_id,
        member_id="" if names_members else member_id,
        members=[identity] if names_members else [],
    )
    _send(member, request, config.request_timeout_ms, turn)


def send_offset_commit(member: Membership, commit: Commit, turn: Turn) -> None:
    config, version = member.config, member.config.api_versions.offset_commit
    request = OffsetCommitRequest(
        request_id=member.next_request_id(),
        api_version=version,
        client_id=config.client_id,
        group_id=config.group_id,
        generation_id_or_member_epoch=member.generation.generation_id,
        member_id=member.generation.member_id,
        group_instance_id=_instance_id(member, OffsetCommitRequest, version),
        topics=[
            OffsetCommitRequestTopic(name=topic, partitions=_committed(commit, topic))
            for topic in sorted({partition.topic for partition in commit.offsets})
        ],
    )
    _send(member, request, config.request_timeout_ms, turn, commit.commit_id)


def _reason(text: str, shape: type[JoinGroupRequest | MemberIdentity], version: int) -> str | None:
    """The reason to send, where this version carries one."""
    return cut(text) if carries(shape, "reason", version) else None


def _instance_id(member: Membership, request: type[MemberRequest], version: int) -> str | None:
    """The member's group.instance.id, where this version of a request carries one."""
    return member.config.group_instance_id if carries(request, "group_instance_id", version) else None


def _committed(commit: Commit, topic: str) -> list[OffsetCommitRequestPartition]:
    return [
        OffsetCommitRequestPartition(
            partition_index=partition.partition, committed_offset=commit.offsets[partition], committed_metadata=""
        )
        for partition in sorted(commit.offsets)
        if partition.topic == topic
    ]


def _send(
    member: Membership,
    request: MemberRequest,
    timeout_ms: int,
    turn: Turn,
    commit_id: int | None = None,
) -> None:
    deadline_ms = turn.now_ms + timeout_ms
    member.in_flight[request.request_id] = InFlight(request, member.generation, deadline_ms, commit_id)
    turn.emit(Send(request, deadline_ms))
