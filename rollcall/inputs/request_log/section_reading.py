"""Reads one section of a log: its requests with their times, the tally of its lines, when its brokers were silent.
Sections are read by separate processes or Spark's tasks, and their results are added up in the log's order. Knows how
the parts fit together; knows no rule of any of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from operator import attrgetter
from typing import NamedTuple
from zlib import crc32
from zoneinfo import ZoneInfo

from rollcall.inputs.request_log.lines.in_order import in_time
from rollcall.inputs.request_log.lines.line import LineReader
from rollcall.inputs.request_log.lines.reading import Reading, WorkTimes
from rollcall.inputs.request_log.lines.sections import Section
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally

REPEATED = "another file has the same line"


class Placed(NamedTuple):
    """A request with its place in the log. Of several files, lines of one time stand in the order of the files."""

    logged: LoggedRequest
    order_ms: int
    """The latest timestamp of its file up to its line."""
    text_mark: int
    """Equal for identical lines; 0 if the log has one file, in which no line comes twice."""


class SectionReading:
    """A section: iterating gives its requests in order of their lines. After it `tally`, `silences` and `topics` are
    complete.
    """

    def __init__(self, section: Section, zone: ZoneInfo, quarantine: Callable[[Quarantined], None]) -> None:
        self.section = section
        self.tally = Tally()
        self.silences = Silences()
        self.bytes = 0
        """How much is read."""
        self._zone = zone
        reader = LineReader(is_of_a_section=True)
        self.topics = reader.topics
        self._reading = Reading(reader, self.tally, quarantine)

    def __iter__(self) -> Iterator[Placed]:
        work_times = WorkTimes()
        read, note, read_work_times = self._reading.read, self.silences.note, work_times.read
        is_alone, order_ms = self.section.is_alone, 0
        marks: dict[str, int] = {}
        for line in self.section.lines(self._zone):
            self.bytes += len(line.text) + 1
            logged = read(line)
            note(line.file, line.at_ms, logged)
            if earlier := read_work_times(line.at_ms, logged):
                order_ms = max(order_ms, earlier[0].recorded.answered_at_ms)
                for entry in earlier:
                    yield Placed(entry, order_ms, 0 if is_alone else marks[_line_of(entry)])
                marks.clear()
            if logged and not is_alone:
                marks[_line_of(logged[0])] = crc32(line.text) + 1
        for entry in work_times.rest():
            order_ms = max(order_ms, entry.recorded.answered_at_ms)
            yield Placed(entry, order_ms, 0 if is_alone else marks[_line_of(entry)])


def _line_of(entry: LoggedRequest) -> str:
    """A line of a request, which may have several."""
    return entry.request.request_id.rpartition(":")[2].partition("/")[0]


def in_order(files: Sequence[tuple[int, Iterator[Placed]]]) -> Iterator[Placed]:
    """The requests of several files by time, those of each in its order. files: each with its first time."""
    if len(files) == 1:
        yield from files[0][1]
        return
    for order_ms, placed in in_time(files, attrgetter("order_ms")):
        yield placed if placed.order_ms == order_ms else placed._replace(order_ms=order_ms)


def each_once(placed: Iterable[Placed], tally: Tally) -> Iterator[LoggedRequest]:
    """Requests without those of identical lines at the same time in another file: these are skipped.

    placed: requests of a log, or all of some groups, in order.
    """
    at_ms = 0
    seen: dict[tuple[int, str], str] = {}
    for logged, order_ms, mark in placed:
        if mark:
            if order_ms != at_ms:
                at_ms = order_ms
                seen.clear()
            file, _, part = logged.request.request_id.rpartition(":")
            if seen.setdefault((mark, part.partition("/")[2]), file) != file:
                if logged.part == 0 and not logged.was_refused:
                    tally.used -= 1
                    tally.skip(REPEATED)
                continue
        yield logged
