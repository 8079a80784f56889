"""A heading that its file says whole, by patterns: where a message begins, and what is cut off or named around it.

Must not know any program.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.json_lines import object_at_beginning
from rollcall.inputs.printed.templates import Templates, field_of


def heading_of(
    _: Templates,
    *,
    begins: Sequence[str] = (),
    behind: str = "",
    before: str = "",
    ends: str = "",
    replaces: Mapping[str, str] | None = None,
    object_behind: str = "",
    keys: Mapping[str, str] | None = None,
) -> Callable[[Entry], Heading | None]:
    """The reader of lines whose message begins with one of `begins`, or stands behind `behind`, wherever that is."""
    first = re.compile("|".join(begins) or behind)
    tag, end = (re.compile(one) if one else None for one in (before, ends))

    def heading(entry: Entry) -> Heading | None:
        text = entry.printed
        found = first.search(text)
        if found is None:
            return None
        named = found.groupdict()
        if tag is not None and (of_tag := tag.search(text[: found.start()])):
            named |= of_tag.groupdict()
        message = text[found.start() if begins else found.end() :].rstrip(". ")
        if end is not None:
            message = end.sub("", message)
        for old, new in (replaces or {}).items():
            message = message.replace(old, new)
        if object_behind and message.startswith(object_behind):
            fields, rest = object_at_beginning(message.removeprefix(object_behind))
            named |= {name: str(fields[key]) for key, name in (keys or {}).items() if fields and key in fields}
            message = object_behind + rest.lstrip()
        return Heading(_fields(named), message)

    return heading


def _fields(named: Mapping[str, str | None]) -> dict[str, Any]:
    read = {name: field_of(name, value) for name, value in named.items() if value}
    return {name: value for name, value in read.items() if value not in (None, "")}
