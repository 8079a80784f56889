"""The files of a log as one sequence of lines in order of time: one file, a rotated series, several brokers' files.

A file is opened only when the lines before it have reached its first timestamp, so a month of rotated files needs few
open files at once. Compressed files are known by their first bytes. A line without a timestamp stays behind the line
above it. A line that stands word for word in two files is given once.

Knows files and timestamps; knows nothing of what a line says.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import IO, NamedTuple
from zoneinfo import ZoneInfo

from programs.errors import UserError
from request_log.lines.clock import LogClock

_IS_LOG = re.compile(r"\.log($|[.-])|\.gz$")
_GZIP_MAGIC = b"\x1f\x8b"
_LINES_TO_FIRST_TIMESTAMP = 1000
_SKIPPED_BYTES = 1 << 16
_HELD = 1000
LINE_MAX_BYTES = 16 << 20
"""A longer line is not read: no broker logs one, and a compressed file may hold any."""
STRAY_MS = 86_400_000
"""A single line this far ahead of its neighbours has a wrong time."""
BROKEN_END = b""
"""The text of a line that stands for the rest of a file that cannot be read."""


class LogFileError(UserError):
    """A path that holds no log; the text names it."""


class LogLine(NamedTuple):
    """One line of one file."""

    file: str
    number: int
    """Its place in the file, from 1."""
    at_ms: int | None
    """Its timestamp, else that of the line above, else None."""
    text: bytes
    """The line without its end."""
    broken: str = ""
    """Why the file cannot be read beyond this line, which has no text then; empty for any other line."""


def find_files(path: Path) -> list[Path]:
    """The file itself, or all log files in and below a folder. Raises LogFileError."""
    if path.is_file():
        return [path]
    if not path.is_dir():
        raise LogFileError(f"LOG={path}: there is no such file or folder")
    found = sorted(p for p in path.rglob("*") if p.is_file() and _IS_LOG.search(p.name) and not p.name.startswith("."))
    if not found:
        raise LogFileError(f"LOG={path}: no file in this folder is named like a log (*.log, *.log.*, *.gz)")
    return found


def about_bytes(path: Path) -> int:
    """About how many bytes of lines there are; a compressed file is taken for a tenth. Raises LogFileError."""
    return sum(file.stat().st_size * (10 if file.suffix == ".gz" else 1) for file in find_files(path))


@dataclass(slots=True)
class _Source:
    """One file."""

    path: Path
    label: str
    """Its name in what is told of its lines."""
    first_ms: int
    """Its first timestamp."""
    lines: Iterator[LogLine] | None = None
    """The lines that are not read yet; None before it is opened."""
    line: LogLine | None = None
    """The line to give next; None at the end."""

    def step(self) -> None:
        self.line = next(self.lines, None) if self.lines is not None else None


@dataclass(slots=True)
class LogFiles:
    """The lines of a log."""

    path: Path
    zone: ZoneInfo
    holding: re.Pattern[bytes] | None = None
    """Lines without a match are passed over, except for each file's last; None: all lines are given."""
    _sources: list[_Source] = field(default_factory=list)

    def __post_init__(self) -> None:
        paths = find_files(self.path)
        root = self.path if self.path.is_dir() else self.path.parent
        for path in paths:
            first_ms = self._first_ms(path)
            self._sources.append(_Source(path, str(path.relative_to(root)), first_ms))
        self._sources.sort(key=lambda source: (source.first_ms, source.label))

    def _first_ms(self, path: Path) -> int:
        """The first timestamp near the top; a file without one comes first, so that what it holds is seen."""
        for line in read_lines(path, path.name, self.zone):
            if line.at_ms is not None:
                return line.at_ms
            if line.number >= _LINES_TO_FIRST_TIMESTAMP:
                break
        return 0

    def __iter__(self) -> Iterator[LogLine]:
        """All lines in order of time, those of one file in its order."""
        waiting = self._sources[::-1]
        while waiting:
            active = [self._open(waiting.pop())]
            while active:
                if len(active) == 1 and not (waiting and _has_reached(active[0], waiting[-1])):
                    yield from self._alone(active[0], waiting[-1].first_ms if waiting else None)
                while waiting and any(_has_reached(source, waiting[-1]) for source in active):
                    active.append(self._open(waiting.pop()))
                if len(active) > 1:
                    yield from self._merged(active, waiting[-1].first_ms if waiting else None)
                active = [source for source in active if source.line is not None]

    def _open(self, source: _Source) -> _Source:
        source.lines = read_lines(source.path, source.label, self.zone, self.holding)
        source.step()
        return source

    @staticmethod
    def _alone(source: _Source, until_ms: int | None) -> Iterator[LogLine]:
        line = source.line
        lines = source.lines or iter(())
        while line is not None and (until_ms is None or line.at_ms is None or line.at_ms < until_ms):
            yield line
            line = next(lines, None)
        source.line = line

    @staticmethod
    def _merged(active: list[_Source], until_ms: int | None) -> Iterator[LogLine]:
        """The lines of several files by timestamp, until one of them ends or the next file begins."""
        at_ms: int | None = None
        seen: dict[bytes, str] = {}
        while all(source.line is not None for source in active):
            source = min(active, key=_next_ms)
            line = source.line
            assert line is not None
            if until_ms is not None and (line.at_ms or 0) >= until_ms:
                return
            if line.at_ms != at_ms:
                at_ms = line.at_ms
                seen.clear()
            if seen.setdefault(line.text, line.file) == line.file:
                yield line
            source.step()


def _next_ms(source: _Source) -> int:
    return source.line.at_ms or 0 if source.line is not None else 0


def _has_reached(source: _Source, later: _Source) -> bool:
    return source.line is not None and (source.line.at_ms or 0) >= later.first_ms


def read_lines(path: Path, label: str, zone: ZoneInfo, holding: re.Pattern[bytes] | None = None) -> Iterator[LogLine]:
    """All lines of a file, or those that hold a match and the last; what cannot be read is a line of its own."""
    clock = LogClock(zone)
    number, at_ms = 0, None
    passed_over: bytes | None = None
    try:
        with opened(path) as file:
            for text, at_ms in _timed(whole_lines(file), clock):
                number += 1
                passed_over = text if holding is not None and holding.search(text) is None else None
                if passed_over is None:
                    yield LogLine(label, number, at_ms, text.rstrip(b"\r\n"))
        if passed_over is not None:
            yield LogLine(label, number, at_ms, passed_over.rstrip(b"\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        yield LogLine(label, number + 1, at_ms, BROKEN_END, f"the file cannot be read from here on: {error}")


def _timed(texts: Iterable[bytes], clock: LogClock) -> Iterator[tuple[bytes, int | None]]:
    """Each line with its time: its own timestamp, else the time of the line above it.

    The timestamp of a single line that is a day ahead of both its neighbours is wrong, and not used.
    """
    at_ms: int | None = None
    far_ms = 0
    held: list[bytes] = []
    for text in texts:
        read_ms = clock.read(text)
        if held and (read_ms is not None or len(held) >= _HELD):
            at_ms = at_ms if is_far_ahead(far_ms, read_ms) else far_ms
            yield from ((line, at_ms) for line in held)
            held.clear()
        if held or (read_ms is not None and is_far_ahead(read_ms, at_ms)):
            far_ms = far_ms if held else read_ms or 0
            held.append(text)
            continue
        if read_ms is not None:
            at_ms = read_ms
        yield text, at_ms
    yield from ((line, far_ms) for line in held)


def is_far_ahead(at_ms: int, before_ms: int | None) -> bool:
    """Whether a time is a day or more ahead of another one; False if that is None."""
    return before_ms is not None and at_ms - before_ms > STRAY_MS


def whole_lines(file: IO[bytes]) -> Iterator[bytes]:
    """The lines of a file, each with its end; of a line that is too long the beginning, one byte over the maximum."""
    for text in iter(partial(file.readline, LINE_MAX_BYTES + 1), b""):
        yield text
        if is_too_long(text):
            skip_line(file)


def is_too_long(text: bytes) -> bool:
    """Whether what was read with `LINE_MAX_BYTES + 1` is the beginning of a longer line."""
    return len(text) > LINE_MAX_BYTES and not text.endswith(b"\n")


def skip_line(file: IO[bytes]) -> int:
    """Reads up to the end of a line and keeps nothing of it; returns how many bytes."""
    skipped = 0
    for text in iter(partial(file.readline, _SKIPPED_BYTES), b""):
        skipped += len(text)
        if text.endswith(b"\n"):
            break
    return skipped


def opened(path: Path) -> IO[bytes]:
    """A file for reading, decompressed if it has to be."""
    file = path.open("rb")
    magic = file.read(2)
    file.seek(0)
    return gzip.open(file) if magic == _GZIP_MAGIC else file  # type: ignore[return-value]
