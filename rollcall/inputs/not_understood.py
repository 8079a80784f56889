"""Files in which nothing is understood: the error and the warning of `rollcall explain` and `replay`, and the notes.

Must not know how a file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from rollcall.history.words import some
from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.headings.broker import PRINTS_NO_REBALANCES, is_laid_out_as_redpanda_s
from rollcall.inputs.printed.reading import FileRead
from rollcall.inputs.printed.unread import unread_sentences
from rollcall.programs.errors import UserError
from rollcall.programs.log_lines import tell

WHAT_WAS_LOOKED_FOR = "A file is understood if it has lines about consumer groups, of {}.".format(
    ", ".join(dialect.title.replace("'s log", "").replace("' log", "") for dialect in DIALECTS)
)
LONGEST_SHOWN = 160
"""Characters of a line that is quoted."""

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
    """Return the error. first_line: of the one file there is. below: what is known of the files besides."""
    named = f"{' '.join(map(str, files))}:"
    if are_empty:
        return NotUnderstood(f"{named} the input is empty.")
    begins = f'; the first line is "{first_line}"' if first_line and is_text(first_line) else ""
    return NotUnderstood(
        f"{named} no line of a broker's log, a client's log, a request log or a dump of "
        f"__consumer_offsets is understood{begins}.",
        *(f"  {line}" for line in below),
    )


def nothing_understood(reads: Sequence[FileRead]) -> NotUnderstood:
    """Return the error of files that were read, with what is known of each."""
    first_line = reads[0].first_line[:LONGEST_SHOWN] if len(reads) == 1 else ""
    below: list[str] = []
    for read in reads:
        below += [*read.notes, *unread_sentences(read.unread)]
        if is_laid_out_as_redpanda_s(read.first_line):
            below.append(PRINTS_NO_REBALANCES)
    if any(read.unread for read in reads):
        below.append(WHAT_WAS_LOOKED_FOR)
    is_empty = not any(read.lines for read in reads)
    return not_understood([read.file for read in reads], first_line, below, are_empty=is_empty)


def tell_ignored(files: Sequence[object]) -> None:
    """Names, on standard error, the files in which nothing is understood where others are."""
    if files:
        tell(f"{some(map(str, files))}: not understood, ignored", is_error=True)


def is_understood(read: FileRead) -> bool:
    """Return True if a line of a file is about a group, or shows what printed it."""
    return bool(read.facts or read.titles)


def notes_of(read: FileRead) -> list[str]:
    """Return the notes on a file, with its first line if nothing in it is understood."""
    if is_understood(read):
        return [*read.notes]
    if not read.lines:
        return [*read.notes, "it is empty"]
    line = read.first_line
    first = f'its first line: "{line[:LONGEST_SHOWN]}"' if is_text(line) else "it is not UTF-8 text"
    of_redpanda = [PRINTS_NO_REBALANCES] if is_laid_out_as_redpanda_s(line) else []
    return [*read.notes, first, *of_redpanda]
