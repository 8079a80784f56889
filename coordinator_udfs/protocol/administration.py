"""DescribeGroups (key 15, v0-6) and DeleteGroups (key 42, v0-2): a classic group as an administrator sees and ends it.

DescribeGroups: v3 authorized operations, v4 instance ids, v6 an error for unknown groups. DeleteGroups removes an Empty
group of either kind, its offsets and the ids it has given out. Source: GroupMetadataManager.describeGroups,
GroupCoordinatorShard.deleteGroups, ClassicGroup.validateDeleteGroup.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.answers import answer
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.offset_expiry import remove_group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.coordinator_udfs.protocol.turn import Turn
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    DeletableGroupResult,
    DeleteGroupsRequest,
    DeleteGroupsResponse,
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from rollcall.schemas.wire_fields import first_version

NOT_FOUND_SINCE = first_version(DescribedGroup, "error_message")
ALL_GROUP_OPERATIONS = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS as Kafka's bit field, where no authorizer restricts them."""


def describe_groups(group: Group, request: DescribeGroupsRequest, turn: Turn) -> None:
    """One group: protocol and metadata are shown only when Stable, assignments always.

    An unknown group is Dead, without error up to v5, GROUP_ID_NOT_FOUND from v6; an error shows no operations. A group
    under the newer protocol is unknown to this API.
    """
    if group.is_known and group.consumer is None:
        described = _describe(group)
    else:
        described = DescribedGroup(group_id=group.group_id, group_state=GroupState.DEAD)
        if request.api_version >= NOT_FOUND_SINCE:
            described.error_code = Error.GROUP_ID_NOT_FOUND
            described.error_message = f"Group {group.group_id} not found."
    if request.include_authorized_operations and described.error_code is Error.NONE:
        described.authorized_operations = ALL_GROUP_OPERATIONS
    response = DescribeGroupsResponse(groups=[described])
    answer(request, "DescribeGroups", described.error_code, response, turn)


def _describe(group: Group) -> DescribedGroup:
    is_stable = group.state is GroupState.STABLE
    name = group.protocol_name or ""
    return DescribedGroup(
        group_id=group.group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=name if is_stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.protocols.get(name, b"") if is_stable else b"",
                member_assignment=member.assignment,
            )
            for member in group.members.values()
        ],
    )


def delete_groups(group: Group, request: DeleteGroupsRequest, turn: Turn) -> None:
    """One group. Errors in the order checked: GROUP_ID_NOT_FOUND (unknown or Dead), NON_EMPTY_GROUP."""
    if not group.is_known or group.state is GroupState.DEAD:
        error = Error.GROUP_ID_NOT_FOUND
    else:
        error = Error.NONE if group.is_empty else Error.NON_EMPTY_GROUP
    result = DeletableGroupResult(group_id=group.group_id, error_code=error)
    if error is Error.NONE:
        remove_group(group, "deleted", turn)
    answer(request, "DeleteGroups", error, DeleteGroupsResponse(results=[result]), turn)
