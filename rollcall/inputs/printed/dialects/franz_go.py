"""What franz-go prints (Go): `message; key: value, ..` of its own logger, or a message with fields of the user's.

Source: `kgo/consumer_group.go` and `consumer_group_848.go` of 1.0 to 1.21. An error's text is lost where the logger
does not know errors; then the line says only that a heartbeat failed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Dialect, Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.key_values import named_fields
from rollcall.inputs.printed.logged_facts import INCREMENTAL
from rollcall.inputs.printed.logged_facts import FactKind as F
from rollcall.inputs.printed.logged_partitions import NONE_NAMED
from rollcall.inputs.printed.templates import Template, Templates, field_of, name_alone

_KEYS = (
    "group|member_id|instance_id|generation|leader|err|why|how|input|plan|assigned|now_assigned|assignments|added|lost|revoking|"
    "balance_protocol|protocol_type|protocol|stage|is848|consecutive_errors|backoff"
)
_FIELD = re.compile(rf"(?:; |, )({_KEYS}):(?: |\Z)")
_PAIR = re.compile(rf"\s({_KEYS})=")
"""As a logger of the user's prints a field."""
_PARTITIONS = re.compile("(?:now_)?assigned|assignments|added|lost|revoking")
_TELLING = ("group", "why", "plan")
"""A line of its has one of these fields."""
_OF_A_MEMBER = re.compile(r"(?P<member_id>[^{}]{1,400})\{(?P<topics>[^{}]*)\}(?:, |\Z)")
_OF_A_TOPIC = re.compile(r"(?P<topic>[\w.-]{1,249})\[([\d ]*)\]")
_NOBODY = ("", "<nil>", "{}", "null")
_ONLY_LOST = "; only lost"


def franz_go_heading(entry: Entry) -> Heading | None:
    """The fields; the message with its error or its reason behind it."""
    return _heading(entry, _HEADS)


def _among_its_own(entry: Entry) -> Heading | None:
    return _heading(entry, _HEADS_AMONG_ITS_OWN)


def _heading(entry: Entry, heads: Iterable[re.Pattern[str]]) -> Heading | None:
    message, fields = entry.message, entry.fields
    if fields.keys().isdisjoint(_TELLING):
        message, fields = _in_a_line(entry.printed, heads)
    if fields.keys().isdisjoint(_TELLING):
        return None
    found: dict[str, Any] = {name: _text(fields[key]) for key, name in _NAMES.items() if key in fields}
    found = {name: value for name, value in found.items() if value not in _NOBODY}
    generation_id = field_of("generation_id", _text(fields.get("generation")))
    if generation_id is not None and generation_id >= 0:
        found["generation_id"] = generation_id
    if _text(fields.get("leader")).lower() == "true" and "member_id" in found:
        found["other_member_id"] = found["member_id"]
    named = [_text(value) for key, value in fields.items() if _PARTITIONS.fullmatch(key)]
    if "plan" in fields:
        found["partitions"] = _assignment_of(_text(fields["plan"]))
    elif named:
        found["partitions"] = next((one for one in named if one not in _NOBODY), NONE_NAMED)
    if "added" in fields and _text(fields["added"]) in _NOBODY and found["partitions"] != NONE_NAMED:
        message += _ONLY_LOST
    return Heading(found, message + _behind(fields, "err") + _behind(fields, "why"))


def _assignment_of(plan: str) -> str:
    """A leader's plan `a{orders[0 1], clicks[0]}, b{}` as Java prints one; empty if it is not whole."""
    given = [*_OF_A_MEMBER.finditer(plan)]
    if "".join(one[0] for one in given) != plan:
        return ""
    members = (f"{one['member_id']}=Assignment(partitions=[{_numbered(one['topics'])}])" for one in given)
    return f"{{{', '.join(members)}}}"


def _numbered(topics: str) -> str:
    """`orders[0 1]` as `orders-0, orders-1`."""
    return ", ".join(f"{one['topic']}-{number}" for one in _OF_A_TOPIC.finditer(topics) for number in one[2].split())


_NAMES = {"group": "group_id", "member_id": "member_id", "instance_id": "instance_id"}
_AT_AN_END = (*_NAMES, "generation", "leader")


def _in_a_line(text: str, heads: Iterable[re.Pattern[str]]) -> tuple[str, Mapping[str, Any]]:
    """Its own fields: what an application puts behind the last one is not a part of a name."""
    message, fields = named_fields(text, _FIELD)
    if not fields:
        message, fields = named_fields(text, _PAIR)
    behind = next(filter(None, (head.search(message) for head in heads)), None)
    message = message if behind is None else behind["message"]
    return message, {key: name_alone(value) if key in _AT_AN_END else value for key, value in fields.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _behind(fields: Mapping[str, Any], key: str) -> str:
    """A field behind the message. What a logger made of an error that it does not know is not text."""
    value = fields.get(key)
    return f"; {key}: {value}" if isinstance(value, str) and value not in _NOBODY else ""


_NEW_ID = "consumer group heartbeat error, abandoning assignment and rejoining with new member id"
_KNOWN_ID = "consumer group heartbeat error, abandoning assignment and rejoining"
_TEMPLATES = (
    *(
        Template(F.MEMBER_ID_SET, beginning)  # It is nobody yet.
        for beginning in (
            "beginning to manage the group lifecycle",
            "beginning to manage the next-gen group lifecycle",
            "beginning autocommit loop",
        )
    ),
    Template(F.JOIN_SENT, "joining group"),
    Template(F.JOINED, "joined"),
    Template(F.JOINED, "joined, balancing group"),
    Template(F.JOINED, "joined as leader but unable to balance group due to KIP-345 limitations"),
    Template(F.INSTANCE_FENCED, "join group failed; err: FENCED_INSTANCE_ID{}"),
    Template(F.JOIN_REFUSED, "join group failed; err: {error}"),
    Template(F.MEMBERSHIP_LOST, "join returned UnknownMemberID, rejoining without a member id"),
    Template(F.ASSIGNED_ALL, "balanced"),
    Template(F.SYNCED, "synced"),
    Template(F.SYNC_REFUSED, "sync group failed; err: {error}"),
    Template(F.GROUP_IS_REBALANCING, "sync failed with RebalanceInProgress, rejoining"),
    Template(F.PARTITIONS_ADDED, "new group session begun", operation=INCREMENTAL),
    Template(F.PARTITIONS_REVOKED, f"new group session begun{_ONLY_LOST}"),
    Template(F.PARTITIONS_REVOKED, "calling onRevoke at the end of a session"),
    Template(F.PARTITIONS_REVOKED, "cooperative consumer calling onRevoke"),
    Template(F.PARTITIONS_REVOKED, "eager consumer revoking prior assigned partitions"),
    *(
        template
        for message in ("heartbeat errored", "heartbeat errored again while waiting for user revoke to finish")
        for template in (
            Template(F.GROUP_IS_REBALANCING, f"{message}; err: REBALANCE_IN_PROGRESS{{}}"),
            Template(F.INSTANCE_FENCED, f"{message}; err: FENCED_INSTANCE_ID{{}}"),
            *(
                Template(F.MEMBERSHIP_LOST, f"{message}; err: {error}{{}}", error=error)
                for error in ("UNKNOWN_MEMBER_ID", "ILLEGAL_GENERATION")
            ),
        )
    ),
    # The text of the error is lost: whether others rebalance or the member is out, it does not say.
    Template(F.REJOIN_WANTED, "heartbeat errored"),
    Template(F.REJOIN_WANTED, "forced rejoin quitting heartbeat loop; why: {reason}"),
    Template(F.COMMIT_REFUSED, "offset commit returned a fatal group member error, triggering rejoin; err: {error}"),
    *(
        Template(F.OFFSETS_REFUSED, f"fetch offsets failed {words} error; err: {{error}}")
        for words in ("with non-retryable", "with non-retriable", "due to non-retryable", "with group-level")
    ),
    Template(
        F.OFFSETS_REFUSED, "fetch offsets: stale member epoch after 10 retries, giving up", error="STALE_MEMBER_EPOCH"
    ),
    Template(
        F.COMMIT_REFUSED, "offset commit: stale member epoch after 10 retries, giving up", error="STALE_MEMBER_EPOCH"
    ),
    Template(F.COMMIT_REFUSED, "default commit failed; err: {error}"),
    *(
        Template(F.CLIENT_STATE, f"{loop} errored; err: {{error}}", state="joins again after an error")
        for loop in ("join and sync loop", "group manage loop")
    ),
    Template(F.PARTITIONS_REVOKED, "cooperative consumer revoking prior assigned partitions because leaving group"),
    Template(F.MEMBER_ID_SET, "join returned MemberIDRequired, rejoining with response's MemberID"),
    Template(F.LEAVE_SENT, "leaving group"),
    # The newer protocol (KIP-848).
    Template(F.PARTITIONS_ADDED, "consumer group initial heartbeat received assignment"),
    Template(
        F.PARTITIONS_ADDED,
        "consumer group heartbeat detected an updated assignment; exited heartbeat loop to assign & reentering",
    ),
    Template(
        F.JOIN_REFUSED, "consumer group initial heartbeat hit retryable error, backing off and retrying; err: {error}"
    ),
    Template(F.MEMBERSHIP_LOST, f"{_NEW_ID}; err: {{error}}"),
    Template(F.MEMBERSHIP_LOST, f"{_KNOWN_ID}; err: {{error}}"),
    Template(F.LEAVE_SENT, "leaving next-gen group"),
    # Share groups.
    Template(F.PARTITIONS_ADDED, "assigning share partitions", group_type="share"),
    Template(
        F.MEMBERSHIP_LOST, "share group heartbeat lost membership, resetting epoch; err: {error}", group_type="share"
    ),
    Template(F.LEAVE_SENT, "leaving share group", group_type="share"),
)
_MESSAGES = sorted({re.split("; (?:err|why): ", template.text)[0] for template in _TEMPLATES})
_TELLING_WORDS = 3
"""A message of so many words no other program prints."""
_NAMED_BEFORE = r"\A[A-Za-z][\w./-]{0,80}\s{1,8}"
"""A logger."""


def _behind_a(head: str, least_words: int = 1) -> re.Pattern[str]:
    messages = (one for one in _MESSAGES if len(one.split()) >= least_words)
    return re.compile(rf"{head}(?P<message>{'|'.join(map(re.escape, messages))})\Z")


_HEADS = (_behind_a(r"[\])|:>-]\s{0,8}"), _behind_a(_NAMED_BEFORE, _TELLING_WORDS))
"""Whatever layout its line has, a mark or a name ends what stands before a message."""
_HEADS_AMONG_ITS_OWN = (*_HEADS, _behind_a(_NAMED_BEFORE))

DIALECT = Dialect(
    name="franz-go",
    title="franz-go's log (Go)",
    marks=(
        "beginning to manage",
        "beginning autocommit",
        "balanced",
        "join",
        "sync",
        "heartbeat error",
        "new group session",
        "onRevoke",
        "revoking prior",
        "forced rejoin",
        "leaving group",
        "leaving next-gen",
        "consumer group initial",
        "consumer group heartbeat",
        "fetch offsets failed",
        "stale member epoch",
        "default commit failed",
        "group manage loop",
        "fatal group member error",
        "share partitions",
        "share group",
    ),
    example="[INFO] {}; group: orders",
    heading=franz_go_heading,
    among_its_own=_among_its_own,
    is_known_by_heading=False,
    templates=Templates(_TEMPLATES),
)
