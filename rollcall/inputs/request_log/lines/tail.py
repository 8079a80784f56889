"""A log file that grows, and is rotated: its lines as they are written, and a position from which to continue.

A line is given once its end is written. When the file is renamed or copied away and begins anew, the rest of the old
file is read first, then the files that were rotated since, oldest first, then the new file. A file is known by its
beginning, not by its name, because the names of rotated files change. Lines are numbered through all files.

Knows files and timestamps; knows nothing of what a line says.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from glob import escape
from pathlib import Path
from typing import IO, NamedTuple
from zoneinfo import ZoneInfo

import msgspec

from rollcall.inputs.request_log.lines.clock import LogClock
from rollcall.inputs.request_log.lines.files import (
    LINE_MAX_BYTES,
    LogFileError,
    LogLine,
    first_ms_of,
    is_far_ahead,
    is_too_long,
    opened,
    whole_lines,
)

_HEAD_BYTES = 512
"""A file is identified by this much of its first line."""
_SKIPPED_BYTES = 1 << 16


class Position(msgspec.Struct):
    """How far a log was read."""

    head: bytes = b""
    """The beginning of the file being read; empty before its first line is there."""
    offset: int = 0
    """How many bytes of that file were read."""
    first_ms: int = 0
    """The first timestamp of that file."""
    number: int = 0
    """How many lines were given so far, of all files together."""
    at_ms: int | None = None
    """The last line's timestamp."""
    is_in_long_line: bool = False
    """Whether the next bytes belong to a line that is too long and was given already."""


class _Rotated(NamedTuple):
    first_ms: int
    head: bytes
    path: Path


@dataclass(slots=True)
class LogTail:
    """Follows one path: `poll` gives the new lines, `position` is behind them. Making one raises LogFileError."""

    path: Path
    zone: ZoneInfo
    position: Position = field(default_factory=Position)
    first_ms_of: Callable[[Path, ZoneInfo], int] = first_ms_of
    """The first timestamp of a file, by which rotated ones are put in order; 0 if there is none."""
    _file: IO[bytes] | None = None
    _clock: LogClock = field(init=False)

    def __post_init__(self) -> None:
        self._clock = LogClock(self.zone)
        if self.path.is_dir():
            raise LogFileError(f"{self.path}: is a folder: name the file that grows, as kafka-request.log")
        if not self.path.exists() and not self.position.head:
            raise LogFileError(f"{self.path}: there is no such file")
        if self.path.exists() and not os.access(self.path, os.R_OK):
            raise LogFileError(f"{self.path}: may not be read by this user")

    def poll(self, lines_at_most: int) -> list[LogLine]:
        """The lines that were written since, at most this many; none if there are no more by now."""
        if self._file is None and not self._open():
            return []
        lines = self._read(lines_at_most) if self._is_still_there() else []
        # Whether the path is another file by now, or the same one begun anew.
        if not lines and _head_of(self.path) not in (self.position.head, b""):
            if not self._is_still_there() and not self._go_on_in(self._siblings()):
                self._begin_next()
                return []
            lines = self._read(lines_at_most) or self._finish()
        return lines

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    # ------------------------------------------------------------ one file

    def _open(self) -> bool:
        """Opens the file that the position is in; a new log's is the path itself. False: there is no line in it yet."""
        if not self.position.head:
            return self._begin(self.path)
        # If no file is the one, it was deleted, with the lines that were not read.
        return self._go_on_in((self.path, *self._siblings())) or self._begin_next()

    def _go_on_in(self, paths: Iterable[Path]) -> bool:
        """Opens the one of some files that the position is in; False if there is none."""
        for path in paths:
            if _head_of(path) == self.position.head:
                self.close()
                self._file = opened(path)
                self._file.seek(self.position.offset)
                return True
        return False

    def _begin(self, path: Path) -> bool:
        head = _head_of(path)
        if not head:
            return False
        self._file = opened(path)
        position = self.position
        position.head, position.offset, position.is_in_long_line = head, 0, False
        position.first_ms = self.first_ms_of(path, self.zone) or position.first_ms
        return True

    def _read(self, lines_at_most: int) -> list[LogLine]:
        """Whole lines from here on; a last one without its end is left for later."""
        assert self._file is not None
        lines: list[LogLine] = []
        while len(lines) < lines_at_most:
            try:
                if self.position.is_in_long_line and not self._skip_long_line():
                    break
                text = self._file.readline(LINE_MAX_BYTES + 1)
            except (OSError, EOFError, zlib.error) as error:
                lines.append(self._line(b"", f"the file cannot be read from here on: {error}"))
                self._begin_next()
                break
            is_whole = text.endswith(b"\n") or is_too_long(text)
            is_stray = is_whole and self._is_far_ahead(text) and self._is_stray()
            if not is_whole or is_stray is None:
                self._file.seek(self.position.offset)
                break
            self.position.offset += len(text)
            self.position.is_in_long_line = is_too_long(text)
            self._file.seek(self.position.offset)
            lines.append(self._line(text, has_time=not is_stray))
        return lines

    def _skip_long_line(self) -> bool:
        """Whether the end of a line that is too long is reached; what is there of it is passed over."""
        assert self._file is not None
        text = b""
        for text in iter(partial(self._file.readline, _SKIPPED_BYTES), b""):
            self.position.offset += len(text)
            if text.endswith(b"\n"):
                self.position.is_in_long_line = False
                break
        return not self.position.is_in_long_line

    def _is_far_ahead(self, text: bytes) -> bool:
        """Whether a line is a day or more later than the one above it."""
        at_ms = self._clock.read(text)
        return at_ms is not None and is_far_ahead(at_ms, self.position.at_ms)

    def _is_stray(self) -> bool | None:
        """Whether the next line is earlier, so that this line's time is wrong; None: the next line is not there yet."""
        assert self._file is not None
        text = self._file.readline(LINE_MAX_BYTES + 1)
        return not self._is_far_ahead(text) if text.endswith(b"\n") or is_too_long(text) else None

    def _line(self, text: bytes, broken: str = "", *, has_time: bool = True) -> LogLine:
        position = self.position
        position.number += 1
        at_ms = self._clock.read(text) if has_time else None
        if at_ms is not None:
            position.at_ms = at_ms
        return LogLine(self.path.name, position.number, position.at_ms, text.rstrip(b"\r\n"), broken)

    # ------------------------------------------------------------ rotation

    def _is_still_there(self) -> bool:
        """Whether the open file still begins as it did, and was not emptied and written anew."""
        assert self._file is not None
        file: object = self._file
        if isinstance(file, gzip.GzipFile):
            return True
        return os.pread(self._file.fileno(), len(self.position.head), 0) == self.position.head

    def _finish(self) -> list[LogLine]:
        """The last line of a rotated file, which may lack its end, and the beginning of the next file."""
        assert self._file is not None
        texts = [] if self.position.is_in_long_line else list(whole_lines(self._file))
        self.position.offset += sum(map(len, texts))
        lines = [self._line(text) for text in texts]
        self._begin_next()
        return lines

    def _begin_next(self) -> bool:
        """Leaves the file being read, and begins the oldest one that is younger."""
        self.close()
        later = [
            _Rotated(first_ms, head, path)
            for path in self._siblings()
            if (head := _head_of(path)) not in (b"", self.position.head, _head_of(self.path))
            and (first_ms := self.first_ms_of(path, self.zone)) > self.position.first_ms
        ]
        path = min(later).path if later else self.path
        return self._begin(path)

    def _siblings(self) -> Iterator[Path]:
        """The files beside the log whose names begin with its own."""
        for path in sorted(self.path.parent.glob(f"{escape(self.path.name)}?*")):
            if path.is_file():
                yield path


def _head_of(path: Path) -> bytes:
    """The beginning of a file's first line; empty if that is not whole yet, or there is no file."""
    try:
        with opened(path) as file:
            line = file.readline(LINE_MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error):
        return b""
    return line[:_HEAD_BYTES] if line.endswith(b"\n") or is_too_long(line) else b""
