"""What Go's clients have in common: no prefix of their own, and loggers of their users that may misprint.

A logger that hands all values of a message on as one prints them as a list, and `%!d(MISSING)` where they belong.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from rollcall.inputs.printed.dialects.dialect import Heading
from rollcall.inputs.printed.dialects.headings import declared
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.templates import Templates

_MISPRINT = "%!"
_MISSING = re.compile(r"%!\w\(MISSING\)")
_OF_ANOTHER_TYPE = re.compile(r"%!\w\([a-z]\w{0,20}=([^()\s]{0,255})\)")


def heading_of(templates: Templates, *, begins: Sequence[str] = ()) -> Callable[[Entry], Heading | None]:
    """The message, which begins with one of these, as it was meant; none where a misprint does not show that."""
    heading = declared.heading_of(templates, begins=begins)

    def meant(entry: Entry) -> Heading | None:
        if _MISPRINT not in entry.printed:
            return heading(entry)
        text = _as_meant(entry.printed)
        return None if text is None else heading(entry._replace(text=text, message=""))

    return meant


def _as_meant(text: str) -> str | None:
    first = _MISSING.search(text)
    if first is None:
        return None
    begin = text.rfind("[", 0, first.start())
    end = text.find("]", begin, first.start())
    values = _OF_ANOTHER_TYPE.sub(r"\1", text[begin + 1 : end]).split(" ")
    pieces = _MISSING.split(text[end + 1 :])
    if min(begin, end) < 0 or len(values) != len(pieces):
        return None
    meant = text[:begin] + "".join(value + piece for value, piece in zip(values, pieces, strict=True))
    return None if _MISPRINT in meant else meant
