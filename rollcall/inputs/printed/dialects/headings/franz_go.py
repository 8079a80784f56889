"""Where franz-go's messages stand (Go): `message; key: value, ..` of its own logger, or fields of the user's logger.

An error and a reason stand behind the message, as its wordings have them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_partitions import NONE_NAMED
from rollcall.inputs.printed.templates import Templates, field_of, name_alone

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
_TELLING_WORDS = 3
"""A message of at least this number of words is printed by this program only."""
_MARK, _NAME = r"[\])|:>-]\s{0,8}", r"\A[A-Za-z][\w./-]{0,80}\s{1,8}"
"""Whatever layout its line has, a mark or a logger's name ends what stands before a message."""


def heading_of(templates: Templates, *, among_its_own: bool = False) -> Callable[[Entry], Heading | None]:
    """The reader of its lines. among_its_own: a file has others of it, so that a word behind a name is enough."""
    messages = sorted({re.split("; (?:err|why): ", template.text)[0] for template in templates.all})
    telling = [message for message in messages if len(message.split()) >= _TELLING_WORDS]
    heads = [_behind_a(_MARK, messages), _behind_a(_NAME, telling)]
    if among_its_own:
        heads.append(_behind_a(_NAME, messages))
    return lambda entry: _heading(entry, heads)


def _behind_a(head: str, messages: Iterable[str]) -> re.Pattern[str]:
    return re.compile(rf"{head}(?P<message>{'|'.join(map(re.escape, messages))})\Z")


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


def _named_fields(text: str, begins: re.Pattern[str]) -> tuple[str, dict[str, str]]:
    """`message; key: value, key: value`: the message and its fields. begins: where a field does, its key as a group."""
    pieces = begins.split(text)
    return pieces[0], dict(zip(pieces[1::2], pieces[2::2], strict=True))


def _in_a_line(text: str, heads: Iterable[re.Pattern[str]]) -> tuple[str, Mapping[str, Any]]:
    """Its own fields: what an application puts behind the last one is not a part of a name."""
    message, fields = _named_fields(text, _FIELD)
    if not fields:
        message, fields = _named_fields(text, _PAIR)
    behind = next(filter(None, (head.search(message) for head in heads)), None)
    message = message if behind is None else behind["message"]
    return message, {key: name_alone(value) if key in _AT_AN_END else value for key, value in fields.items()}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _behind(fields: Mapping[str, Any], key: str) -> str:
    """A field behind the message. What a logger made of an error that it does not know is not text."""
    value = fields.get(key)
    return f"; {key}: {value}" if isinstance(value, str) and value not in _NOBODY else ""
