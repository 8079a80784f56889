"""What Java consumers of 0.9 to 0.11 print, without a prefix: `AbstractCoordinator` and `ConsumerCoordinator`.

Most lines name the group at their end; those of 0.9 about heartbeats name none.
"""

from __future__ import annotations

from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template

_UNKNOWN = "UNKNOWN_MEMBER_ID"
_OLD = "ILLEGAL_GENERATION"
_OF_0_9 = "Attempt to heart beat failed since "

BEFORE_1_0 = (
    Template(F.JOIN_SENT, "(Re-)joining group {group_id}", since="0.11"),
    Template(
        F.GROUP_IS_REBALANCING, "Attempt to heartbeat failed for group {group_id} since it is rebalancing", since="0.11"
    ),
    Template(F.JOINED, "Successfully joined group {group_id} with generation {generation_id}", since="0.11"),
    Template(F.PARTITIONS_ADDED, "Setting newly assigned partitions {partitions} for group {group_id}", since="0.10"),
    Template(
        F.PARTITIONS_REVOKED, "Revoking previously assigned partitions {partitions} for group {group_id}", since="0.10"
    ),
    Template(F.COMMIT_REFUSED, "Auto-commit of offsets {} failed for group {group_id}: {error}", since="0.11"),
    Template(F.COORDINATOR_FOUND, "Discovered coordinator {} for group {group_id}", since="0.10"),
    Template(F.COORDINATOR_LOST, "Marking the coordinator {} dead for group {group_id}", since="0.10"),
    Template(F.GROUP_IS_REBALANCING, _OF_0_9 + "the group is rebalancing, try to re-join group", since="0.9"),
    Template(F.MEMBERSHIP_LOST, _OF_0_9 + "generation id is not legal, try to re-join group", since="0.9", error=_OLD),
    Template(
        F.MEMBERSHIP_LOST,
        _OF_0_9 + "member id is not valid, reset it and try to re-join group",
        since="0.9",
        error=_UNKNOWN,
    ),
    Template(
        F.COORDINATOR_LOST,
        _OF_0_9 + "coordinator is either not started or not valid, marking it as dead",
        since="0.9",
        reason="NOT_COORDINATOR",
    ),
    Template(
        F.GROUP_IS_REBALANCING,
        "Attempt to heart beat failed for group {group_id} since it is rebalancing",
        since="0.10",
    ),
    *(
        Template(
            F.MEMBERSHIP_LOST, f"Attempt to {beat} failed for group {{group_id}} since {why}", since=since, error=error
        )
        for beat, since in (("heart beat", "0.10"), ("heartbeat", "0.11"))
        for why, error in (("generation id is not legal", _OLD), ("member id is not valid", _UNKNOWN))
    ),
    Template(
        F.JOIN_REFUSED, "Attempt to join group {group_id} failed due to {error}, resetting and retrying", since="0.9"
    ),
    Template(F.JOIN_REFUSED, "Attempt to join group {group_id} failed due to {error}, retrying", since="0.9"),
    Template(F.JOIN_REFUSED, "Attempt to join group {group_id} failed due to {error}", since="0.10"),
    Template(F.LEAVE_SENT, "Sending LeaveGroup request to coordinator {} for group {group_id}", since="0.11"),
    Template(F.COMMIT_REFUSED, "Error {error} occurred while committing offsets for group {group_id}", since="0.9"),
    Template(F.COMMIT_REFUSED, "Auto offset commit failed for group {group_id}: {error}", since="0.10"),
    Template(F.COMMIT_REFUSED, "Auto offset commit failed: {error}", since="0.9"),
)
