"""The neighbours of a request that a broker worked on before it, although they arrived at about the same time or later.

A broker works on several requests at once. If a request does not fit as things stand, the fewest requests of the same
moment are looked for after which it fits. Knows the model and what is read ahead; changes neither.
"""

from __future__ import annotations

from math import inf

from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.states import GroupState
from request_log.explaining.context import member_id_of
from request_log.following.group_model import GroupModel
from request_log.following.upcoming import Upcoming
from request_log.recorded import LoggedRequest
from schemas.errors import Error
from schemas.messages import DescribeGroupsRequest, HeartbeatRequest, JoinGroupRequest, OffsetFetchRequest

MOST_NEIGHBOURS = 3
MOST_PATHS = 8
_READERS = (HeartbeatRequest, OffsetFetchRequest, DescribeGroupsRequest)


def path_to(
    model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, at_ms: int, near_ms: float, *, at_once: bool
) -> list[LoggedRequest] | None:
    """The fewest neighbours, at most a few, after which a request fits; None if there are none.

    near_ms: how much later than the request a neighbour may have arrived. at_once: the request must be answered then,
    and need not wait.
    """
    near = _near(model, upcoming, entry, near_ms)
    found: list[tuple[Group, list[LoggedRequest]]] = [(model.group, [])]
    for _ in range(MOST_NEIGHBOURS):
        longer = []
        for reached, path in found:
            for other in near:
                if other in path:
                    continue
                trial = model.try_request(other, at_ms, reached, path)
                if not trial.fits:
                    continue
                then = model.try_request(entry, at_ms, trial.group, [*path, other])
                if then.fits and (then.answers(entry.request.request_id) or not at_once):
                    return [*path, other]
                longer.append((trial.group, [*path, other]))
        found = longer[:MOST_PATHS]
    return None


def _near(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, near_ms: float) -> list[LoggedRequest]:
    """The neighbours that may change how a request is answered."""
    told = _told_to_rejoin(model, upcoming, entry)
    return [
        other
        for other in upcoming.near(entry, near_ms)
        if not isinstance(other.request, _READERS) and told.get(_joins_again(other), inf) >= other.began_ms
    ]


def _told_to_rejoin(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest) -> dict[str, float]:
    """By member, since when it knows of a rebalance: its JoinGroup after that did not set it off."""
    told: dict[str, float] = {}
    if model.group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        for other in (entry, *upcoming.in_order()):
            if other.recorded.error is Error.REBALANCE_IN_PROGRESS:
                told.setdefault(member_id_of(other.request), other.began_ms)
    return told


def _joins_again(entry: LoggedRequest) -> str:
    """The member whose JoinGroup this is; empty for other requests and for strangers."""
    return entry.request.member_id if isinstance(entry.request, JoinGroupRequest) else ""
