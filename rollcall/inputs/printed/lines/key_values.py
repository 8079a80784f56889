"""Fields behind a message: logfmt, zap's console and `message; key: value, key: value`.

Knows how such lines are cut. Must not know which fields matter.
"""

from __future__ import annotations

import json
import re
from typing import Any

_PAIR = re.compile(r'(?P<key>[A-Za-z_@][\w.@-]{0,60})=(?:"(?P<quoted>(?:[^"\\]|\\.)*)"|(?P<bare>[^\s"]*))(?:\s|\Z)')


def logfmt_fields(text: str) -> dict[str, str] | None:
    """`time=.. level=INFO msg="joined" group=orders`; None if the line is not only made of such pairs."""
    fields: dict[str, str] = {}
    place = 0
    while place < len(text):
        found = _PAIR.match(text, place)
        if found is None:
            return None
        quoted = found["quoted"]
        fields[found["key"]] = found["bare"] if quoted is None else quoted.replace('\\"', '"').replace("\\\\", "\\")
        place = found.end()
    return fields or None


def fields_behind(text: str, *, blanks: bool = False) -> tuple[str, dict[str, Any]] | None:
    """`message\\t{"key": "value"}`: the message and the fields; None if there are none. blanks: one may be the tab."""
    message, found, rest = text.rpartition("\t{")
    if not found and blanks:
        message, found, rest = text.partition(' {"')
        rest = f'"{rest}'
    try:
        fields = json.loads("{" + rest) if found else None
    except (ValueError, RecursionError):
        return None
    return (message.rstrip().rpartition("\t")[2], fields) if isinstance(fields, dict) else None


def named_fields(text: str, begins: re.Pattern[str]) -> tuple[str, dict[str, str]]:
    """`message; key: value, key: value`: the message and its fields. begins: where a field does, its key as a group."""
    pieces = begins.split(text)
    return pieces[0], dict(zip(pieces[1::2], pieces[2::2], strict=True))
