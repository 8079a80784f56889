"""ListGroups (key 16, v0-5): which groups there are, filtered by state and type.

No single group answers this: whoever knows all groups asks with one row each. Source: Group.isInStates, KIP-518.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.messages import ListedGroup, ListGroupsRequest, ListGroupsResponse

CLASSIC = "classic"


def list_groups(groups: Iterable[tuple[str, str, str]], request: ListGroupsRequest) -> ListGroupsResponse:
    """groups: (group_id, protocol type or "", state). Filters ignore case, states blanks around them too."""
    states = {state.strip().lower() for state in request.states_filter}
    types = {kind.lower() for kind in request.types_filter}
    return ListGroupsResponse(
        groups=[
            ListedGroup(group_id=group_id, protocol_type=protocol_type, group_state=state, group_type=CLASSIC)
            for group_id, protocol_type, state in groups
            if (not states or state.lower() in states) and (not types or CLASSIC in types)
        ]
    )
