"""The error of files in which nothing is understood, as `rollcall explain` and `rollcall replay` report it.

Must not know how a file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from programs.errors import UserError

_NO_TEXT = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
"""A character of binary data, or of an encoding that is not UTF-8."""


class NotUnderstood(UserError):
    """Nothing in the files that the user named is understood."""


def is_text(line: str) -> bool:
    """Return True if a decoded line can be shown: it has no character of binary data or of another encoding."""
    return _NO_TEXT.search(line) is None


def not_understood(
    files: Iterable[object], first_line: str = "", below: Iterable[str] = (), *, are_empty: bool = False
) -> NotUnderstood:
    """Return the error. first_line: of the one file there is. below: what else is known of the files."""
    named = f"LOG={' '.join(map(str, files))}:"
    if are_empty:
        return NotUnderstood(f"{named} there is nothing to read: it is empty.")
    begins = f'; the first line is "{first_line}"' if first_line and is_text(first_line) else ""
    return NotUnderstood(
        f"{named} no line of a broker's log, a client's log, a request log or a dump of "
        f"__consumer_offsets is understood{begins}.",
        *(f"  {line}" for line in below),
    )
