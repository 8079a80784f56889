"""What a client library did not say and the log shows, written into a request before it is tried: its cause.

Knows which requests may have one; the rules are `explaining.inferred_causes`'.
"""

from __future__ import annotations

from request_log.explaining.inferred_causes import (
    PartitionCounts,
    infer_cause_of_departing,
    infer_cause_of_leaving,
    infer_cause_of_rejoining,
    partition_counts,
)
from request_log.following.group_model import GroupModel
from request_log.following.upcoming import Upcoming
from request_log.recorded import LoggedRequest
from request_log.survey import Survey
from schemas.errors import Error
from schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)


def infer(model: GroupModel, upcoming: Upcoming, survey: Survey, known: PartitionCounts, entry: LoggedRequest) -> None:
    """Fills in a cause that the client did not give; keeps in `known` what later causes are inferred from."""
    request, error = entry.request, entry.recorded.error
    group = model.group
    match request:
        case LeaveGroupRequest():
            infer_cause_of_leaving(group, request, survey.came_back)
        case ConsumerGroupHeartbeatRequest():
            infer_cause_of_departing(group, request, survey.came_back)
        case JoinGroupRequest():
            infer_cause_of_rejoining(group, request, upcoming.in_order(), known)
            if error is Error.MEMBER_ID_REQUIRED and request.recorded_member_id:
                model.offered = {m: join for m, join in model.offered.items() if m in group.pending}
                model.offered[request.recorded_member_id] = request
        case SyncGroupRequest():
            seen = partition_counts(request) if error is Error.NONE else {}
            for topic, count in seen.items():
                known[topic] = max(count, known.get(topic, 0))
        case _:
            pass
