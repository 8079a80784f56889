"""Lines as requests, each line counted: used, skipped or put into quarantine; and whole sections of a log.

Sections are read by separate processes or Spark's tasks, and their results are added up in the log's order.

Knows whether a line is used, and when the broker worked on its requests.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from math import floor
from operator import attrgetter
from typing import NamedTuple
from zlib import crc32
from zoneinfo import ZoneInfo

from rollcall.inputs.request_log.lines.files import LogLine, in_time
from rollcall.inputs.request_log.lines.line import LineReader, Unreadable
from rollcall.inputs.request_log.lines.sections import Section
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import LoggedRequest, Quarantined, Tally
from rollcall.inputs.tolerances import BETWEEN_LINES_MS, PARKED_MS

_RAW_KEPT = 4_000
_REASON_KEPT = 400


class Reading:
    """Reads lines and keeps the tally of a log; bad lines go to `quarantine`."""

    def __init__(self, reader: LineReader, tally: Tally, quarantine: Callable[[Quarantined], None]) -> None:
        self._reader = reader
        self._tally = tally
        self._quarantine = quarantine

    def read(self, line: LogLine) -> list[LoggedRequest]:
        """The requests in a line; none for a line that is skipped or bad."""
        tally = self._tally
        self._count(line)
        try:
            logged = self._reader.read(line)
        except Unreadable as error:
            bad = Quarantined(
                file=line.file,
                line=line.number,
                reason=str(error)[:_REASON_KEPT],
                text=line.text[:_RAW_KEPT].decode("utf-8", "replace"),
            )
            tally.quarantined[error.kind] += 1
            tally.examples.setdefault(error.kind, f"{bad.file} line {bad.line}: {bad.reason}")
            self._quarantine(bad)
            return []
        if isinstance(logged, str):
            tally.skip(logged)
            return []
        if logged[0].was_refused and all(entry.was_refused for entry in logged):
            tally.skip(f"refused before it reached its group: {logged[0].recorded.error}")
        else:
            tally.used += 1
        return logged

    def _count(self, line: LogLine) -> None:
        tally = self._tally
        tally.read += 1
        if line.at_ms is not None:
            if tally.first_at_ms is None:
                tally.first_at_ms = line.at_ms
            if tally.last_at_ms is None or line.at_ms > tally.last_at_ms:
                tally.last_at_ms = line.at_ms


_CONNECTIONS_KEPT = 100_000
_LEAST_MS = 0.001


class WorkTimes:
    """Decides the times of requests, one millisecond of the log after the other."""

    def __init__(self) -> None:
        self.at_ms: int | None = None
        """The millisecond that is being read."""
        self.lines = 0
        """How many lines of it are read."""
        self.unsettled: list[tuple[int, LoggedRequest]] = []
        """Its requests, each with the place of its line."""
        self.began_ms: dict[str | None, float] = {}
        """By connection, when its last request was taken up."""

    def read(self, at_ms: int | None, logged: list[LoggedRequest]) -> list[LoggedRequest]:
        """Takes in the requests of a line, maybe none; returns those whose times are decided."""
        decided = self.rest() if at_ms != self.at_ms else []
        self.at_ms = at_ms
        for entry in logged:
            self.unsettled.append((self.lines, entry))
        self.lines += 1
        return decided

    def rest(self) -> list[LoggedRequest]:
        """The requests that were read and not given yet."""
        step_ms = min(BETWEEN_LINES_MS, 1 / max(self.lines, 1))
        unsettled, self.unsettled = self.unsettled, []
        self.lines = 0
        for place, entry in unsettled:
            self._decide(entry, place * step_ms)
        return [entry for _, entry in unsettled]

    def _decide(self, entry: LoggedRequest, later_ms: float) -> None:
        """later_ms: how far into its millisecond the answer was sent."""
        recorded, request = entry.recorded, entry.request
        began_ms = entry.began_ms + (recorded.sending_ms if recorded.remote_ms > PARKED_MS else later_ms)
        at_least_ms = self.began_ms.get(request.connection, 0.0) + _LEAST_MS
        if began_ms < at_least_ms:
            began_ms = at_least_ms
        if len(self.began_ms) >= _CONNECTIONS_KEPT:
            self.began_ms.clear()
        self.began_ms[request.connection] = began_ms
        entry.until_ms = max(entry.until_ms + later_ms, began_ms)
        request.received_at_ms = floor(recorded.answered_at_ms - recorded.total_ms + began_ms - entry.began_ms)
        entry.began_ms = began_ms


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
