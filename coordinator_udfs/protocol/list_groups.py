"""ListGroups (key 16, v0-5): which groups there are, filtered by state and type.

Answered by whoever knows all groups, with one row each. Source: Group.isInStates, KIP-518.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from rollcall.coordinator_udfs.protocol.consumer.states import GroupType
from rollcall.schemas.messages import ListedGroup, ListGroupsRequest, ListGroupsResponse


class KnownGroup(NamedTuple):
    group_id: str
    protocol_type: str
    """Empty for none."""
    state: str
    group_type: str = GroupType.CLASSIC


def list_groups(
    groups: Iterable[tuple[str, str, str] | tuple[str, str, str, str] | KnownGroup], request: ListGroupsRequest
) -> ListGroupsResponse:
    """Filters ignore case, those of states also surrounding blanks; an unknown name matches no group."""
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.group_type,
            )
            for group in (KnownGroup(*known) for known in groups)
            if (not states or group.state.lower() in states) and (not types or group.group_type in types)
        ]
    )
