"""What aiokafka prints: `aiokafka/consumer/group_coordinator.py` of 0.5 to 0.14.

Its wording is kafka-python's of 2017 for the most part, so the logger tells them apart. It has no line for a poll
timeout: LeaveGroup succeeds as it does at a close.
"""

from __future__ import annotations

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.python_clients import IN_BOTH, UNKNOWN_MEMBER, python_heading, without_logger
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_LOGGERS = frozenset(
    ("aiokafka.group_coordinator", "aiokafka.consumer.group_coordinator", "aiokafka.consumer.subscription_state")
)
_UNMISTAKABLE = (
    Template(
        F.CLIENT_STATE,
        "Successfully synced group {group_id} with generation -1",
        since="0.5",
        state="its generation was reset while it waited for its assignment",
    ),
    Template(F.SYNCED, "Successfully synced group {group_id} with generation {generation_id}", since="0.5"),
    Template(F.LEAVE_SENT, "LeaveGroup request succeeded", since="0.5"),
    Template(
        F.MEMBERSHIP_LOST,
        "Heartbeat failed: local member_id was not recognized; resetting and re-joining group",
        since="0.5",
        error=UNKNOWN_MEMBER,
    ),
    Template(F.COORDINATOR_LOST, "Marking the coordinator dead (node {broker_id})for group {group_id}", since="0.5"),
    Template(
        F.COMMIT_REFUSED,
        "OffsetCommit failed for group {group_id} due to group error ([Error {number}] {error}), will rejoin",
        since="0.5",
    ),
    Template(
        F.COMMIT_REFUSED,
        "OffsetCommit failed for group {group_id} on partition {partitions} with offset {}",
        since="0.5",
    ),
)
"""What no other client prints in these words."""
_OTHERS = (
    Template(
        F.COMMIT_REFUSED,
        "OffsetCommit failed for group {group_id} due to group error ({error}), will rejoin",
        since="0.5",
    ),
    Template(F.JOIN_REFUSED, "Attempt to join group failed due to {error}", since="0.5"),
    Template(F.SYNC_REFUSED, "Unexpected error from SyncGroup: {error}", since="0.5"),
    Template(F.LEAVE_SENT, "LeaveGroup request failed: {error}", since="0.5"),
    Template(F.COMMIT_REFUSED, "OffsetCommit failed for group {group_id} - {error}", since="0.5"),
    Template(F.COMMIT_REFUSED, "Auto offset commit failed: {error}", since="0.5"),
)

DIALECT = Dialect(
    name="aiokafka",
    title="aiokafka's log",
    marks=(
        "aiokafka.consumer.",
        "aiokafka.group_coordinator",
        "LeaveGroup request succeeded",
        "Successfully synced group",
        " member_id aiokafka-",
        "local member_id was not recognized",
        "coordinator dead",
        "Elected group leader",
        "Heartbeat: ",
        "OffsetCommit failed",
    ),
    example="2026-03-01 03:12:00,417 INFO:aiokafka.consumer.group_coordinator: {}",
    heading=python_heading(_LOGGERS, _UNMISTAKABLE, "aiokafka"),
    among_its_own=without_logger,
    templates=Templates((*_UNMISTAKABLE, *_OTHERS, *IN_BOTH)),
    warns_of=(F.GROUP_IS_REBALANCING, F.MEMBERSHIP_LOST, F.COORDINATOR_LOST),
)
