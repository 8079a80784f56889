"""Files that brokers and clients printed, read into facts: each file's kind is found by what its lines say.

Knows how facts of several files become one sequence. Must not know what a fact means.
"""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from app_logs.dialects.catalog import DIALECTS
from app_logs.entries import Clock, Entry
from app_logs.files import open_lines
from app_logs.forged_lines import marked
from app_logs.logged_facts import LoggedFact
from app_logs.wrappings import entries_in, in_order
from why.words import some

DOUBTFUL = (
    "lines that are not believed, since they can be read in two ways or an id with line breaks may have written them:"
)
_MARKS = tuple(dict.fromkeys(mark for dialect in DIALECTS for mark in dialect.marks))
_ORDERED = (Clock.UTC, Clock.LOCAL)


@dataclass
class FileRead:
    """One file, as it was understood."""

    file: str
    titles: tuple[str, ...] = ()
    """Who printed it, the most lines first; empty: nobody whose lines are known."""
    first_line: str = ""
    lines: int = 0
    facts: list[LoggedFact] = field(default_factory=list)
    notes: tuple[str, ...] = ()

    @property
    def times_ms(self) -> tuple[int, int] | None:
        """The first and the last time of a line about groups."""
        times = [fact.at_ms for fact in self.facts if fact.at_ms is not None and fact.clock in _ORDERED]
        return (min(times), max(times)) if times else None


def read_files(files: Sequence[str]) -> list[FileRead]:
    """Each file by itself."""
    return [read_lines(file, open_lines(file)) for file in files]


def read_lines(file: str, lines: Iterable[str]) -> FileRead:
    """One file's facts, in order."""
    read = FileRead(file)
    ordered, notes = in_order(marked([*entries_in(file, _counted(read, lines), _may_matter)]))
    every = [fact for fact in map(fact_of, ordered) if fact is not None]
    found = [fact for fact in every if fact.is_certain]
    doubtful = [fact.line_number for fact in every if not fact.is_certain]
    if doubtful:
        notes.append(f"{DOUBTFUL} {some(map(str, doubtful))}")
    titles = Counter(fact.dialect for fact in found)
    by_name = {dialect.name: dialect.title for dialect in DIALECTS}
    read.titles = tuple(by_name[name] for name, _ in titles.most_common())
    read.facts, read.notes = found, tuple(notes)
    return read


def _counted(read: FileRead, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        read.lines += 1
        if not read.first_line:
            read.first_line = line.strip()
        yield line


def _may_matter(line: str) -> bool:
    return any(mark in line for mark in _MARKS)


def fact_of(entry: Entry) -> LoggedFact | None:
    """What an entry says about a group, in whichever dialect."""
    for dialect in DIALECTS:
        fact = dialect.fact(entry)
        if fact is not None:
            return fact
    return None


def merged(reads: Sequence[FileRead]) -> list[LoggedFact]:
    """All facts as one sequence: by time where every file has dates, and never against a file's own order."""
    if any(fact.clock not in _ORDERED for read in reads for fact in read.facts):
        return [fact for read in reads for fact in read.facts]
    return [fact for _, _, fact in heapq.merge(*map(_rising, range(len(reads)), reads), key=lambda one: one[:2])]


def _rising(place: int, read: FileRead) -> Iterator[tuple[int, int, LoggedFact]]:
    """A file's facts by times that never fall: a broker's partitions interleave, and may step back by some ms."""
    latest_ms = 0
    for fact in read.facts:
        latest_ms = max(latest_ms, fact.at_ms or 0)
        yield latest_ms, place, fact
