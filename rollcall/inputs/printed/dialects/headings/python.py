"""How kafka-python's lines differ from aiokafka's: aiokafka began as a copy of kafka-python, wording and all.

The logger tells them apart. If a layout leaves it out, only what this client alone prints is believed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.lines.heads import LEVEL, SEPARATORS, asides_length
from rollcall.inputs.printed.templates import Templates

_DOTTED = re.compile(r"(?<![\w.])[a-z_]\w{0,60}(?:\.\w{1,60}){1,10}(?![\w.])")
_HEAD_LENGTH = 200
_REST = re.compile(rf"{SEPARATORS}(?:{LEVEL}(?=[\s|:-]))?[\s|:,\])-]{{0,40}}")


_BEHIND = re.compile(
    r"(?:, [a-z_]\w{0,60}-[\w<>]{1,80}-\d{1,6}| \[(?:run|poll|close|\w{0,60}_\w{1,60})(?::\d{1,6})?\])\Z"
)
"""Module, function and line, or only the function, where a layout has them at the end."""


def heading_of(
    templates: Templates, *, loggers: Sequence[str] = (), member_ids: str = ""
) -> Callable[[Entry], Heading | None]:
    """The message, without a final dot, of a line by one of these loggers, or by none in words of its own.

    A member id that begins with `member_ids` is such a word. No loggers: the message of any line without one.
    """
    if not loggers:
        return lambda entry: None if entry.logger else Heading({}, _bare(entry))
    names, own = frozenset(loggers), Templates(one for one in templates.all if one.is_its_own)

    def heading(entry: Entry) -> Heading | None:
        message = _message_by(entry, names)
        if message is None and not entry.logger:
            message = _bare(entry)
            is_own = f" member_id {member_ids}" in message or own.match(message, by_client=True) is not None
            message = message if is_own else None
        return None if message is None else Heading({}, message)

    return heading


def _message_by(entry: Entry, loggers: Collection[str]) -> str | None:
    """The message, without a final dot, of an entry that one of these loggers printed; None: they did not.

    In a layout that no rule knows, a logger's name before the message is enough.
    """
    message = _BEHIND.sub("", entry.printed).rstrip(". ")
    if entry.logger in loggers:
        return message
    if not entry.logger:
        for found in _DOTTED.finditer(message, 0, _HEAD_LENGTH):
            if found[0] in loggers:
                rest = _REST.match(message, found.end())
                return message[found.end() if rest is None else rest.end() :]
    return None


def _bare(entry: Entry) -> str:
    """Only the message, without a level, a thread or a process before it."""
    text = _BEHIND.sub("", entry.printed).rstrip(". ")
    return text[asides_length(text) :]
