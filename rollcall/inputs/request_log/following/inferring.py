"""Writes a cause that the client library did not give, and the log shows, into a request before it is tried. Knows
which requests may have one; the rules are in `explaining.inferred_causes`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rollcall.coordinator_udfs.protocol.consumer.group import FIRST_EPOCH
from rollcall.coordinator_udfs.protocol.consumer.refusals import LEAVE
from rollcall.inputs.request_log.explaining.inferred_causes import (
    PartitionCounts,
    infer_cause_of_departing,
    infer_cause_of_leaving,
    infer_cause_of_rejoining,
    partition_counts,
)
from rollcall.inputs.request_log.following.group_sessions import Sessions
from rollcall.inputs.request_log.following.session_proofs import are_epochs_brought, is_epoch_reached
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


@dataclass(slots=True)
class Causes:
    """The causes of one group's requests."""

    sessions: Sessions
    survey: Survey
    partition_counts: PartitionCounts = field(default_factory=dict)
    """What assignments up to now have shown."""

    def infer(self, entry: LoggedRequest) -> None:
        """Fills in a cause that the client did not give; keeps the evidence for later causes."""
        request, error, model = entry.request, entry.recorded.error, self.sessions.model
        group, came_back = model.group, self.survey.came_back
        self._infer_of_epoch(entry)
        match request:
            case LeaveGroupRequest():
                infer_cause_of_leaving(group, request, came_back)
            case ConsumerGroupHeartbeatRequest():
                if entry.joins_consumers:
                    model.found.discard(request.member_id)
                    if not group.is_known and error is Error.NONE and not entry.is_assigned:
                        # The first member to join gets partitions: one that gets none may have found others there.
                        request.inferred_cause = CauseKind.MEMBER_JOINED.value
                found = model.found if model.is_older_than_log else set()
                infer_cause_of_departing(group, request, came_back, found)
            case JoinGroupRequest():
                infer_cause_of_rejoining(group, request, self.sessions.order.in_order(), self.partition_counts)
                if error is Error.MEMBER_ID_REQUIRED and request.recorded_member_id:
                    model.offered = {m: join for m, join in model.offered.items() if m in group.pending}
                    model.offered[request.recorded_member_id] = request
            case SyncGroupRequest() if error is Error.NONE:
                for topic, count in partition_counts(request).items():
                    self.partition_counts[topic] = max(count, self.partition_counts.get(topic, 0))
            case _:
                pass

    def infer_unproven(self, entry: LoggedRequest) -> None:
        """Nothing explains the recorded answer: the cause of what the request sets off in a consumer group is unknown.

        But a newcomer raises the epoch by one: in a new group, in one whose members are all known, or as the answer
        shows.
        """
        request, model = entry.request, self.sessions.model
        group, consumer = model.group, model.group.consumer
        if isinstance(request, ConsumerGroupHeartbeatRequest):
            is_new = entry.joins_consumers and entry.recorded.error is Error.NONE
            is_new = is_new and (consumer is None or request.member_id not in consumer.members)
            shows_it = not model.is_older_than_log or entry.recorded.wire.member_epoch == group.generation_id + 1
            is_known = shows_it if group.is_known else entry.recorded.wire.member_epoch <= FIRST_EPOCH + 1
            kind = CauseKind.MEMBER_JOINED if is_new and is_known else CauseKind.UNKNOWN
            request.inferred_cause = request.inferred_cause or kind.value
        elif isinstance(request, JoinGroupRequest) and consumer is not None:
            request.inferred_cause = "member_joined"

    def _infer_of_epoch(self, entry: LoggedRequest) -> None:
        """What raises the epoch of a consumer group is its cause, but only inferred where that may be another
        epoch's.
        """
        request, model = entry.request, self.sessions.model
        consumer, kind = model.group.consumer, None
        if consumer is None or entry.recorded.error is not Error.NONE:
            return
        match request:
            case (
                ConsumerGroupHeartbeatRequest(member_epoch=0, instance_id=None)
                | JoinGroupRequest(group_instance_id=None)
            ):
                kind = CauseKind.MEMBER_JOINED if request.member_id not in consumer.members else None
            case ConsumerGroupHeartbeatRequest(member_epoch=epoch) if epoch == LEAVE:
                kind = CauseKind.MEMBER_LEFT
            case ConsumerGroupHeartbeatRequest(subscribed_topic_names=None, subscribed_topic_regex=None):
                # Its topics have changed. Where an earlier epoch is not explained, that may be the one they brought.
                if model.is_elsewhere and entry.answered_epoch > model.group.generation_id:
                    request.inferred_cause = CauseKind.METADATA_CHANGED.value
            case _:
                pass
        if kind is None:
            return
        assert isinstance(request, ConsumerGroupHeartbeatRequest | JoinGroupRequest)
        # More epochs than lines bring come from a group that was elsewhere than its lines show, or a session's end.
        is_at_it = are_epochs_brought(model.group, self.sessions.order.in_order()) or not (
            model.is_elsewhere or self.sessions.has_silent(entry)
        )
        if not (is_at_it and is_epoch_reached(model.group, entry)):
            request.inferred_cause = request.inferred_cause or kind.value
