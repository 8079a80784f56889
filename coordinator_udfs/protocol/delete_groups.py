"""DeleteGroups (key 42, v0-2): removes an Empty group, its offsets and the ids it has given out.

Source: GroupCoordinatorShard.deleteGroups, ClassicGroup.validateDeleteGroup.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.offset_expiry import remove_group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import DeletableGroupResult, DeleteGroupsRequest, DeleteGroupsResponse


def delete_groups(group: Group, request: DeleteGroupsRequest, turn: Turn) -> None:
    """One group. Errors in the order checked: GROUP_ID_NOT_FOUND (unknown or Dead), NON_EMPTY_GROUP."""
    error = _refusal(group)
    result = DeletableGroupResult(group_id=group.group_id, error_code=error)
    if error is Error.NONE:
        remove_group(group, "deleted", turn)
    answer(request, "DeleteGroups", error, DeleteGroupsResponse(results=[result]), turn)


def _refusal(group: Group) -> Error:
    if not group.is_known or group.state is GroupState.DEAD:
        return Error.GROUP_ID_NOT_FOUND
    return Error.NONE if group.is_empty else Error.NON_EMPTY_GROUP
