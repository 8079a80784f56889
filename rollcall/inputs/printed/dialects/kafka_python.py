"""What kafka-python prints: `kafka/coordinator/base.py`, `consumer.py` and `heartbeat.py` of 1.0 to 3.0.

Its loggers have names that no broker has. Where a layout leaves them out, only what no other client prints is believed.
No line has a client id; a group stands in most, a member id since 2.2.10.
"""

from __future__ import annotations

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.python_clients import (
    IN_BOTH,
    OLD_GENERATION,
    UNKNOWN_MEMBER,
    python_heading,
    without_logger,
)
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_LOGGERS = frozenset(
    (
        "kafka.coordinator",
        "kafka.coordinator.base",
        "kafka.coordinator.consumer",
        "kafka.coordinator.heartbeat",
        "kafka.consumer.group",
        "kafka.consumer.subscription_state",
        "kafka.cluster",
    )
)

_UNMISTAKABLE = (
    Template(
        F.JOINED,
        "Successfully joined group {group_id} <Generation {generation_id} (member_id: {member_id}, protocol: {})>",
    ),
    Template(F.POLL_TIMEOUT, "Heartbeat poll expired, leaving group", since="1.4"),
    Template(
        F.POLL_TIMEOUT,
        "Consumer poll timeout has expired. This means the time between subsequent calls to poll() was longer than the "
        "configured max_poll_interval_ms, {}",
        since="2.2.10",
    ),
    Template(F.LEAVE_SENT, "Leaving consumer group {group_id} (member {member_id})", since="2.2.10"),
    Template(F.LEAVE_SENT, "Leaving consumer group ({group_id})", since="1.3"),
    Template(
        F.PARTITIONS_REVOKED,
        "Revoking previously assigned partitions {partitions} for group {group_id} on close",
        since="3.0",
        reason="closed",
    ),
    Template(F.PARTITIONS_LOST, "Group {group_id} lost membership; forcibly revoking {partitions}", since="2.2.10"),
    Template(F.HEARTBEATS_UNANSWERED, "Heartbeat session expired, marking coordinator dead", since="1.4"),
    Template(
        F.MEMBERSHIP_LOST,
        "Heartbeat: local member_id was not recognized; this consumer needs to re-join",
        since="1.3",
        error=UNKNOWN_MEMBER,
    ),
    Template(
        F.COORDINATOR_LOST,
        "Marking the coordinator dead (node coordinator-{broker_id}) for group {group_id}: Heartbeat session expired",
        since="1.4",
        reason="Heartbeat session expired",
    ),
    Template(
        F.COORDINATOR_LOST,
        "Marking the coordinator dead (node {broker_id}) for group {group_id}: Heartbeat session expired",
        since="1.4",
        reason="Heartbeat session expired",
    ),
    Template(
        F.COORDINATOR_LOST, "Marking the coordinator dead (node coordinator-{broker_id}) for group {}", since="1.4"
    ),
    Template(F.COORDINATOR_LOST, "Marking the coordinator dead (node {broker_id}) for group {}", since="1.3"),
    Template(
        F.COMMIT_REFUSED,
        "Group {group_id} failed to commit partition {partitions} at offset {number}: {error}",
        since="1.3",
    ),
    Template(
        F.COMMIT_REFUSED,
        "OffsetCommit failed for group {group_id} due to group error ({error} - {number} - {}), will rejoin",
        since="1.0",
    ),
)
"""What no other client prints in these words."""
_JOINS = (
    Template(F.JOINED, "Successfully joined group {group_id} with generation {generation_id}", since="1.3"),
    Template(F.GROUP_IS_REBALANCING, "Group {group_id} is rebalancing; rejoining", since="3.0"),
    Template(F.REJOIN_WANTED, "Triggering follow-up rebalance for group {group_id} to {reason}", since="3.0"),
    Template(
        F.INSTANCE_FENCED,
        "Attempt to join group {group_id} failed due to fatal error: FencedInstanceIdError",
        since="3.0",
    ),
    Template(
        F.INSTANCE_FENCED, "SyncGroup for group {group_id} failed due to fenced id error: {instance_id}", since="3.0"
    ),
    Template(
        F.INSTANCE_FENCED, "Heartbeat failed for group {group_id} due to fenced id error: {instance_id}", since="3.0"
    ),
    Template(F.JOIN_REFUSED, "Attempt to join group {group_id} failed due to {error}", since="1.3"),
    Template(
        F.JOIN_REFUSED,
        "Attempt to join group {group_id} rejected since coordinator {} is loading the group",
        since="1.3",
        error="the coordinator is loading the group",
    ),
    Template(F.SYNC_REFUSED, "SyncGroup for group {group_id} failed due to {error}", since="1.3"),
)
_PARTITIONS = (
    Template(F.PARTITIONS_ADDED, "Updated partition assignment: [TopicPartition({partitions})]", since="1.3"),
    Template(
        F.PARTITIONS_ADDED,
        "Cooperative rebalance complete for group {group_id}: owned={}, assigned={partitions}, revoked={}, added={}",
        since="3.0",
    ),
    Template(
        F.PARTITIONS_REVOKED,
        "Cooperative pre-rebalance for group {group_id}: revoking {partitions} (no longer in subscription)",
        since="3.0",
    ),
)
_ENDS = (
    Template(
        F.MEMBERSHIP_LOST,
        "Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
        since="1.0",
        error=UNKNOWN_MEMBER,
    ),
    Template(
        F.MEMBERSHIP_LOST,
        "Heartbeat failed: local generation id is not current; re-joining group",
        since="1.0",
        error=OLD_GENERATION,
    ),
    Template(F.GROUP_IS_REBALANCING, "Heartbeat failed: group is rebalancing; re-joining group", since="1.0"),
    Template(F.COMMIT_REFUSED, "OffsetCommit for group {group_id} failed: {error}", since="1.3"),
    Template(
        F.COMMIT_REFUSED,
        "OffsetCommit failed for group {group_id} due to group error ({error}), will rejoin",
        since="1.0",
    ),
    Template(F.COMMIT_REFUSED, "Auto offset commit failed: {error}", since="1.0"),
    Template(F.COMMIT_REFUSED, "OffsetCommit for group {group_id} failed due to {error}", since="3.0"),
    Template(F.COMMIT_REFUSED, "Failing OffsetCommit request since {error}", since="2.1"),
    Template(F.COMMIT_REFUSED, "Auto offset commit failed for group {group_id}: {error}", since="1.3"),
    Template(F.COMMIT_REFUSED, "Offset commit failed: group membership out of date{}", since="1.3"),
    Template(F.COMMIT_REFUSED, "Pre-rebalance offset commit failed: group membership out of date. {}", since="3.0"),
)
_COORDINATORS = (
    Template(F.COORDINATOR_FOUND, "Discovered coordinator coordinator-{broker_id} for group {group_id}", since="1.4"),
    Template(
        F.COORDINATOR_FOUND,
        "Group coordinator for {group_id} is BrokerMetadata(nodeId='coordinator-{broker_id}', host={}",
        since="1.4",
    ),
    Template(
        F.COORDINATOR_FOUND,
        "Group coordinator for {group_id} is BrokerMetadata(nodeId={broker_id}, host={}",
        since="1.3",
    ),
)

DIALECT = Dialect(
    name="kafka-python",
    title="kafka-python's log",
    marks=(
        "kafka.coordinator",
        "kafka.consumer.subscription_state",
        "kafka.cluster",
        "Heartbeat poll expired",
        "Heartbeat session expired",
        "max_poll_interval_ms",
        "Leaving consumer group",
        "lost membership",
        "<Generation ",
        "coordinator dead",
        "Elected group leader",
        "Heartbeat: ",
        "failed to commit partition",
        "OffsetCommit failed",
        "previously assigned partitions",
        " member_id kafka-python-",
    ),
    example="2026-03-01 03:12:00,417 - kafka.coordinator - INFO - {}",
    heading=python_heading(_LOGGERS, _UNMISTAKABLE, "kafka-python"),
    among_its_own=without_logger,
    templates=Templates((*_UNMISTAKABLE, *_JOINS, *_PARTITIONS, *_ENDS, *_COORDINATORS, *IN_BOTH)),
    warns_of=(F.GROUP_IS_REBALANCING, F.MEMBERSHIP_LOST, F.COORDINATOR_LOST, F.PARTITIONS_LOST),
)
