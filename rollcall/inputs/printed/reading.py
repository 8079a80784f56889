"""Files that brokers and clients printed, read into facts: each file's kind is found by what its lines say.

Knows how facts of several files become one sequence. Must not know what a fact means.
"""

from __future__ import annotations

import heapq
import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import pairwise
from sys import intern
from typing import TypeVar

import re2

from rollcall.history.words import count, some, some_that_fit
from rollcall.inputs.printed.clocks import difference, moved
from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import unreadable
from rollcall.inputs.printed.dialects.two_messages import of_two_messages
from rollcall.inputs.printed.lines.broken_lines import BrokenLines
from rollcall.inputs.printed.lines.entries import DATED, Clock, Entry
from rollcall.inputs.printed.lines.entry_order import in_order
from rollcall.inputs.printed.lines.files import ends_cut, open_blocks, path_of, text_of
from rollcall.inputs.printed.lines.forged_lines import OF_BROKERS, ends_alone, marked
from rollcall.inputs.printed.lines.wrappings import entries_in, entry_of
from rollcall.inputs.printed.logged_facts import BROKER, FactKind, LoggedFact
from rollcall.inputs.printed.unread import Recognized, Unread, UnreadLines, wording_of
from rollcall.programs.errors import UserError

DOUBTFUL = "ignored {} that can be read in two ways or that a client id containing line breaks may have forged: {}"
UNREAD = "skipped {} that cannot be read: {}"
CUT = "cut {} longer than 1 MB or 10,000 lines: {}"
BROKEN = (
    "several of its lines are broken at some width and were put together: a name or a reason at a break may be left "
    "out here or cut off, and lines may be missing"
)
SEVERAL = 3
"""One line that is broken may be a single accident."""
_MARKS = re2.compile("|".join(sorted({re2.escape(mark) for dialect in DIALECTS for mark in dialect.marks})))
_OPENED = [dialect for dialect in DIALECTS if dialect.opening]
_MOST_FREQUENT = "roup"
"""A mark of brokers: to look only for it first is much quicker."""
BESIDE = 32
"""Lines before and after one that matters, which may belong to it: a heading, a rest, a line broken in parts."""
LARGE_BYTES = 256 << 20
"""The rest of a larger file is skipped if it has no understood line among the first LINES_TRIED: it would take minutes.
"""
LINES_TRIED = 50_000
"""Lines with a mark of some dialect."""
NOT_READ_WHOLE = (
    "it is larger than 256 MB, and only its first {:,} lines were read: "
    "of the lines that may be about groups, the first {:,} are not understood"
)
_BEGINS = re.compile(r"\[20\d\d-\d\d-\d\d")
"""How most brokers' lines begin, and nothing that stands around a line or continues one."""
REQUEST = b"Completed request:"
"""What every line of a broker's request log has."""
_Line = TypeVar("_Line", Entry, LoggedFact)


@dataclass
class FileRead:
    """One file, as it was understood."""

    file: str
    titles: tuple[str, ...] = ()
    """Who printed it, the most lines first; empty: nobody known."""
    first_line: str = ""
    lines: int = 0
    facts: list[LoggedFact] = field(default_factory=list)
    recorded: int = 0
    """How many of its lines are a broker's requests or the topic's records about groups, which are no facts here."""
    notes: tuple[str, ...] = ()
    is_whole: bool = True
    """Whether no line was left out because too many before may matter."""
    unread: tuple[Unread, ...] = ()
    """Lines of programs whose other lines are read, and in a file without any, of programs that are not known."""

    @property
    def times_ms(self) -> tuple[int, int] | None:
        """The first and the last time of a line about groups."""
        times = [fact.at_ms for fact in self.facts if fact.at_ms is not None and fact.clock in DATED]
        return (min(times), max(times)) if times else None


_BY_MARKS = re2.Set.SearchSet()
"""Finds the places of all dialects that have a mark in a text, at once."""
for _dialect in DIALECTS:
    _BY_MARKS.Add("|".join(map(re2.escape, _dialect.marks)))
_BY_MARKS.Compile()


def read_files(files: Sequence[str], zone: tzinfo | None = None, request_logs: Collection[str] = ()) -> list[FileRead]:
    """Read each file separately. Times without a zone are of the given one; without one they stay as they are printed.

    request_logs: those whose requests are read elsewhere; a broker may print all its logs into one file.
    """
    reads = [_read(file, _beside_requests(file)) if file in request_logs else _read_file(file) for file in files]
    for read in reads:
        read.facts = in_zone(read.facts, zone)
    return reads


def _read_file(file: str) -> FileRead:
    """A file; for a large one only the first lines that may matter, if no line of these is understood."""
    if path_of(file).stat().st_size <= LARGE_BYTES:
        return _read(file, open_blocks(file))
    first = _read(file, open_blocks(file), LINES_TRIED)
    if first.is_whole:
        return first
    if first.facts:
        return _read(file, open_blocks(file))
    first.notes = (*first.notes, NOT_READ_WHOLE.format(first.lines, LINES_TRIED))
    return first


def _beside_requests(file: str) -> Iterator[bytes]:
    """A file in blocks with empty lines in the place of requests, whose reader says from where it cannot be read."""
    with suppress(UserError):
        for block in open_blocks(file):
            yield b"\n".join(b"" if REQUEST in line else line for line in block.split(b"\n"))


def in_zone(facts: list[LoggedFact], zone: tzinfo | None) -> list[LoggedFact]:
    """The facts, those whose time has no zone with their time in the given one."""
    return facts if zone is None else [in_utc(fact, zone) for fact in facts]


def in_utc(line: _Line, zone: tzinfo | None) -> _Line:
    """An entry or a fact with its time, if that has a date and no zone, in the given one."""
    if zone is None or line.at_ms is None or line.clock is not Clock.LOCAL:
        return line
    second, ms = divmod(line.at_ms, 1000)
    local = datetime.fromtimestamp(second, UTC).replace(tzinfo=zone)
    return line._replace(at_ms=round(local.timestamp()) * 1000 + ms, clock=Clock.UTC)


def align(reads: Sequence[FileRead]) -> None:
    """Says how far each client's clock is from the broker's, and moves the times of those that are far from it."""
    of_broker = [fact for read in reads for fact in read.facts if fact.dialect == BROKER and fact.at_ms is not None]
    for read in reads if of_broker else ():
        if read.facts and all(fact.dialect != BROKER for fact in read.facts):
            found = difference(of_broker, read.facts)
            if found is not None:
                read.notes = (*read.notes, found.sentence)
                read.facts = moved(read.facts, found, of_broker[0].clock) if found.is_large else read.facts


def read_lines(file: str, lines: Iterable[str]) -> FileRead:
    """One file's facts, in order."""
    return _read(file, ["".join(f"{line}\n" for line in lines).encode()])


def _read(file: str, blocks: Iterable[bytes], most: int | None = None) -> FileRead:
    """Return one file's facts, in order. most: stop at the block that reaches this number of candidate lines."""
    read = FileRead(file)
    lines = _Lines(read, most)
    broken = BrokenLines(lines.said_by)
    entries = [*entries_in(file, broken.together(lines.numbered(blocks)), lines.may_matter, lines.cut.append)]
    if broken.doubtful:
        entries = [one._replace(is_suspect=one.line_number in broken.doubtful) for one in entries]
    ordered, notes = in_order(marked(entries))
    if broken.put_together + ends_alone(entries) >= SEVERAL:
        notes.append(BROKEN)
    facts, recognized = _facts_in(ordered)
    every = [broken.without_what_is_open(fact) for fact in facts if fact is not None]
    found = [fact for fact in every if fact.is_certain]
    doubtful = [fact.line_number for fact in every if not fact.is_certain and fact.kind is not FactKind.UNREADABLE]
    if doubtful:
        notes.append(of_lines(DOUBTFUL, doubtful))
    unread = [f"line {fact.line_number} ({fact.error})" for fact in every if fact.kind is FactKind.UNREADABLE]
    if unread:
        notes.append(UNREAD.format(count(len(unread), "line"), some_that_fit(unread)))
    if lines.cut and lines.has_marks:
        notes.append(of_lines(CUT, sorted({*lines.cut})))
    titles = Counter(fact.dialect for fact in found)
    by_name = {dialect.name: dialect.title for dialect in DIALECTS}
    read.titles = tuple(by_name[name] for name, _ in titles.most_common())
    left = UnreadLines()
    for each in zip(ordered, facts, recognized, strict=True):
        left.take(*each)
    read.facts, read.notes, read.unread = found, tuple(notes), left.found()
    return read


def of_lines(note: str, numbers: Sequence[int]) -> str:
    """Return a note with how many lines it is about, and which."""
    line = "line" if len(numbers) == 1 else "lines"
    return note.format(count(len(numbers), "line"), f"{line} {some(map(str, numbers))}")


def _facts_in(entries: Sequence[Entry]) -> tuple[list[LoggedFact | None], list[tuple[Recognized, ...]]]:
    """What each entry of one file says, and which dialects recognize it if it says nothing.

    Words that two libraries have are of the one whose other lines are in the file.
    """
    facts: list[LoggedFact | None] = []
    recognized: list[tuple[Recognized, ...]] = []
    for entry in entries:
        recognizing: list[Recognized] = []
        facts.append(fact_of(entry, recognizing))
        recognized.append((*recognizing,))
    names = {fact.dialect for fact in facts if fact is not None}
    known = [dialect for dialect in DIALECTS if dialect.among_its_own is not None and dialect.name in names]
    if len(known) == 1:
        facts = [fact or known[0].fact_among_its_own(entry) for fact, entry in zip(facts, entries, strict=True)]
    facts = [None if _is_its_exception(*both) else both[1] for both in pairwise((None, *facts))]
    return facts, recognized


def _is_its_exception(before: LoggedFact | None, fact: LoggedFact | None) -> bool:
    """Whether a line is the exception of the client's line above it, which says what failed."""
    if before is None or fact is None or fact.kind not in (FactKind.REQUEST_REFUSED, FactKind.COMMIT_REFUSED):
        return False
    is_below = fact.line_number == before.line_number + 1 and bool(before.client_id) and not fact.client_id
    return is_below and (fact.kind is FactKind.REQUEST_REFUSED or before.kind is fact.kind)


class _Lines:
    """The lines of a file that may matter, and those beside them."""

    def __init__(self, read: FileRead, most: int | None) -> None:
        self._read = read
        self._most = most
        self._marked: set[str] = set()
        """Those that have another mark than the most frequent one."""
        self.cut: list[int] = []
        """Numbers of lines that were cut."""
        self.has_marks = False

    def numbered(self, blocks: Iterable[bytes]) -> Iterator[tuple[int, str]]:
        """The lines of all blocks in which some line has a mark, and those beside such a line."""
        read, tried, passed, is_ongoing = self._read, 0, b"", False
        for block in blocks:
            if self._most is not None and tried >= self._most:
                read.is_whole = False
                return
            if ends_cut(block):
                self.cut.append(read.lines + block.count(b"\n"))
            if not read.first_line:
                read.first_line = text_of(block.lstrip().partition(b"\n")[0])
            if not is_ongoing and _MARKS.search(block) is None:
                read.lines += block.count(b"\n") + (not block.endswith(b"\n"))
                passed = block
                continue
            self.has_marks = True
            before = passed.removesuffix(b"\n").rsplit(b"\n", BESIDE)[-BESIDE:] if passed else []
            lines = block.decode("utf-8", "replace").removesuffix("\n").split("\n")
            if b"\r" in block:
                lines = [line.rstrip("\r") for line in lines]
            others = [line for line in lines if _MOST_FREQUENT not in line]
            tried += len(lines) - len(others)
            if _MARKS.search("\n".join(others)) is not None:
                found = [line for line in others if _MARKS.search(line) is not None]
                tried += len(found)
                self._marked.update(found)
            every = [*map(text_of, before), *lines]
            numbered, beside = enumerate(every, read.lines + 1 - len(before)), BESIDE
            read.lines += len(lines)
            if 2 * len(others) > len(lines) and all(map(_BEGINS.match, every)):
                # Each is an entry of its own, so that no other belongs to one that matters.
                matters, beside = [*map(self.may_matter, every)], 1
                ends = zip(numbered, matters, (False, *matters), strict=False)
                yield from (one for one, *does_matter in ends if any(does_matter) or one[0] == read.lines)
            else:
                yield from numbered
            passed, is_ongoing = b"", any(map(self.may_matter, lines[-beside:]))

    def said_by(self, line: str) -> LoggedFact | None:
        """What a line says that was put together, in whichever dialect; such a line matters from then on."""
        if not may_matter(line):
            return None
        entry = entry_of("", 0, line)
        among = (dialect.fact_among_its_own(entry) for dialect in DIALECTS)
        fact = fact_of(entry) or next(filter(None, among), None)
        if fact is not None:
            self._marked.add(line)
        return fact

    def may_matter(self, line: str) -> bool:
        """Whether a line has a mark, or a record that was made of several."""
        return _MOST_FREQUENT in line or line in self._marked or (("{" in line or '"' in line) and may_matter(line))


def may_matter(line: str) -> bool:
    """Whether a line has a mark of any dialect."""
    return _MOST_FREQUENT in line or _MARKS.search(line) is not None


def fact_of(entry: Entry, recognized: list[Recognized] | None = None) -> LoggedFact | None:
    """What an entry says about a group, in whichever dialect; UNREADABLE if a reader failed at it.

    recognized: gets the dialects that recognize the entry and do not read it.
    """
    if entry.unread:
        return unreadable(entry, entry.unread)
    return _said_in(entry, recognized) or (of_two_messages(entry) if OF_BROKERS in entry.logger else None)


def _said_in(entry: Entry, recognized: list[Recognized] | None) -> LoggedFact | None:
    tried = [dialect for dialect in _OPENED if entry.text.startswith(dialect.opening)]
    if not tried:
        # None has its mark where that stood in what was taken off.
        places: list[int] | None = _BY_MARKS.Match(f"{entry.text} {entry.logger}".encode("utf-8", "replace"))
        tried = [DIALECTS[place] for place in sorted(places or ())]
    for dialect in tried:
        heading, fact = dialect.read(entry)
        if fact is not None:
            return fact
        if recognized is not None and heading is not None and entry.text.startswith(dialect.opening):
            recognized.append((dialect, intern(wording_of(heading.message))))
    return None


def merged(reads: Sequence[FileRead]) -> list[LoggedFact]:
    """All facts as one sequence: files with dates by time, then those without; never against a file's own order."""
    if len(reads) == 1:
        return [*reads[0].facts]
    dated = [read for read in reads if _is_dated(read)]
    others = [fact for read in reads if not _is_dated(read) for fact in read.facts]
    by_time = heapq.merge(*map(_rising, range(len(dated)), dated), key=lambda one: one[:2])
    return [*(fact for _, _, fact in by_time), *others]


def _is_dated(read: FileRead) -> bool:
    return all(fact.clock in DATED for fact in read.facts)


def _rising(place: int, read: FileRead) -> Iterator[tuple[int, int, LoggedFact]]:
    """A file's facts by times that never fall: a broker's partitions interleave, and may step back by some ms."""
    latest_ms = 0
    for fact in read.facts:
        latest_ms = max(latest_ms, fact.at_ms or 0)
        yield latest_ms, place, fact
