"""ListGroups (key 16, v0-5): which groups there are, filtered by state and type.

Answered by whoever knows all groups, with one row each. Source: Group.isInStates, KIP-518.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.schemas.messages import ListedGroup, ListGroupsRequest, ListGroupsResponse


def list_groups(groups: Iterable[tuple[str, str, str, str]], request: ListGroupsRequest) -> ListGroupsResponse:
    """Filters ignore case, those of states also surrounding blanks; an unknown name matches no group.

    groups: of each its id, protocol type ("" for none), state and type.
    """
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state, group_type=kind)
            for group_id, protocol_type, state, kind in groups
            if (not states or state.lower() in states) and (not types or kind in types)
        ]
    )
