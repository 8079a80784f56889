"""The files of a log as one sequence of lines in order of time: one file, a rotated series, several brokers' files.

A file is opened only when the lines before it have reached its first timestamp, so a month of rotated files needs few
open files at once. Compressed files are known by their first bytes. A line without a timestamp stays behind the line
above it. A line that is identical in two files is given once.

Knows files and timestamps; knows nothing of what a line says.
"""

from __future__ import annotations

import gzip
import re
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from heapq import heappop, heappush
from pathlib import Path
from typing import IO, NamedTuple, TypeVar
from zoneinfo import ZoneInfo

from rollcall.inputs.request_log.lines.clock import LogClock
from rollcall.programs.errors import UserError

T = TypeVar("T")
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
    file: str
    number: int
    """Its place in the file, from 1."""
    at_ms: int | None
    """Its timestamp, or that of the line above, or None."""
    text: bytes
    """The line without its end."""
    broken: str = ""
    """Why the file cannot be read beyond this line, which has no text then; empty for any other line."""


def about_bytes_of(files: Iterable[Path]) -> int:
    """About how many bytes of lines files have; a compressed one is taken for a tenth."""
    return sum(file.stat().st_size * (10 if is_compressed(file) else 1) for file in files)


class LogFile(NamedTuple):
    first_ms: int
    """The first timestamp near the top; 0 without one, so that it comes first and what it holds is seen."""
    label: str
    """Its name in messages about its lines."""
    path: Path


def files_in_order(path: Path, zone: ZoneInfo) -> list[LogFile]:
    """A file, or all log files in and below a folder, by their first timestamps. Raises LogFileError: there is none."""
    if path.is_file():
        return in_order({path: path.name}, zone)
    if not path.is_dir():
        raise LogFileError(f"{path}: there is no such file or folder")
    found = sorted(p for p in path.rglob("*") if p.is_file() and _IS_LOG.search(p.name) and not p.name.startswith("."))
    if not found:
        raise LogFileError(f"{path}: no file in this folder is named like a log (*.log, *.log.*, *.gz)")
    return in_order({file: str(file.relative_to(path)) for file in found}, zone)


def in_order(labels: Mapping[Path, str], zone: ZoneInfo) -> list[LogFile]:
    """Files by their first timestamps. labels: their names in messages about their lines."""
    return sorted(LogFile(first_ms_of(file, zone), label, file) for file, label in labels.items())


def first_ms_of(path: Path, zone: ZoneInfo) -> int:
    """The first timestamp near the top of a file; 0 if there is none."""
    for line in read_lines(path, path.name, zone):
        if line.at_ms is not None:
            return line.at_ms
        if line.number >= _LINES_TO_FIRST_TIMESTAMP:
            break
    return 0


def lines_in_order(files: Sequence[LogFile], zone: ZoneInfo) -> Iterator[LogLine]:
    """All lines of a log in order of time, those of one file in its order.

    files: in the order of their first timestamps.
    """
    lines = [(file.first_ms, read_lines(file.path, file.label, zone)) for file in files]
    if len(lines) == 1:
        yield from lines[0][1]
        return
    at_ms, seen = 0, dict[bytes, str]()
    for line_ms, line in in_time(lines, lambda line: line.at_ms or 0):
        if line_ms != at_ms:
            at_ms = line_ms
            seen.clear()
        if seen.setdefault(line.text, line.file) == line.file:
            yield line


def read_lines(
    path: Path, label: str, zone: ZoneInfo, span: tuple[int, int | None, int] = (0, None, 0)
) -> Iterator[LogLine]:
    """All lines of a file; what cannot be read is a line of its own.

    span: the first byte to read, the byte after the last (None: the file's end), and how many lines stand above.
    """
    clock = LogClock(zone)
    from_byte, to_byte, number = span
    at_ms: int | None = None
    try:
        with opened(path) as file:
            if from_byte:
                file.seek(from_byte)
            texts = whole_lines(file) if to_byte is None else _lines_within(file, to_byte - from_byte)
            for text, at_ms in _timed(texts, clock):
                number += 1
                yield LogLine(label, number, at_ms, text.rstrip(b"\r\n"))
    except (OSError, EOFError, zlib.error) as error:
        yield LogLine(label, number + 1, at_ms, BROKEN_END, f"the file cannot be read from here on: {error}")


def _timed(texts: Iterable[bytes], clock: LogClock) -> Iterator[tuple[bytes, int | None]]:
    """Each line with its time: its own timestamp, or the time of the line above it.

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


def _lines_within(file: IO[bytes], bytes_left: int) -> Iterator[bytes]:
    """The lines of the next `bytes_left` bytes, at whose end a line ends."""
    while bytes_left > 0 and (text := file.readline(LINE_MAX_BYTES + 1)):
        bytes_left -= len(text)
        yield text
        if is_too_long(text):
            bytes_left -= skip_line(file)


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


def is_compressed(path: Path) -> bool:
    """Whether a file begins as gzip's do; one that cannot be read does not."""
    with suppress(OSError), path.open("rb") as file:
        return file.read(2) == _GZIP_MAGIC
    return False


def opened(path: Path) -> IO[bytes]:
    """A file for reading, decompressed if it has to be."""
    return gzip.open(path) if is_compressed(path) else path.open("rb")  # type: ignore[return-value]


def in_time(files: Iterable[tuple[int, Iterator[T]]], time_of: Callable[[T], int]) -> Iterator[tuple[int, T]]:
    """The things of several files by time, those of each in its order, each with its time.

    A thing that is earlier than one above it in its file counts as that late; of one time those of earlier files come
    first. files: each with a time that nothing in it is before. A file is begun when its time is reached, so a month of
    rotated files has few open at once.
    """
    waiting = deque(sorted(((from_ms, number, left) for number, (from_ms, left) in enumerate(files))))
    begun: list[tuple[int, int, T, Iterator[T]]] = []
    while waiting or begun:
        if waiting and (not begun or waiting[0][0] <= begun[0][0]):
            at_ms, number, left = waiting.popleft()
        else:
            at_ms, number, thing, left = heappop(begun)
            yield at_ms, thing
        for thing in left:
            heappush(begun, (max(at_ms, time_of(thing)), number, thing, left))
            break
