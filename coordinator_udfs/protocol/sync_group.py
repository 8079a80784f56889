"""SyncGroup (key 14, v0-5): members ask for their assignments; the leader sends everybody's.

v3 adds the instance id (KIP-345), v5 the protocol type and name, both mandatory (KIP-559).
Source: GroupMetadataManager.classicGroupSync, GroupCoordinatorService.syncGroup.
"""

from __future__ import annotations

from typing import assert_never

from rollcall.coordinator_udfs.protocol import history
from rollcall.coordinator_udfs.protocol.answers import park_sync, refuse_sync, send_sync
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.group_room import has_room_to_assign
from rollcall.coordinator_udfs.protocol.membership import refusal_of_member
from rollcall.coordinator_udfs.protocol.rebalance import assign_and_stabilize, note_synced, own_assignment
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import SyncGroupRequest
from rollcall.schemas.wire_fields import first_version

PROTOCOL_MANDATORY_SINCE = first_version(SyncGroupRequest, "protocol_name")


def sync_group(group: Group, request: SyncGroupRequest, turn: Turn) -> None:
    """Parks a SyncGroup until the leader's comes, or answers with the member's assignment.

    Errors in the order checked: INCONSISTENT_GROUP_PROTOCOL (v5 without type or name), INVALID_GROUP_ID,
    UNKNOWN_MEMBER_ID (unknown or Empty group), COORDINATOR_NOT_AVAILABLE (Dead), UNKNOWN_MEMBER_ID or
    FENCED_INSTANCE_ID, ILLEGAL_GENERATION, INCONSISTENT_GROUP_PROTOCOL, REBALANCE_IN_PROGRESS;
    UNKNOWN_SERVER_ERROR, as for a record too long for Kafka's topic: the leader's assignments have no room.
    """
    error = _refusal(group, request)
    if error is not None:
        return refuse_sync(request, error, turn)
    member = group.members[request.member_id]
    member.last_seen_at_ms = turn.now_ms
    brings_all = group.state is GroupState.COMPLETING_REBALANCE and group.leader_id == member.member_id
    if brings_all and not has_room_to_assign(group, request, turn.config):
        return refuse_sync(request, Error.UNKNOWN_SERVER_ERROR, turn)
    match group.state:
        case GroupState.PREPARING_REBALANCE:
            return refuse_sync(request, Error.REBALANCE_IN_PROGRESS, turn)
        case GroupState.COMPLETING_REBALANCE:
            history.sync_received(group, member, turn)
            park_sync(group, member, request, turn)
            note_synced(group, member.member_id)
            if brings_all:
                assign_and_stabilize(group, {a.member_id: a.assignment for a in request.assignments}, turn)
            return None
        case GroupState.EMPTY | GroupState.DEAD:
            raise AssertionError(f"a member of a group in {group.state} is refused above")
        case GroupState.STABLE:
            if member.member_id in group.pending_sync:
                history.sync_received(group, member, turn)
            note_synced(group, member.member_id)
            response = own_assignment(group, member)
            return send_sync(request, member.member_id, request.client_id, group.generation_id, response, turn)
        case _:
            assert_never(group.state)


def _refusal(group: Group, request: SyncGroupRequest) -> Error | None:
    lacks_protocol = request.protocol_type is None or request.protocol_name is None
    if request.api_version >= PROTOCOL_MANDATORY_SINCE and lacks_protocol:
        return Error.INCONSISTENT_GROUP_PROTOCOL
    if not request.group_id:
        return Error.INVALID_GROUP_ID
    if not group.is_known or group.state is GroupState.EMPTY:
        return Error.UNKNOWN_MEMBER_ID
    if group.state is GroupState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    refusal = refusal_of_member(group, request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if request.generation_id != group.generation_id:
        return Error.ILLEGAL_GENERATION
    if _differs(request.protocol_type, group.protocol_type) or _differs(request.protocol_name, group.protocol_name):
        return Error.INCONSISTENT_GROUP_PROTOCOL
    return None


def _differs(asked: str | None, current: str | None) -> bool:
    return asked is not None and current is not None and asked != current
