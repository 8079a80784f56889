"""What KafkaJS prints (Node): JSON lines with a namespace before the message, and no generation.

Source: `src/consumer` and `src/network/connection.js` of 1.4 to 2.2.
"""

from __future__ import annotations

import json
from typing import Any

from app_logs.dialects.dialect import Dialect, Heading
from app_logs.entries import Entry
from app_logs.logged_facts import FactKind as F
from app_logs.logged_rebalances import client_id_of
from app_logs.templates import Template, Templates

_NAMES = {"groupId": "group_id", "memberId": "member_id", "leaderId": "other_member_id", "clientId": "client_id"}


def kafkajs_heading(entry: Entry) -> Heading | None:
    """The fields; the message with its error behind it. A member id begins with its client's id."""
    if not entry.message.startswith("["):
        return None
    found: dict[str, Any] = {
        name: entry.fields[key] for key, name in _NAMES.items() if isinstance(entry.fields.get(key), str)
    }
    found.setdefault("client_id", client_id_of(found.get("member_id", "")))
    if "memberAssignment" in entry.fields:
        found["partitions"] = json.dumps(entry.fields["memberAssignment"])
    error = entry.fields.get("error")
    behind = f"; error: {error}" if isinstance(error, str) and entry.message.startswith("[Connection] ") else ""
    return Heading(found, entry.message + behind)


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
)
