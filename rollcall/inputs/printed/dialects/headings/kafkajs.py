"""Where KafkaJS' messages stand (Node): in JSON lines, or before an object with fields. No line has a generation."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.fields import object_at_beginning
from rollcall.inputs.printed.lines.stamps import stamp_at
from rollcall.inputs.printed.logged_rebalances import client_id_of
from rollcall.inputs.printed.templates import Templates

_NAMES = {"groupId": "group_id", "memberId": "member_id", "leaderId": "other_member_id", "clientId": "client_id"}
_BEGINS = re.compile(r"\[(?:Connection|ConsumerGroup|Consumer|Runner)\] ")


def heading_of(_: Templates) -> Callable[[Entry], Heading | None]:
    """The reader of its lines."""
    return _heading


def _heading(entry: Entry) -> Heading | None:
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
