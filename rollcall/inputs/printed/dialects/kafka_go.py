"""What segmentio's kafka-go prints (Go), by the logger that its user gives it: there is no prefix of its own.

Source: `consumergroup.go` and `reader.go` of 0.3 to 0.4. A member keeps its id over generations; lines about partitions
name no group.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.dialects.go_clients import go_heading
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates

_BEGINS = re.compile(
    r"entering loop for consumer group, |[Jj]oined group \S+ as member |Syncing \d+ assignments for generation |"
    r"found member: |received empty assignments for group, |sync group finished for group, |"
    r"subscribed to topics and partitions: |Partition changes found, rebalancing group: |Leaving group \S+, member |"
    r"Failed to (?:join|sync) group |Unable to establish connection to consumer group coordinator for group "
)

_NO_CONNECTION = "Unable to establish connection to consumer group coordinator for"
_TEMPLATES = (
    Template(F.CLIENT_STARTED, "entering loop for consumer group, {group_id}"),
    Template(F.JOINED, "joined group {group_id} as member {member_id} in generation {generation_id}"),
    Template(F.JOINED, "Joined group {group_id} as member {member_id} in generation {generation_id}"),
    Template(F.MEMBER_FOUND, "found member: {member_id}/[]byte{}"),
    Template(
        F.CLIENT_STATE,
        "Syncing {number} assignments for generation {generation_id} as member {member_id}",
        state="syncing",
    ),
    Template(
        F.PARTITIONS_ADDED,
        "received empty assignments for group, {group_id} as member {member_id} for generation {generation_id}",
    ),
    Template(F.SYNCED, "sync group finished for group, {group_id}"),
    Template(F.PARTITIONS_ADDED, "subscribed to topics and partitions: {partitions}"),
    Template(
        F.REJOIN_WANTED,
        "Partition changes found, rebalancing group: {group_id}",
        reason="its topic's metadata has changed",
    ),
    Template(F.LEAVE_SENT, "Leaving group {group_id}, member {member_id}"),
    *(
        Template(F.COORDINATOR_LOST, f"{failed} group {{group_id}}: {network} {{reason}}")
        for failed in (*(f"Failed to {request}" for request in ("join", "sync")), _NO_CONNECTION)
        for network in ("dial tcp", "read tcp", "write tcp")
    ),
    *(
        Template(kind, f"Failed to {request} group {{group_id}}: {error}")
        for kind, request in ((F.JOIN_REFUSED, "join"), (F.SYNC_REFUSED, "sync"))
        for error in ("[{number}] {error}", "{error}")
    ),
    Template(F.COORDINATOR_LOST, f"{_NO_CONNECTION} group {{group_id}}: {{reason}}"),
)

DIALECT = Dialect(
    name="kafka-go",
    title="kafka-go's log (Go, segmentio)",
    marks=(
        "consumer group, ",
        "oined group ",
        "Syncing ",
        "found member: ",
        "assignments for group, ",
        "sync group finished",
        "subscribed to topics and partitions: ",
        "rebalancing group: ",
        "Leaving group ",
        "Failed to ",
        "consumer group coordinator for group ",
    ),
    example="2026/03/01 03:12:00 {}",
    heading=go_heading(_BEGINS),
    templates=Templates(_TEMPLATES),
    warns_of=(F.COORDINATOR_LOST,),
)
