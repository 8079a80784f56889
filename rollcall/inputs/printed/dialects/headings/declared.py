"""A heading that its file says whole, by patterns: where a message begins, and what is cut off or named around it.

RE2 matches the patterns: users write their own, and no line makes RE2 slow. Must not know any program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import re2

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.fields import object_at_beginning
from rollcall.inputs.printed.logged_facts import STATED
from rollcall.inputs.printed.templates import Templates, field_of
from rollcall.programs.errors import UserError


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
    """The reader of lines whose message begins with one of `begins`, or stands behind `behind`, wherever that is.

    Without either, a message is all that stands behind a line's layout. Raises UserError for a pattern.
    """
    first = _compiled("begins", "|".join(begins)) if begins else _compiled("behind", behind)
    tag, end = (_compiled(key, text) if text else None for key, text in (("before", before), ("ends", ends)))
    _refuse_unknown("keys", (keys or {}).values())

    def heading(entry: Entry) -> Heading | None:
        text = entry.printed
        found = first.search(text)
        if found is None:
            return None
        named = found.groupdict()
        if tag is not None and (of_tag := tag.search(text[: found.start()])):
            named |= of_tag.groupdict()
        message = text[found.start() if begins else found.end() :].rstrip(". ")
        if end is not None and (behind_it := end.search(message)):
            message = message[: behind_it.start()]
        for old, new in (replaces or {}).items():
            message = message.replace(old, new)
        if object_behind and message.startswith(object_behind):
            fields, rest = object_at_beginning(message.removeprefix(object_behind))
            named |= {name: str(fields[key]) for key, name in (keys or {}).items() if fields and key in fields}
            message = object_behind + rest.lstrip()
        return Heading(_fields(named), message)

    return heading


def _compiled(key: str, text: str) -> Any:
    """The pattern of a key. Raises UserError: RE2 refuses it, or it names an unknown field."""
    options = re2.Options()
    options.log_errors = False
    try:
        pattern = re2.compile(text, options)
    except re2.error as error:
        reason = error.args[0].decode(errors="replace")
        raise UserError(f"{key} = '{text}' cannot be used: RE2 says {reason}.") from None
    _refuse_unknown(key, pattern.groupindex)
    return pattern


def _refuse_unknown(key: str, names: Iterable[str]) -> None:
    unknown = sorted({*names} - {*STATED})
    if unknown:
        raise UserError(f"{key} names unknown fields: {', '.join(unknown)}.")


def _fields(named: Mapping[str, str | None]) -> dict[str, Any]:
    read = {name: field_of(name, value) for name, value in named.items() if value}
    return {name: value for name, value in read.items() if value not in (None, "")}
