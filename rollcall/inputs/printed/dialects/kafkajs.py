"""What KafkaJS prints (Node): JSON lines with a namespace before the message, and no generation.

Source: `src/consumer` and `src/network/connection.js` of 1.4 to 2.2.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.json_lines import object_at_beginning
from rollcall.inputs.printed.lines.stamps import stamp_at
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.logged_rebalances import client_id_of
from rollcall.inputs.printed.templates import Template, Templates

_NAMES = {"groupId": "group_id", "memberId": "member_id", "leaderId": "other_member_id", "clientId": "client_id"}
_BEGINS = re.compile(r"\[(?:Connection|ConsumerGroup|Consumer|Runner)\] ")


def kafkajs_heading(entry: Entry) -> Heading | None:
    """The fields; the message with its error behind it. A member id begins with its client's id."""
    message, fields = (entry.message, entry.fields) if entry.message.startswith("[") else _with_fields(entry.printed)
    if not message:
        return None
    found: dict[str, Any] = {name: fields[key] for key, name in _NAMES.items() if isinstance(fields.get(key), str)}
    found.setdefault("client_id", client_id_of(found.get("member_id", "")))
    if "memberAssignment" in fields:
        found["partitions"] = json.dumps(fields["memberAssignment"])
    stamp = stamp_at(str(fields.get("timestamp", ""))) if entry.at_ms is None else None
    if stamp is not None:
        found |= {"at_ms": stamp.at_ms, "clock": stamp.clock}
    error = fields.get("error")
    behind = f"; error: {error}" if isinstance(error, str) and message.startswith("[Connection] ") else ""
    return Heading(found, message + behind)


def _with_fields(text: str) -> tuple[str, Mapping[str, Any]]:
    """A message and the fields that a program puts behind it; an empty one: there are none."""
    head, brace, rest = text.partition(" {")
    begins = _BEGINS.search(head) if brace else None
    fields = None if begins is None else object_at_beginning("{" + rest)[0]
    return ("", {}) if begins is None or fields is None else (head[begins.start() :], fields)


_HEARTBEAT = "[Connection] Response Heartbeat(key: 12, version: {number}); error: "
_REBALANCING = "The group is rebalancing, so a rejoin is needed"
_UNKNOWN = "The coordinator is not aware of this member"
_OLD = "Specified group generation id is not valid"
_TEMPLATES = (
    Template(F.JOINED_AND_SYNCED, "[ConsumerGroup] Consumer has joined the group"),
    Template(F.GROUP_IS_REBALANCING, "[Runner] The group is rebalancing, re-joining"),
    Template(F.GROUP_IS_REBALANCING, _HEARTBEAT + _REBALANCING),
    Template(F.MEMBERSHIP_LOST, "[Runner] The coordinator is not aware of this member, re-joining the group"),
    Template(F.MEMBERSHIP_LOST, _HEARTBEAT + _UNKNOWN),
    Template(F.MEMBERSHIP_LOST, _HEARTBEAT + _OLD, error="ILLEGAL_GENERATION"),
    Template(F.SYNC_REFUSED, "[Connection] Response SyncGroup(key: 14, version: {number}); error: {error}"),
    *(
        Template(
            F.COMMIT_REFUSED,
            f"[Connection] Response OffsetCommit(key: 8, version: {{number}}); error: {error}",
            error=error,
        )
        for error in (_REBALANCING, _UNKNOWN, _OLD)
    ),
    *(
        Template(
            F.JOIN_REFUSED,
            f"[Connection] Response JoinGroup(key: 11, version: {{number}}); error: {error}",
            error=error,
        )
        for error in (_UNKNOWN, "This is not the correct coordinator for this group")
    ),
    Template(F.LEAVE_SENT, "[Consumer] Stopped", reason="the consumer is being closed"),
    Template(F.CLIENT_CRASHED, "[Consumer] Crash: {error}"),
    Template(F.CLIENT_STATE, "[Consumer] Restarting the consumer in {length_ms}ms", state="restarting"),
)

DIALECT = Dialect(
    name="kafkajs",
    title="KafkaJS' log (Node)",
    marks=("[ConsumerGroup] ", "[Runner] ", "[Connection] Response ", "[Consumer] "),
    example='{"level":"INFO","timestamp":"2026-03-01T03:12:00.417Z","logger":"kafkajs","message":"{}","groupId":"orders"}',
    heading=kafkajs_heading,
    templates=Templates(_TEMPLATES),
    warns_of=(F.GROUP_IS_REBALANCING, F.MEMBERSHIP_LOST),
)
