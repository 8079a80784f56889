"""Heartbeat (key 12, v0-4): a member says that it is alive and learns whether it must join again.

v3 adds the instance id (KIP-345). The hot path of the coordinator: nothing here may look at other members.
Source: GroupMetadataManager.classicGroupHeartbeat; NONE in CompletingRebalance since KAFKA-10134.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.group import Group, GroupView
from rollcall.coordinator_udfs.protocol.membership import keep_alive, refusal_of_member
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import HeartbeatRequest, HeartbeatResponse


def heartbeat(group: Group, request: HeartbeatRequest, turn: Turn) -> None:
    """Answers NONE, or REBALANCE_IN_PROGRESS while members are awaited; either keeps the session alive.

    Errors in the order checked: INVALID_GROUP_ID, UNKNOWN_MEMBER_ID (unknown group), COORDINATOR_NOT_AVAILABLE (Dead),
    UNKNOWN_MEMBER_ID or FENCED_INSTANCE_ID, ILLEGAL_GENERATION.
    """
    error = error_of_heartbeat(group, request)
    if error is Error.NONE or error is Error.REBALANCE_IN_PROGRESS:
        keep_alive(group, group.members[request.member_id], turn)
    response = HeartbeatResponse(error_code=error)
    answer(request, "Heartbeat", error, response, turn, request.member_id, request.generation_id)


def error_of_heartbeat(group: GroupView, request: HeartbeatRequest) -> Error:
    """The error that a heartbeat is answered with; changes nothing."""
    if not request.group_id:
        return Error.INVALID_GROUP_ID
    if not group.is_known:
        return Error.UNKNOWN_MEMBER_ID
    if group.state == GroupState.DEAD:
        return Error.COORDINATOR_NOT_AVAILABLE
    refusal = refusal_of_member(group, request.member_id, request.group_instance_id)
    if refusal is not None:
        return refusal
    if request.generation_id != group.generation_id:
        return Error.ILLEGAL_GENERATION
    return Error.REBALANCE_IN_PROGRESS if group.state == GroupState.PREPARING_REBALANCE else Error.NONE
