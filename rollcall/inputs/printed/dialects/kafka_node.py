"""What kafka-node prints (Node), if `DEBUG=kafka-node:*` is set: its class before the message, and no group.

Source: `lib/consumerGroup.js` of 1.0 to 5.0. The debug module puts the time since the line before behind a message.
"""

from __future__ import annotations

import re

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.json_lines import object_at_beginning
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.templates import Template, Templates, field_of

_CLASS = "kafka-node:ConsumerGroup"
_HEAD = re.compile(rf"{_CLASS}(?:Recovery)? ")
_SINCE = re.compile(r" \+\d{1,6}(?:ms|s|m|h|d)\Z")
_ANSWER = "joinGroupResponse "
_NAMES = {"memberId": "member_id", "leaderId": "other_member_id", "generationId": "generation_id"}


def kafka_node_heading(entry: Entry) -> Heading | None:
    """The message; the fields of an answer that it prints as an object."""
    head = _HEAD.search(entry.printed)
    if head is None:
        return None
    message = _SINCE.sub("", entry.printed[head.end() :].rstrip())
    if not message.startswith(_ANSWER):
        return Heading({}, message.replace("error: { ", "error: ", 1))
    answer, behind = object_at_beginning(message.removeprefix(_ANSWER))
    values = {_NAMES[key]: str(value) for key, value in (answer or {}).items() if key in _NAMES}
    fields = {name: read for name, value in values.items() if (read := field_of(name, value)) is not None}
    return Heading(fields, _ANSWER + behind.lstrip())


_BEAT = "{client_id} Heartbeat error: "
_TEMPLATES = (
    Template(F.JOIN_SENT, "Connecting {client_id} on rebalance"),
    Template(F.JOIN_SENT, "Connecting {client_id}"),
    Template(F.JOINED, _ANSWER + "from {client_id}"),
    Template(F.SYNCED, "SyncGroup Response"),
    Template(F.SYNCED, "SyncGroup Response {} assignment: {}"),
    Template(F.PARTITIONS_ADDED, "{client_id} owns topics: {partitions}"),
    Template(F.HEARTBEAT, "generationId {generation_id}"),
    Template(F.GROUP_IS_REBALANCING, _BEAT + "RebalanceInProgress{}"),
    *(
        Template(F.MEMBERSHIP_LOST, f"{_BEAT}{error}{{}}", error=error)
        for error in ("UnknownMemberId", "IllegalGeneration")
    ),
    Template(F.COORDINATOR_LOST, _BEAT + "NotCoordinatorForGroup{}", reason="NOT_COORDINATOR"),
    Template(F.LEAVE_SENT, "{client_id} leaving group"),
)

DIALECT = Dialect(
    name="kafka-node",
    title="kafka-node's log (Node)",
    marks=(_CLASS,),
    example=f"{_CLASS} {{}} +4ms",
    heading=kafka_node_heading,
    templates=Templates(_TEMPLATES),
)
