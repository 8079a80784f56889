"""Writes a cause that the client library did not give, and the log shows, into a request before it is tried. Knows
which requests may have one; the rules are in `explaining.inferred_causes`.
"""

from __future__ import annotations

from rollcall.coordinator_udfs.protocol.consumer.group import FIRST_EPOCH
from rollcall.coordinator_udfs.protocol.consumer.refusals import JOIN
from rollcall.inputs.request_log.explaining.inferred_causes import (
    PartitionCounts,
    infer_cause_of_departing,
    infer_cause_of_leaving,
    infer_cause_of_rejoining,
    partition_counts,
)
from rollcall.inputs.request_log.following.group_model import GroupModel
from rollcall.inputs.request_log.following.group_sessions import has_silent
from rollcall.inputs.request_log.following.neighbours import is_assigned
from rollcall.inputs.request_log.following.session_proofs import answered_epoch_of, are_epochs_brought, is_epoch_reached
from rollcall.inputs.request_log.following.upcoming import Upcoming
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.inputs.request_log.survey import Survey
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    SyncGroupRequest,
)


def infer_unproven(model: GroupModel, entry: LoggedRequest) -> None:
    """Nothing explains the recorded answer: the cause of what the request sets off in a consumer group is unknown.

    But a newcomer raises the epoch by one: in a new group, in one whose members are all known, or as the answer shows.
    """
    request, group = entry.request, model.group
    if isinstance(request, ConsumerGroupHeartbeatRequest):
        members = () if group.consumer is None else group.consumer.members
        is_new = (
            request.member_epoch == JOIN and entry.recorded.error is Error.NONE and request.member_id not in members
        )
        shows_it = not model.is_older_than_log or entry.recorded.wire.member_epoch == group.generation_id + 1
        is_known = shows_it if group.is_known else entry.recorded.wire.member_epoch <= FIRST_EPOCH + 1
        kind = CauseKind.MEMBER_JOINED if is_new and is_known else CauseKind.UNKNOWN
        request.inferred_cause = request.inferred_cause or kind.value
    elif isinstance(request, JoinGroupRequest) and group.consumer is not None:
        request.inferred_cause = "member_joined"


def _infer_of_epoch(model: GroupModel, upcoming: Upcoming, entry: LoggedRequest) -> None:
    """What raises the epoch of a consumer group is its cause, but only inferred where that may be another epoch's."""
    request, consumer = entry.request, model.group.consumer
    if consumer is None or entry.recorded.error is not Error.NONE:
        return
    match request:
        case ConsumerGroupHeartbeatRequest(member_epoch=0, instance_id=None) | JoinGroupRequest(group_instance_id=None):
            if request.member_id in consumer.members:
                return
            kind = CauseKind.MEMBER_JOINED
        case ConsumerGroupHeartbeatRequest(member_epoch=-1):
            kind = CauseKind.MEMBER_LEFT
        case ConsumerGroupHeartbeatRequest(subscribed_topic_names=None, subscribed_topic_regex=None):
            # Its topics have changed. Where an earlier epoch is not explained, that may be the one that they brought.
            if model.is_elsewhere and answered_epoch_of(entry) > model.group.generation_id:
                request.inferred_cause = CauseKind.METADATA_CHANGED.value
            return
        case _:
            return
    # More epochs than lines bring are those of a group that was elsewhere than its lines tell, or of a session's end.
    is_at_it = are_epochs_brought(model, upcoming.in_order(), entry) or not (
        model.is_elsewhere or has_silent(model, upcoming, entry)
    )
    if not (is_at_it and is_epoch_reached(model, entry)):
        request.inferred_cause = request.inferred_cause or kind.value


def infer(model: GroupModel, upcoming: Upcoming, survey: Survey, known: PartitionCounts, entry: LoggedRequest) -> None:
    """Fills in a cause that the client did not give; keeps the evidence for later causes in `known`."""
    request, error = entry.request, entry.recorded.error
    group = model.group
    _infer_of_epoch(model, upcoming, entry)
    match request:
        case LeaveGroupRequest():
            infer_cause_of_leaving(group, request, survey.came_back)
        case ConsumerGroupHeartbeatRequest():
            if request.member_epoch == JOIN:
                model.found.discard(request.member_id)
                if not group.is_known and error is Error.NONE and not is_assigned(entry):
                    # The first member to join gets partitions: a member that gets none may have found others there.
                    request.inferred_cause = CauseKind.MEMBER_JOINED.value
            found = model.found if model.is_older_than_log else set()
            infer_cause_of_departing(group, request, survey.came_back, found)
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
