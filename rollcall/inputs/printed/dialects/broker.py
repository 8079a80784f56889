"""A broker's lines about classic groups, and about the coordinators of all groups.

Sources: `GroupCoordinator`, `GroupMetadataManager` and `GroupMetadata` of Kafka 0.9 to 3.9 (Scala), and
`GroupMetadataManager`, `ClassicGroup` and `CoordinatorRuntime` of 3.7 to 4.3 (Java). Messages stand here without the
final dot. Why a rebalance began is in its reason: `rollcall.inputs.printed.groups.reasons`.
"""

from __future__ import annotations

from rollcall.inputs.printed.dialects.broker_consumer import OF_CONSUMER_GROUPS
from rollcall.inputs.printed.dialects.broker_heading import MARKS, broker_heading
from rollcall.inputs.printed.dialects.broker_redpanda import OF_REDPANDA
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.logged_facts import BROKER
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_OFFSETS = "(__consumer_offsets-{partition})"
_METADATA = (
    "MemberMetadata(memberId={member_id}, groupInstanceId={instance_id}, clientId={client_id}, "
    "clientHost={client_host}, sessionTimeoutMs={length_ms}, rebalanceTimeoutMs={number}, supportedProtocols={})"
)
_LEFT = "through explicit `LeaveGroup`"

_REBALANCES = (
    Template(
        F.REBALANCE_BEGAN,
        "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} "
        "(reason: {reason})",
        since="4.0",
    ),
    Template(
        F.REBALANCE_BEGAN,
        "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} "
        f"{_OFFSETS} (reason: {{reason}})",
        since="2.1",
    ),
    Template(
        F.REBALANCE_BEGAN,
        f"Preparing to rebalance group {{group_id}} with old generation {{generation_id}} {_OFFSETS}",
        since="0.11",
    ),
    Template(
        F.REBALANCE_BEGAN, "Preparing to rebalance group {group_id} with old generation {generation_id}", since="0.10"
    ),
    Template(
        F.REBALANCE_BEGAN, "Preparing to restabilize group {group_id} with old generation {generation_id}", since="0.9"
    ),
    Template(F.REBALANCE_BEGAN, "Start join group for new member{}, current group size: {number}, {}"),
    # As people shorten it, and as a line is cut: the group is certain, the reason may be missing.
    Template(F.REBALANCE_BEGAN, "Preparing to rebalance group {group_id} ... (reason: {reason})"),
    Template(
        F.REBALANCE_BEGAN,
        "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} "
        f"{_OFFSETS} (reason: {{reason}}",
    ),
    Template(
        F.REBALANCE_BEGAN,
        "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} "
        "(reason: {reason}",
    ),
    Template(
        F.REBALANCE_BEGAN,
        "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} {}",
    ),
    Template(
        F.JOIN_PHASE_ENDED,
        "Stabilized group {group_id} generation {generation_id} with {members} members",
        since="4.0",
    ),
    Template(
        F.JOIN_PHASE_ENDED,
        f"Stabilized group {{group_id}} generation {{generation_id}} {_OFFSETS} with {{members}} members",
        since="2.8",
    ),
    Template(
        F.JOIN_PHASE_ENDED, f"Stabilized group {{group_id}} generation {{generation_id}} {_OFFSETS}", since="0.11"
    ),
    Template(F.JOIN_PHASE_ENDED, "Stabilized group {group_id} generation {generation_id}", since="0.9"),
    Template(
        F.ASSIGNMENT_RECEIVED,
        "Assignment received from leader {member_id} for group {group_id} for generation {generation_id}. "
        "The group has {members} members, {number} of which are static",
        since="3.0",
    ),
    Template(
        F.ASSIGNMENT_RECEIVED,
        "Assignment received from leader for group {group_id} for generation {generation_id}. "
        "The group has {members} members, {number} of which are static",
        since="2.8",
    ),
    Template(
        F.ASSIGNMENT_RECEIVED,
        "Assignment received from leader for group {group_id} for generation {generation_id}",
        since="0.9",
    ),
    Template(
        F.GROUP_EMPTIED, f"Group {{group_id}} with generation {{generation_id}} is now empty {_OFFSETS}", since="0.11"
    ),
    Template(F.GROUP_EMPTIED, "Group {group_id} with generation {generation_id} is now empty", since="4.0"),
    Template(F.NOBODY_BACK, "Group {group_id} could not complete rebalance because no members rejoined", since="2.3"),
    Template(
        F.MEMBERS_NOT_BACK, "Group {group_id} removed dynamic members who haven't joined: [{member_ids}]", since="4.0"
    ),
    Template(
        F.MEMBERS_NOT_BACK,
        "Group {group_id} removed dynamic members who haven't joined: Set({member_ids})",
        since="2.8",
    ),
    Template(
        F.MEMBERS_NOT_BACK, "Group {group_id} remove dynamic members who haven't joined: Set({member_ids})", since="2.7"
    ),
    Template(
        F.LEADER_NOT_BACK,
        "Group leader [memberId: {member_id}, groupInstanceId: {instance_id}] failed to join before the rebalance "
        "timeout. Member {other_member_id} was elected as the new leader",
        since="4.0",
    ),
    Template(
        F.LEADER_NOT_BACK,
        "Group leader [member.id: {member_id}, group.instance.id: {instance_id}] failed to join before rebalance "
        "timeout, while new leader {other_member_id} was elected",
        since="2.3",
    ),
)
_MEMBERS = (
    Template(
        F.MEMBER_EXPIRED, "Member {member_id} in group {group_id} has failed, removing it from the group", since="1.0"
    ),
    # As people blank a group's name, and the blank before it.
    Template(F.MEMBER_EXPIRED, "Member {member_id} in group{group_id} has failed, removing it from the group"),
    Template(
        F.MEMBER_LEFT,
        f"[Group {{group_id}}] Member {{member_id}} has left group {_LEFT} request; client reason: {{client_reason}}",
        since="4.0",
    ),
    Template(
        F.MEMBER_LEFT,
        f"Member {_METADATA} has left group {{group_id}} {_LEFT}; client reason: {{client_reason}}",
        since="3.2",
    ),
    Template(F.MEMBER_LEFT, f"Member {_METADATA} has left group {{group_id}} {_LEFT} request", since="3.0"),
    Template(
        F.MEMBER_LEFT,
        "Member[group.instance.id {instance_id}, member.id {member_id}] in group {group_id} has left, "
        "removing it from the group",
        since="2.4",
    ),
    Template(F.MEMBER_LEFT, "Member {member_id} in group {group_id} has left, removing it from the group", since="1.0"),
    Template(
        F.PENDING_MEMBER_LEFT,
        f"[Group {{group_id}}] Pending member {{member_id}} has left group {_LEFT} request; "
        "client reason: {client_reason}",
        since="4.0",
    ),
    Template(
        F.PENDING_MEMBER_LEFT,
        f"Pending member with memberId={{member_id}} has left group {{group_id}} {_LEFT} request; "
        "client reason: {client_reason}",
        since="3.2",
    ),
    Template(
        F.PENDING_MEMBER_LEFT,
        f"Pending member with memberId={{member_id}} has left group {{group_id}} {_LEFT} request",
        since="3.0",
    ),
    Template(F.PENDING_MEMBER_LEFT, "Pending member {member_id} is leaving group {group_id}", since="2.2"),
    Template(
        F.PENDING_MEMBER_EXPIRED,
        "Pending member {member_id} in group {group_id} has been removed after session timeout expiration",
        since="2.2",
    ),
    Template(
        F.MEMBER_ID_GIVEN,
        "Dynamic member with unknown member id joins group {group_id} in {old_state} state. "
        "Created a new member id {member_id} and requesting the member to rejoin with this id",
        since="4.0",
        is_static=False,
    ),
    Template(
        F.MEMBER_ID_GIVEN,
        "Dynamic member with unknown member id joins group {group_id} in {old_state} state. "
        "Created a new member id {member_id} and request the member to rejoin with this id",
        since="3.0",
        is_static=False,
    ),
    Template(
        F.MEMBER_ID_GIVEN,
        "Dynamic member with unknown member id rejoins group {group_id} in {old_state} state. "
        "Created a new member id {member_id} and request the member to rejoin with this id",
        since="2.2",
        is_static=False,
    ),
    Template(
        F.MEMBER_ADDED,
        "Pending dynamic member with id {member_id} joins group {group_id} in {old_state} state. "
        "Adding to the group now",
        since="2.2",
        is_static=False,
    ),
    Template(
        F.MEMBER_ADDED,
        "Dynamic member with unknown member id joins group {group_id} in state {old_state}. "
        "Created a new member id {member_id} and added the member to the group",
        since="4.0",
        is_static=False,
    ),
    Template(
        F.MEMBER_ADDED,
        "Dynamic Member with unknown member id joins group {group_id} in {old_state} state. "
        "Created a new member id {member_id} for this member and add to the group",
        since="3.0",
        is_static=False,
    ),
    Template(
        F.MEMBER_ADDED,
        "Static member with groupInstanceId={instance_id} and unknown member id joins group {group_id} in {old_state} "
        "state. Created a new member id {member_id} for this member and added to the group",
        since="4.0",
        is_static=True,
    ),
    Template(
        F.MEMBER_ADDED,
        "Static member with groupInstanceId={instance_id} and unknown member id joins group {group_id} in {old_state} "
        "state. Created a new member id {member_id} for this member and add to the group",
        since="3.0",
        is_static=True,
    ),
    Template(
        F.STATIC_MEMBER_REPLACED,
        "Static member with groupInstanceId={instance_id} and unknown member id joins group {group_id} in {old_state} "
        "state. Replacing previously mapped member {member_id} with this groupInstanceId",
        since="3.0",
        is_static=True,
    ),
    Template(
        F.STATIC_MEMBER_REPLACED,
        "Static member {instance_id} of group {group_id} with unknown member id rejoins, assigning new member id "
        "{other_member_id}, while old member id {member_id} will be removed",
        since="2.5",
        is_static=True,
    ),
    Template(
        F.STATIC_JOIN_WITHOUT_REBALANCE,
        "Static member which joins during Stable stage and doesn't affect the selected protocol will not trigger "
        "a rebalance",
        since="3.7",
    ),
    Template(
        F.STATIC_JOIN_WITHOUT_REBALANCE,
        "Static member which joins during Stable stage and doesn't affect selectProtocol will not trigger rebalance",
        since="2.7",
    ),
    Template(
        F.STATIC_JOIN_WITHOUT_REBALANCE,
        "Static member joins during Stable stage will not trigger rebalance",
        since="2.5",
    ),
    Template(
        F.MEMBER_FENCED,
        "Request memberId={member_id} for static member with groupInstanceId={instance_id} is fenced by existing "
        "memberId={other_member_id} during operation {operation}",
        since="3.7",
    ),
    Template(
        F.MEMBER_FENCED,
        "Request memberId={member_id} for static member with groupInstanceId={instance_id} is fenced by current "
        "memberId={other_member_id} during operation {operation}",
        since="3.0",
    ),
    Template(
        F.MEMBER_FENCED,
        "given member.id {member_id} is identified as a known static member {instance_id}, but not matching the "
        "expected member.id {other_member_id} during {operation}, will respond with error {error}",
        since="2.3",
    ),
    Template(
        F.MEMBER_FENCED,
        "given member.id {member_id} is identified as a known static member {instance_id}, but not matching the "
        "expected member.id {other_member_id} during {operation}, will respond with instance fenced error",
        since="2.4",
    ),
    Template(
        F.MEMBER_FENCED,
        "given member.id {member_id} is identified as a known static member {instance_id},but not matching the "
        "expected member.id {other_member_id}",
        since="2.3",
    ),
)
_COORDINATORS = (
    Template(
        F.PARTITION_LOADING,
        "Scheduling loading of metadata from __consumer_offsets-{partition} with epoch {number}",
        since="4.0",
    ),
    Template(
        F.PARTITION_LOADING, "Elected as the group coordinator for partition {partition} in epoch {number}", since="2.8"
    ),
    Template(
        F.PARTITION_LOADING,
        "Scheduling loading of offsets and group metadata from __consumer_offsets-{partition} for epoch {number}",
        since="2.8",
    ),
    Template(
        F.PARTITION_LOADING,
        "Scheduling loading of offsets and group metadata from __consumer_offsets-{partition}",
        since="0.11",
    ),
    Template(
        F.PARTITION_LOADED,
        "Finished loading of metadata from __consumer_offsets-{partition} with epoch {number} in {length_ms}ms "
        "where {}",
        since="4.0",
    ),
    Template(
        F.PARTITION_LOADED,
        "Finished loading offsets and group metadata from __consumer_offsets-{partition} in {length_ms} "
        "milliseconds {}",
        since="2.4",
    ),
    Template(
        F.PARTITION_LOADED,
        "Finished loading offsets and group metadata from __consumer_offsets-{partition} in {length_ms} milliseconds",
        since="0.11",
    ),
    Template(
        F.PARTITION_UNLOADED,
        "Scheduling unloading of metadata for __consumer_offsets-{partition} with epoch {}",
        since="4.0",
    ),
    Template(
        F.PARTITION_UNLOADED,
        "Resigned as the group coordinator for partition {partition} in epoch {}",
        since="2.8",
    ),
    Template(
        F.PARTITION_UNLOADED,
        "Finished unloading __consumer_offsets-{partition}. Removed {number} cached offsets and {number} cached groups",
        since="0.11",
    ),
    Template(F.GROUP_TAKEN_OVER, "Loaded {group_type} group {group_id} with {members} members", since="4.0"),
    Template(F.GROUP_TAKEN_OVER, "Loading group metadata for {group_id} with generation {generation_id}", since="0.11"),
    Template(
        F.MEMBER_LOADED,
        f"Loaded member {_METADATA} in group {{group_id}} with generation {{generation_id}}",
        since="2.8",
    ),
    Template(
        F.MEMBER_LOADED,
        f"Static member {_METADATA}.groupInstanceId of group {{group_id}} loaded with member id {{}} at generation "
        "{generation_id}",
        since="2.3",
    ),
    Template(
        F.GROUP_UNLOADED, "[GroupId={group_id}] Unloading group metadata for generation {generation_id}", since="4.0"
    ),
    Template(
        F.GROUP_UNLOADED, "[GroupId={group_id}] Unloaded group metadata for group epoch {generation_id}", since="4.0"
    ),
    Template(F.GROUP_UNLOADED, "Unloading group metadata for {group_id} with generation {generation_id}", since="2.2"),
    Template(
        F.GROUPS_DELETED,
        "The following groups were deleted: {member_ids}. A total of {number} offsets were removed",
        since="2.0",
    ),
    Template(F.GROUP_DIED, "Group {group_id} transitioned to Dead in generation {generation_id}", since="0.11"),
    Template(F.GROUP_DIED, "Group {group_id} generation {generation_id} is dead and removed", since="0.9"),
    Template(
        F.WRITE_FAILED,
        "Appending metadata message for group {group_id} generation {generation_id} failed due to {error}, "
        "returning UNKNOWN error code to the client",
        since="0.11",
    ),
    Template(
        F.WRITE_FAILED,
        "Appending metadata message for group {group_id} generation {generation_id} failed due to {error}",
        since="0.11",
    ),
    Template(F.WRITE_FAILED, "Failed to write empty metadata for group {group_id}: {error}", since="2.7"),
    Template(F.BROKER_STARTED, "[KafkaRaftServer nodeId={broker_id}] Kafka Server started", since="2.8"),
    Template(F.BROKER_STARTED, "[KafkaServer id={broker_id}] started", since="0.11"),
    Template(F.BROKER_STOPPING, "Terminating process due to signal {reason}", since="2.0"),
)

DIALECT = Dialect(
    name=BROKER,
    title="a broker's log",
    marks=MARKS,
    opening="[Group",
    example="[2026-03-01 03:12:00,417] INFO [GroupCoordinator 1]: {} (kafka.coordinator.group.GroupCoordinator)",
    heading=broker_heading,
    templates=Templates((*_REBALANCES, *_MEMBERS, *_COORDINATORS, *OF_CONSUMER_GROUPS, *OF_REDPANDA)),
)
