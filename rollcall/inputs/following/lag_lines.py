"""Reads the lines of a followed log for lag as they pass: rows of log ends and of fetched offsets.

After a kill the rows of the last WRITE_EVERY_S may be missing or be there twice; both give the same answers. Knows when
rows are written. Must not know what a line says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.log_ends import ROWS_AT_ONCE, LagNews
from rollcall.programs.log_lines import tell
from rollcall.tables.lag_rows import append_lag

WRITE_EVERY_S = 2.0
STOOD_EVERY_S = 60.0
"""How often a row says that all partitions are unchanged."""
SAID_AFTER_LINES = 10_000
"""After this many lines without any about lag, a warning is printed."""


class LagLines:
    """The lines of a log that grows. home: where rows go. names: of topics by id, as far as known. clock: seconds."""

    def __init__(self, home: Path, names: Mapping[str, str], clock: Callable[[], float]) -> None:
        self._home, self._clock = home, clock
        self._news = LagNews(names)
        self._lines = 0
        self._written_at = self._stood_at = clock()

    def read(self, lines: Sequence[LogLine]) -> None:
        """Takes in new lines, and writes the rows that are due."""
        for line in lines:
            self._news.take_in(line)
        if self._lines < SAID_AFTER_LINES <= self._lines + len(lines) and not self._news.lines:
            tell("no line of the log is of FETCH or LIST_OFFSETS: how far groups are behind is not known.")
        self._lines += len(lines)
        now = self._clock()
        if self._news.count >= ROWS_AT_ONCE or now - self._written_at >= WRITE_EVERY_S:
            self._written_at = now
            append_lag(self._home, self._news.take())
        if now - self._stood_at >= STOOD_EVERY_S:
            self._stood_at = now
            append_lag(self._home, self._news.stood())

    def close(self) -> None:
        append_lag(self._home, self._news.rest())
