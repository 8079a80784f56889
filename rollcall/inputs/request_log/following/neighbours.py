"""The neighbours of a request that a broker worked on before it, although they arrived at about the same time or later.

A broker works on several requests at once. If a request does not fit the model, this looks for the fewest requests of
the same moment after which it fits. Knows the model and what is read ahead; changes neither.
"""

from __future__ import annotations

from math import inf

from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.states import GroupState
from rollcall.inputs.request_log.explaining.context import member_id_of
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import READERS, ConsumerGroupHeartbeatRequest, JoinGroupRequest

MOST_NEIGHBOURS = 3
MOST_PATHS = 8


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


def first_to_lead(group: Group, upcoming: Upcoming, entry: LoggedRequest, near_ms: float) -> LoggedRequest | None:
    """The first to join an Empty group leads it, so the leader of its next generation joined before this JoinGroup."""
    request = entry.request
    if not isinstance(request, JoinGroupRequest) or group.members or request.recorded_leader_id is None:
        return None
    leader_id = request.recorded_leader_id
    if leader_id in (request.member_id, request.recorded_member_id):
        return None
    for other in upcoming.near(entry, near_ms):
        join = other.request
        if isinstance(join, JoinGroupRequest) and leader_id in (join.member_id, join.recorded_member_id):
            return other if join.recorded_leader_id == leader_id else None
    return None


def first_to_be_assigned(upcoming: Upcoming, entry: LoggedRequest, near_ms: float) -> LoggedRequest | None:
    """The first to join an Empty consumer group gets all partitions. One that joins before the next assignment gets the
    same epoch and no partitions. So of joins with the same epoch the one with partitions came first.
    """
    if not _joins_consumers(entry) or is_assigned(entry):
        return None
    for other in upcoming.near(entry, near_ms):
        is_same = _joins_consumers(other) and other.recorded.wire.member_epoch == entry.recorded.wire.member_epoch
        if is_same and is_assigned(other):
            return other
    return None


def is_refused_join(entry: LoggedRequest) -> bool:
    """A refused client is not a member, whatever unseen state of the group explains it."""
    request = entry.request
    is_join = isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == JOIN
    return is_join and entry.recorded.error is not Error.NONE


def _joins_consumers(entry: LoggedRequest) -> bool:
    request = entry.request
    is_join = isinstance(request, ConsumerGroupHeartbeatRequest) and request.member_epoch == JOIN
    return is_join and entry.recorded.error is Error.NONE


def is_assigned(entry: LoggedRequest) -> bool:
    """Whether the answer to a heartbeat of a consumer group has partitions."""
    assignment = entry.recorded.wire.assignment
    return assignment is not None and bool(assignment.topic_partitions)


def _near(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest, near_ms: float) -> list[LoggedRequest]:
    """The neighbours that may change how a request is answered."""
    asked = _asked_to_rejoin(model, upcoming, entry)
    return [
        other
        for other in upcoming.near(entry, near_ms)
        if not isinstance(other.request, READERS) and asked.get(_joins_again(other), inf) >= other.began_ms
    ]


def _asked_to_rejoin(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest) -> dict[str, float]:
    """By member, since when it knows of a rebalance: its JoinGroup after that did not set it off."""
    asked: dict[str, float] = {}
    if model.group.state in (GroupState.STABLE, GroupState.COMPLETING_REBALANCE):
        for other in (entry, *upcoming.in_order()):
            if other.recorded.error is Error.REBALANCE_IN_PROGRESS:
                asked.setdefault(member_id_of(other.request), other.began_ms)
    return asked


def _joins_again(entry: LoggedRequest) -> str:
    """The member whose JoinGroup this is; empty for other requests and unknown clients."""
    return entry.request.member_id if isinstance(entry.request, JoinGroupRequest) else ""
