"""The answer to a request to a group at rest, if it is known before the coordinator takes the request.

The group is known from its facts (`known_groups`). The rules are the coordinator's own, which `heartbeat`, `join_group`
and `consumer.classic_members` apply to the group itself. None means that the answer is not known yet. Early answers are
NONE to a heartbeat or commit, and a new client's member id; only the coordinator refuses. Must not know a clock, a
table or other requests to the group, except JoinGroups.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection

from rollcall.coordinator_udfs.protocol.answers import join_refusal
from rollcall.coordinator_udfs.protocol.config import INT32_MAX, GroupConfig
from rollcall.coordinator_udfs.protocol.consumer.classic_members import refusal_of_classic_member
from rollcall.coordinator_udfs.protocol.consumer.offsets import is_at_its_epoch
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.coordinator_udfs.protocol.heartbeat import error_of_heartbeat
from rollcall.coordinator_udfs.protocol.join_group import (
    has_place,
    is_first_join,
    new_member_id,
    refusal_of_join_itself,
    supports,
)
from rollcall.coordinator_udfs.protocol.known_groups import KnownGroup
from rollcall.coordinator_udfs.protocol.offset_commit import error_of_commit, refusal_of_partition
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    GroupRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    JoinGroupResponse,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

OTHER_KIND = b""
"""In place of an offer: the request is of the newer protocol, so it makes another kind of group."""


def is_answered_none(group: KnownGroup | None, request: HeartbeatRequest) -> bool:
    """Whether a Heartbeat of a Stable group is answered NONE; False where that is not known.

    In a Stable consumer group every member has what the group's epoch gives it, and nobody must join again. No fact
    reports that a member of such a group takes another instance id.
    """
    if group is None or group.state != GroupState.STABLE:
        return False
    member = group.members.get(request.member_id)
    if member is None or member.session_timeout_ms < 0:
        return False
    match group.group_type:
        case GroupType.CLASSIC:
            return error_of_heartbeat(group, request) is Error.NONE
        case GroupType.CONSUMER if request.group_instance_id is None:
            epoch, is_classic = group.generation_id, member.is_classic
            return refusal_of_classic_member(group, request, is_classic=is_classic, member_epoch=epoch) is None
    return False


def commit_answer(
    group: KnownGroup | None, request: OffsetCommitRequest, config: GroupConfig
) -> OffsetCommitResponse | None:
    """The answer to a commit by a member of a Stable group that stores all of it.

    None where it is not known, as for a classic member of a consumer group. Whether the group has room for more offsets
    is not known here. An answer may be given once it is certain that the coordinator will take the commit at its
    moment.
    """
    if group is None or group.state != GroupState.STABLE or request.member_id not in group.members:
        return None
    match group.group_type:
        case GroupType.CLASSIC if error_of_commit(group, request) is None:
            pass
        case GroupType.CONSUMER if not group.members[request.member_id].is_classic and is_at_its_epoch(
            request, is_classic=False, member_epoch=group.generation_id
        ):
            pass
        case _:
            return None
    if any(refusal_of_partition(config, request, t, p) is not None for t in request.topics for p in t.partitions):
        return None
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[OffsetCommitResponsePartition(partition_index=p.partition_index) for p in topic.partitions],
            )
            for topic in request.topics
            if topic.partitions
        ]
    )


def first_join_answer(
    group: KnownGroup | None, request: JoinGroupRequest, offers: Collection[bytes], config: GroupConfig
) -> JoinGroupResponse | None:
    """MEMBER_ID_REQUIRED with the id that the coordinator gives; None where it may answer otherwise.

    offers: see `offer_of`, of the requests that are under way to the group. Whether the group has room for the bytes of
    another member is not known here: if not, it refuses the client's second JoinGroup.
    """
    if not is_first_join(request) or refusal_of_join_itself(request, config) is not None:
        return None
    if offers and (config.group_max_size < INT32_MAX or set(offers) != {offer_of(request)}):
        return None
    known = KnownGroup(request.group_id) if group is None else group
    if known.group_type is not GroupType.CLASSIC:
        return None
    if known.state not in (GroupState.EMPTY, GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        return None
    member_id = new_member_id(request)
    if not has_place(known, "", config.group_max_size) or not supports(known, request) or member_id in known.members:
        return None
    return join_refusal(request, Error.MEMBER_ID_REQUIRED, member_id)


def offer_of(request: GroupRequest) -> bytes | None:
    """A short hash of the protocols and type that a pending JoinGroup brings; equal for equal ones. None: the request
    makes nobody a member.
    """
    match request:
        case JoinGroupRequest():
            names = sorted({protocol.name for protocol in request.protocols})
            offer = repr((request.protocol_type, names)).encode("utf-8", "surrogatepass")
            return hashlib.blake2b(offer, digest_size=16).digest()
        case ConsumerGroupHeartbeatRequest() if request.member_epoch == JOIN:
            return OTHER_KIND
    return None
