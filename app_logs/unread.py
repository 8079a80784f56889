"""Lines that no template reads: whose they are, and how often each wording stands in a file.

A wording is a message with its numbers, ids, lists and quoted names masked. Knows no library's wording.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from app_logs.dialects.dialect import Dialect
from app_logs.entries import Entry
from app_logs.logged_facts import LoggedFact

SHOWN = 4
"""Wordings of one program."""
MASK = "..."
_READ_LENGTH, _SHOWN_LENGTH = 300, 70
"""Characters of a message that are masked, and of a wording."""
_MOST_WORDINGS = 2_000
_MASKED = re.compile(
    r"\"[^\"]{0,300}(?:\"|\Z)|(?<!\w)'[^']{0,300}(?:'|\Z)|`[^`]{0,300}(?:`|\Z)"
    r"|\[(?![A-Z][A-Za-z]{1,40}\] )[^\]]{0,300}(?:\]{1,4}|\Z)"
    r"|\{[^}]{0,300}(?:\}{1,4}|\Z)|(?<![^\s=:,(\[{])[^\s\d=:,(\[{]{0,40}\d[^\s,)\]}]{0,300}"
)
"""A word in brackets is a part of the program, as `[Runner] ` is."""
_SEVERAL = re.compile(r"\.\.\.(?:[ ,/:|-]{0,3}\.\.\.)+")
_OF_GROUPS = re.compile(
    r"(?i:consumer[ _-]?group|rebalanc|heartbeat|(?:join|sync|leave) ?group|group ?coordinator|generation ?id)"
)
_NAMED = re.compile(
    r"\[?(?P<name>[A-Za-z][\w-]{0,60}(?:[.:/][A-Za-z][\w-]{0,60}){1,8})\]?:?\s|\[(?P<tag>[A-Za-z][\w-]{3,60})\] "
)
"""The name of a logger that begins a message, as `kafka-node:ConsumerGroup` or `[sarama-cluster]`."""


Recognized = tuple[Dialect, str]
"""A dialect by whose heading a line is known, and the wording behind it."""


class Unread(NamedTuple):
    """Lines of one program that no template reads."""

    printed_by: str
    """The title of its dialect; of a program without one, its logger."""
    is_known: bool
    """Whether other lines of it are read."""
    lines: int
    wordings: tuple[tuple[str, int], ...]
    """Those that are most frequent, with their lines."""
    others: int
    """How many lines have other wordings."""


def unread_in(
    entries: Sequence[Entry], facts: Sequence[LoggedFact | None], recognized: Sequence[Sequence[Recognized]]
) -> tuple[Unread, ...]:
    """Return what the entries of one file leave unread, by program.

    facts: what each entry says, None if nothing. recognized: the dialects that recognize an entry which says nothing.
    Programs without a dialect are named in a file in which nothing is read.
    """
    names = {fact.dialect for fact in facts if fact is not None}
    known: dict[str, Counter[str]] = {}
    unknown: dict[str, Counter[str]] = {}
    for entry, fact, recognizing in zip(entries, facts, recognized, strict=True):
        if fact is not None:
            continue
        title, wording = _whose(recognizing, names)
        if title:
            _count(known.setdefault(title, Counter()), wording)
        elif not names and _OF_GROUPS.search(entry.printed[:_READ_LENGTH]):
            logger, message = _logger_of(entry)
            if logger:
                _count(unknown.setdefault(logger, Counter()), wording_of(message))
    return (*_most_first(known, True), *_most_first(unknown, False))


def _whose(recognized: Iterable[Recognized], names: Collection[str]) -> tuple[str, str]:
    """The title of the dialect whose line it is, and the wording; empty: of none."""
    for dialect, wording in recognized:
        if dialect.is_known_by_heading or dialect.name in names:
            return dialect.title, wording
    return "", ""


def _logger_of(entry: Entry) -> tuple[str, str]:
    if entry.logger:
        return entry.logger, entry.printed
    found = _NAMED.match(entry.printed)
    return ("", "") if found is None else (found["name"] or found["tag"], entry.printed[found.end() :])


def _count(wordings: Counter[str], wording: str) -> None:
    wordings[wording if wording in wordings or len(wordings) < _MOST_WORDINGS else MASK] += 1


def wording_of(message: str) -> str:
    """Return the beginning of a message with a mask for each number, id, list and quoted name."""
    text = _SEVERAL.sub(MASK, _MASKED.sub(MASK, " ".join(message[:_READ_LENGTH].split())))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH].rpartition(' ')[0].rstrip(' .')} {MASK}"


def _most_first(found: dict[str, Counter[str]], is_known: bool) -> Iterable[Unread]:
    for name, wordings in sorted(found.items(), key=lambda one: -one[1].total()):
        shown, lines = (*wordings.most_common(SHOWN),), wordings.total()
        yield Unread(name, is_known, lines, shown, lines - sum(times for _, times in shown))
