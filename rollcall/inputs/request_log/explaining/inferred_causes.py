"""Causes that a client library did not give, inferred from later lines. A leave without a reason is a poll timeout if
the process joined again, as a new member, on the same connection. A process that closed its consumer does not come
back. A restarted one has a new connection. One that changes its subscription joins again at once. A rejoin without a
reason is due to changed metadata if the next assignment has partitions that no earlier one had. In all other cases
nothing is inferred. Knows the content of lines; decides no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from math import inf

from rollcall.coordinator_udfs.protocol.claims import CONSUMER, owned
from rollcall.coordinator_udfs.protocol.consumer.refusals import LEAVE
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.coordinator_udfs.protocol.history import gave_partitions_up
from rollcall.coordinator_udfs.protocol.leave_group import MEMBERS_SINCE
from rollcall.inputs.request_log.recorded import LoggedRequest
from rollcall.schemas.causes import CauseKind
from rollcall.schemas.errors import Error
from rollcall.schemas.messages import (
    ConsumerGroupHeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    MemberIdentity,
    SyncGroupRequest,
)

SHARE_OF_POLL_INTERVAL = 0.7
"""A member that left for a slow application had joined at least this share of its rebalance timeout (mostly its
max.poll.interval.ms) earlier."""

PartitionCounts = dict[str, int]
"""By topic, how many partitions assignments have shown: the highest number plus one."""


def infer_cause_of_leaving(group: Group, request: LeaveGroupRequest, came_back: Set[str]) -> None:
    """A poll timeout needs the process to come back, and a membership of about max.poll.interval.ms at least.

    came_back: the ids of LeaveGroups after which the same process joined again, see `survey`.
    """
    if request.request_id not in came_back:
        return
    identities: Sequence[MemberIdentity | LeaveGroupRequest] = [request]
    if request.api_version >= MEMBERS_SINCE:
        identities = request.members
    for identity in identities:
        member = group.members.get(identity.member_id)
        if member is None or getattr(identity, "reason", None):
            continue
        if request.received_at_ms - member.joined_at_ms >= member.rebalance_timeout_ms * SHARE_OF_POLL_INTERVAL:
            identity.inferred_cause = CauseKind.POLL_TIMEOUT.value


def infer_cause_of_departing(
    group: Group, request: ConsumerGroupHeartbeatRequest, came_back: Set[str], found: Set[str]
) -> None:
    """The same for a member of a consumer group, which comes back under the same id. found: members of a group older
    than its log that no line shows joining; how long they were members is not known. The epoch at which a member left
    that had not reached the last one is inferred there.
    """
    member = None if group.consumer is None else group.consumer.members.get(request.member_id)
    if member is None or request.member_epoch != LEAVE:
        return
    joined_ms = -inf if request.member_id in found else member.joined_at_ms
    is_late = request.received_at_ms - joined_ms >= member.rebalance_timeout_ms * SHARE_OF_POLL_INTERVAL
    if is_late and request.request_id in came_back:
        request.inferred_cause = CauseKind.POLL_TIMEOUT.value
    elif found and member.member_epoch != group.generation_id:
        request.inferred_cause = CauseKind.MEMBER_LEFT.value


def infer_cause_of_rejoining(
    group: Group, request: JoinGroupRequest, upcoming: Iterable[LoggedRequest], known: PartitionCounts
) -> None:
    """known: what assignments up to now have shown."""
    member = group.members.get(request.member_id)
    if request.reason or member is None or not group.can_rebalance or not known:
        return
    if group.protocol_type != CONSUMER or gave_partitions_up(group, member):
        return
    for entry in upcoming:
        later = entry.request
        if isinstance(later, SyncGroupRequest) and later.assignments and entry.recorded.error is Error.NONE:
            if any(count > known.get(topic, count) for topic, count in partition_counts(later).items()):
                request.inferred_cause = CauseKind.METADATA_CHANGED.value
            return


def partition_counts(request: SyncGroupRequest) -> PartitionCounts:
    """The partition counts that a leader's assignments show."""
    return counts_in(assigned.assignment for assigned in request.assignments)


def counts_in(assignments: Iterable[bytes]) -> PartitionCounts:
    """The partition counts that members' assignments show."""
    counts: PartitionCounts = {}
    for assignment in assignments:
        for each in owned(CONSUMER, b"", assignment) or ():
            counts[each.topic] = max(counts.get(each.topic, 0), *(number + 1 for number in each.partitions))
    return counts
