"""Lines that no template reads: whose they are, and how often each wording stands in a file.

A wording is a message with its numbers, ids, lists and quoted names masked. Knows no library's wording.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from rollcall.history.words import LONGEST_SENTENCE, count, short
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import LoggedFact

SHOWN = 4
"""Wordings of one program."""
MASK = "..."
_ROOM = LONGEST_SENTENCE - 40
"""Characters of a sentence before the counts of its last wording and of all others."""
_READ_LENGTH, _SHOWN_LENGTH = 300, 70
"""Characters of a message that are masked, and of a wording."""
_MOST_WORDINGS = 2_000
"""Of one program; likewise the number of programs that are unknown."""
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
    every: tuple[tuple[str, int], ...] = ()
    """All wordings, the most frequent first."""


class UnreadLines:
    """What the lines of one file leave unread, by program, taken one after the other.

    Programs without a dialect are named in a file in which nothing is read.
    """

    def __init__(self) -> None:
        self._dialects: dict[str, Dialect] = {}
        self._recognized: dict[tuple[str, ...], Counter[tuple[str, ...]]] = {}
        """The wordings of lines by the names of the dialects that recognize them."""
        self._unknown: dict[str, Counter[tuple[str, ...]]] = {}
        self._read: set[str] = set()
        """The names of dialects that read a line."""

    def take(self, entry: Entry, fact: LoggedFact | None, recognized: Sequence[Recognized]) -> None:
        """Counts an entry. fact: what it says. recognized: the dialects that recognize one which says nothing."""
        if fact is not None:
            self._read.add(fact.dialect)
            return
        if recognized:
            self._dialects |= {dialect.name: dialect for dialect, _ in recognized}
            names = tuple(dialect.name for dialect, _ in recognized)
            _count(self._recognized.setdefault(names, Counter()), tuple(wording for _, wording in recognized))
        is_known = any(dialect.is_known_by_heading for dialect, _ in recognized)
        if not self._read and not is_known and _OF_GROUPS.search(entry.printed[:_READ_LENGTH]):
            logger, message = entry.logger, entry.printed
            if not logger and (named := _NAMED.match(message)):
                logger, message = named["name"] or named["tag"], message[named.end() :]
            if logger in self._unknown or (logger and len(self._unknown) < _MOST_WORDINGS):
                _count(self._unknown.setdefault(logger, Counter()), (wording_of(message),))

    def found(self) -> tuple[Unread, ...]:
        """Return the unread lines of each program, those with the most lines first."""
        known: dict[str, Counter[str]] = {}
        for names, wordings in self._recognized.items():
            own = (one for one in names if self._dialects[one].is_known_by_heading or one in self._read)
            place = next((names.index(name) for name in own), None)
            if place is not None:
                _add(known, self._dialects[names[place]].title, wordings, place)
        unknown: dict[str, Counter[str]] = {}
        for logger, wordings in () if self._read else self._unknown.items():
            _add(unknown, logger, wordings, 0)
        return (*_most_first(known, True), *_most_first(unknown, False))


def _count(wordings: Counter[tuple[str, ...]], wording: tuple[str, ...]) -> None:
    is_kept = wording in wordings or len(wordings) < _MOST_WORDINGS
    wordings[wording if is_kept else (MASK,) * len(wording)] += 1


def _add(found: dict[str, Counter[str]], name: str, wordings: Counter[tuple[str, ...]], place: int) -> None:
    counted = found.setdefault(name, Counter())
    for wording, lines in wordings.items():
        counted[wording[place]] += lines


def wording_of(message: str) -> str:
    """Return the beginning of a message with a mask for each number, id, list and quoted name."""
    text = _SEVERAL.sub(MASK, _MASKED.sub(MASK, " ".join(message[:_READ_LENGTH].split())))
    return text if len(text) <= _SHOWN_LENGTH else f"{text[:_SHOWN_LENGTH].rpartition(' ')[0].rstrip(' .')} {MASK}"


def _most_first(found: dict[str, Counter[str]], is_known: bool) -> Iterable[Unread]:
    for name, wordings in sorted(found.items(), key=lambda one: -one[1].total()):
        every, lines = (*wordings.most_common(),), wordings.total()
        shown = every[:SHOWN]
        yield Unread(name, is_known, lines, shown, lines - sum(times for _, times in shown), every)


def unread_sentences(unread: Iterable[Unread]) -> Iterator[str]:
    """Yield for each program how many of its lines are not read, and the wordings for which a sentence has room."""
    for one in unread:
        number, are = count(one.lines, "line"), "is" if one.lines == 1 else "are"
        if one.is_known:
            sentence = f"{number} of {one.printed_by.partition(' (')[0]} {are} not read: "
        else:
            program = short(one.printed_by, _SHOWN_LENGTH)
            sentence = f"{number} of {program} {are} about groups, by a program that is unknown: "
        shown, others = list[str](), one.lines
        for wording, lines in one.wordings:
            if len(sentence) + len(", ".join((*shown, wording))) > _ROOM:
                break
            shown.append(f"`{wording}` {lines}")
            others -= lines
        yield sentence + ", ".join((*shown, *([f"other wordings {others}"] if others else [])))


def unread_as_toml(unread: Iterable[Unread]) -> Iterator[str]:
    """Yield lines of TOML to be filled in: for each program its unread wordings, as they would stand in its format."""
    programs = (*unread,)
    if not programs:
        yield "# No line of a program that is known is left unread."
    for one in programs:
        yield f"# {count(one.lines, 'line')} of {short(one.printed_by, _SHOWN_LENGTH)}"
        for wording, lines in one.every:
            if wording != MASK:
                yield from ("", f"[[wording]]  # {count(lines, 'line')}", 'fact = ""')
                yield f"text = {json.dumps(wording.replace(MASK, '{}'), ensure_ascii=False)}"
                yield from ("[[wording.sample]]", 'line = ""', "says = {}")
        yield ""
