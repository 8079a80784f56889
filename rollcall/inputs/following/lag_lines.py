"""Reads the lines of a followed log for lag as they pass: rows of log ends and of fetched offsets.

After a kill the rows of the last WRITE_EVERY_S may be missing or be there twice; both give the same answers. Knows when
rows are written. Must not know what a line says.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

from rollcall.inputs.following.source import Tail
from rollcall.inputs.request_log.lines.files import LogLine
from rollcall.inputs.request_log.lines.tail import Position
from rollcall.inputs.request_log.log_ends import ROWS_AT_ONCE, LagNews
from rollcall.programs.log_lines import tell
from rollcall.tables.lag_rows import append_lag

WRITE_EVERY_S = 2.0
STOOD_EVERY_S = 60.0
"""How often a row says that all partitions are unchanged."""
SAID_AFTER_LINES = 10_000
"""After this many lines without any about lag, a warning is printed."""


class LagLines:
    """The lines of another tail. home: where rows go. clock: seconds."""

    def __init__(self, tail: Tail[LogLine, Position], home: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._tail, self._home, self._clock = tail, home, clock
        self._news = LagNews()
        self._lines = 0
        self._written_at = self._stood_at = clock()

    @property
    def position(self) -> Position:
        return self._tail.position

    def poll(self, at_most: int) -> Sequence[LogLine]:
        lines = self._tail.poll(at_most)
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
        return lines

    def close(self) -> None:
        append_lag(self._home, self._news.rest())
        self._tail.close()
