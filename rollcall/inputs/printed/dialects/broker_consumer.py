"""A broker's lines about groups of the newer protocols: consumer groups (KIP-848), share and streams groups.

Source: `GroupMetadataManager` of Kafka 3.7 to 4.4. Messages stand here without the final dot.
"""

from __future__ import annotations

from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template

_G = "[GroupId {group_id}] "
_LEFT = "through explicit `LeaveGroup` request; client reason: {client_reason}"

_GM = "[GroupId {group_id}][MemberId {member_id}] "
_FENCED = _G + "Member {member_id} fenced from the group because "
_TARGET = _G + "Computed a new target assignment for epoch {generation_id} with '{operation}'"
_STATIC = _G + "Static member {member_id} with instance id {instance_id} "
_NOTICED = "[GroupId {group_id}][MemberId {}] "

_OF_STREAMS_GROUPS = (
    Template(F.MEMBER_JOINED_EPOCH, _GM + "Member joins the {group_type} group", since="4.1"),
    Template(F.MEMBER_LEFT_EPOCH, _NOTICED + "Member {member_id} left the {group_type} group", since="4.1"),
    Template(
        F.MEMBER_JOINED_EPOCH,
        _NOTICED + "Static member with instance id {instance_id} re-joins the {group_type} group using the {operation} "
        "protocol. Created a new member {member_id} to replace the existing member {other_member_id}",
        since="4.4",
    ),
    *(
        Template(kind, f"{_NOTICED}Static member {{member_id}} with instance id {{instance_id}} {does}", since="4.4")
        for kind, does in (
            (F.MEMBER_JOINED_EPOCH, "joins the {group_type} group"),
            (F.STATIC_MEMBER_AWAY, "temporarily left the {group_type} group"),
            (F.MEMBER_LEFT_EPOCH, "left the {group_type} group"),
        )
    ),
    # Whose heartbeat noticed that an epoch is due is not who caused it.
    Template(
        F.EPOCH_BUMPED,
        _NOTICED
        + "Bumped streams group epoch to {generation_id} with metadata hash {reason} and validated topic epoch "
        "{number}",
        since="4.1",
        group_type="streams",
    ),
    Template(
        F.MEMBER_EXPIRED_EPOCH,
        _G + "Streams member {member_id} fenced from the group because the member session expired",
        since="4.1",
        group_type="streams",
    ),
    Template(
        F.MEMBER_PROGRESSED,
        _GM + "Member's new assignment state: epoch={generation_id}, previousEpoch={number}, state={state}, "
        "assignedTasks={partitions} and tasksPendingRevocation={}",
        since="4.1",
        group_type="streams",
    ),
)

OF_CONSUMER_GROUPS = (
    *_OF_STREAMS_GROUPS,
    Template(F.EPOCH_BUMPED, _G + "Bumped group epoch to {generation_id} with metadata hash {reason}", since="4.1"),
    Template(F.EPOCH_BUMPED, _G + "Bumped group epoch to {generation_id}", since="3.8"),
    Template(
        F.MEMBER_ID_GIVEN,
        _G + "Dynamic member with unknown member id joins the {group_type} group. "
        "Created a new member id {member_id} and requesting the member to rejoin with this id",
        since="4.0",
        is_static=False,
    ),
    Template(
        F.MEMBER_JOINED_EPOCH,
        _G + "Member {member_id} joins the {group_type} group using the {operation} protocol",
        since="3.9",
    ),
    Template(F.MEMBER_JOINED_EPOCH, _G + "Member {member_id} joins the {group_type} group", since="3.7"),
    Template(F.STATIC_MEMBER_AWAY, _STATIC + "temporarily left the {group_type} group", since="3.8"),
    Template(F.MEMBER_LEFT_EPOCH, _STATIC + "left the {group_type} group"),
    Template(
        F.INSTANCE_ID_OWNED,
        _STATIC + "cannot join the group because the instance id is owned by member {other_member_id}",
        since="3.8",
    ),
    Template(
        F.INSTANCE_ID_OWNED,
        _STATIC + "cannot join the group because the instance id is is owned by member {other_member_id}",
        since="3.7",
    ),
    Template(F.MEMBER_FENCED, _STATIC + "is fenced by existing member {other_member_id}", since="3.7"),
    Template(F.MEMBER_LEFT_EPOCH, _G + "Member {member_id} left the {group_type} group", since="3.7"),
    Template(F.MEMBER_EXPIRED_EPOCH, _FENCED + "the member session expired", since="3.8"),
    Template(F.MEMBER_EXPIRED_EPOCH, _FENCED + "its session expired", since="3.7"),
    Template(F.MEMBER_NOT_SYNCED_EPOCH, _FENCED + "the member failed to sync within timeout", since="3.8"),
    Template(
        F.MEMBER_TOO_SLOW_EPOCH,
        _FENCED + "the classic member failed to join within the rebalance timeout",
        since="3.8",
    ),
    Template(
        F.MEMBER_TOO_SLOW_EPOCH,
        _FENCED + "it failed to transition from epoch {number} within {length_ms}ms",
        since="3.8",
    ),
    Template(
        F.MEMBER_TOO_SLOW_EPOCH,
        _FENCED + "it failed to revoke partitions within {length_ms}ms",
        since="3.7",
    ),
    Template(
        F.MEMBER_JOINED_EPOCH,
        _G + "Static member with instance id {instance_id} re-joins the {group_type} group using the {operation} "
        "protocol. Created a new member {member_id} to replace the existing member {other_member_id}",
        since="3.9",
    ),
    Template(
        F.MEMBER_JOINED_EPOCH,
        _STATIC + "joins the {group_type} group using the {operation} protocol",
        since="3.9",
    ),
    Template(F.MEMBER_LEFT_EPOCH, _G + "Dynamic member {member_id} has left group " + _LEFT, since="4.0"),
    Template(
        F.MEMBER_LEFT_EPOCH,
        _STATIC + "has left group " + _LEFT,
        since="4.0",
    ),
    Template(
        F.MEMBER_SUBSCRIBED, _G + "Member {member_id} updated its subscribed topics to: {partitions}", since="3.8"
    ),
    Template(F.MEMBER_SUBSCRIBED, _G + "Member {member_id} updated its subscribed regex to: {partitions}", since="3.8"),
    Template(
        F.PATTERNS_SCANNED,
        _G + "Scanned {number} topics to refresh regular expressions [{}] in {length_ms}ms",
        since="4.0",
    ),
    Template(F.TARGET_COMPUTED, _TARGET + " assignor in {length_ms}ms: {partitions}", since="3.8"),
    Template(F.TARGET_COMPUTED, _TARGET + " assignor in {length_ms}ms", since="4.0"),
    Template(F.TARGET_COMPUTED, _TARGET + " assignor: {partitions}", since="3.7"),
    Template(
        F.MEMBER_PROGRESSED,
        _G + "Member {member_id} transitioned from CurrentAssignment({}, partitionsPendingRevocation={operation}, "
        "partitionsPendingAssignment={}) to CurrentAssignment(memberEpoch={generation_id}, "
        "previousMemberEpoch={number}, targetMemberEpoch={number}, state={state}, assignedPartitions={partitions}, "
        "partitionsPendingRevocation={}, partitionsPendingAssignment={})",
        since="3.7",
    ),
    Template(
        F.MEMBER_PROGRESSED,
        _G + "Member {member_id} new assignment state: epoch={generation_id}, previousEpoch={number}, state={state}, "
        "assignedPartitions={partitions} and revokedPartitions={}",
        since="3.8",
    ),
    Template(
        F.MEMBER_PROGRESSED,
        _G + "Member {member_id} new assignment state: epoch={generation_id}, previousEpoch={number}, state={state}, "
        "assignedPartitions={partitions}",
        since="4.0",
        group_type="share",
    ),
    Template(F.GROUP_CONVERTED, _G + "Converted the {state} group to a {to_state} group", since="4.0"),
)
