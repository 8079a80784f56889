"""A log that grows: its lines as facts, each once, as soon as a line is whole and believed.

An entry may continue in the next line, and what a client forged shows only when the line that it broke is closed. So
the last entry waits for the next one, and an entry that is not closed waits for its end. Knows the lines that wait.
Must not know what a fact means.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from datetime import tzinfo
from pathlib import Path
from typing import NamedTuple

from rollcall.inputs.printed.lines.entries import DATED, Entry
from rollcall.inputs.printed.lines.files import open_blocks, text_of
from rollcall.inputs.printed.lines.forged_lines import marked, still_open
from rollcall.inputs.printed.lines.wrappings import NOTHING_ABOVE, beginning_of, continues, entries_in
from rollcall.inputs.printed.logged_facts import FactKind, LoggedFact
from rollcall.inputs.printed.reading import fact_of, in_utc, in_zone, may_matter
from rollcall.inputs.printed.unread import Recognized, UnreadLines
from rollcall.programs.errors import UserError

WAIT_AT_MOST = 1_000
"""Lines. What is not closed by then is a layout without the name of a class."""

CUT = "it is longer than 1 MB or 10,000 lines, and only its beginning was read"
NOT_BELIEVED = "it can be read in two ways, or a client wrote it"
_LINES_TO_FIRST_TIME = 1_000
_Lines = Sequence[tuple[int, str]]
_ENDS = ("}", "]")
"""Of records of JSON over several lines."""


class Read(NamedTuple):
    """What lines have shown."""

    facts: list[LoggedFact]
    doubtful: list[tuple[Entry, str]]
    """Entries that are not believed, or not as a whole, each with the reason."""


def first_ms_of(path: Path, zone: tzinfo) -> int:
    """The first time of an entry near the top of a file, in any layout; 0 if there is none."""
    with suppress(UserError):
        for line in text_of(next(open_blocks(str(path)), b"")).splitlines()[:_LINES_TO_FIRST_TIME]:
            at_ms = _time_of(beginning_of(line), zone)
            if at_ms is not None:
                return at_ms
    return 0


class GrowingLog:
    """One log. unread: lines that waited when it was read last, with their numbers. zone: of times without one.

    unknown: takes what is not understood.
    """

    def __init__(self, file: str, zone: tzinfo | None, unread: _Lines = (), unknown: UnreadLines | None = None) -> None:
        self._file, self._zone, self._unknown = file, zone, unknown
        self._above = NOTHING_ABOVE
        self.unread = [*unread]
        self.at_ms: int | None = None
        """The time of the last entry that has one."""

    def read(self, lines: _Lines, *, is_pause: bool) -> Read:
        """Takes lines with their numbers. is_pause: nothing was written for a while, so that the last one is whole."""
        self.unread += lines
        last = self._last_beginning()
        taken = self.unread if is_pause else self.unread[:last]
        cut = list[int]()
        entries = [*entries_in(self._file, taken, may_matter, cut.append, self._above)]
        rest_from = len(taken)
        waits = None if is_pause else still_open(entries)
        if waits is not None and self.unread[-1][0] - entries[waits].line_number < WAIT_AT_MOST:
            rest_from = next(i for i, (number, _) in enumerate(taken) if number == entries[waits].line_number)
            entries = entries[:waits]
        self.unread = self.unread[rest_from:]
        for number, line in taken[:rest_from]:
            self._above = self._above.below(number, line)
        found = [(entry, fact) for entry in marked(entries) for fact in (self._fact_of(entry),) if fact is not None]
        facts = [fact for _, fact in found if fact.is_certain]
        doubtful = [
            (entry, fact.error if fact.kind is FactKind.UNREADABLE else NOT_BELIEVED)
            for entry, fact in found
            if not fact.is_certain
        ]
        doubtful += [(entry, CUT) for entry in entries if entry.line_number in cut]
        return Read(in_zone(facts, self._zone), doubtful)

    def unread_from_ms(self) -> int | None:
        """The time of the first line that waits; None: none waits, or it has no date."""
        return _time_of(beginning_of(self.unread[0][1]), self._zone) if self.unread else None

    def _fact_of(self, entry: Entry) -> LoggedFact | None:
        if self._unknown is None:
            return fact_of(entry)
        recognized: list[Recognized] = []
        fact = fact_of(entry, recognized)
        self._unknown.take(entry, fact, recognized)
        return fact

    def _last_beginning(self) -> int:
        """Where the last entry begins, which may continue. Where no line has a time, each begins one that can."""
        oldest = max(0, len(self.unread) - WAIT_AT_MOST)
        without_time = oldest
        for place in range(len(self.unread) - 1, oldest - 1, -1):
            line = self.unread[place][1]
            entry = beginning_of(line)
            if entry is not None:
                self.at_ms = _time_of(entry, self._zone) or self.at_ms
                return place
            if without_time == oldest and not continues(line) and not line.startswith(_ENDS):
                without_time = place
        return without_time


def _time_of(entry: Entry | None, zone: tzinfo | None) -> int | None:
    return None if entry is None or entry.clock not in DATED else in_utc(entry, zone).at_ms
