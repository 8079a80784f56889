"""The files that a user names: folders walked, rotated ones in order, compressed ones opened.

Knows how files of logs are named. Must not know what stands in them.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import BinaryIO

from rollcall.programs.errors import UserError

STANDARD_INPUT = "-"
BLOCK_BYTES = 16_384
BYTES_AT_ONCE = 4 << 20
PAUSE_S = 0.5
LINE_BYTES = 1 << 20
"""Maximum length of a line. The rest of a longer one is skipped."""
CUT_MARK = " [cut: this line is longer than 1 MB]"
"""The end of a line that was cut, so that it is not taken for a whole one."""
_GZIP_MAGIC = b"\x1f\x8b"
_COPIES: dict[str, TemporaryDirectory[str]] = {}
"""Folders with the copies of files that come once, by file."""
_ROTATED = re.compile(r"(?P<base>.+?\.(?:log|txt|out))\.(?P<part>[\d-]+)(?:\.gz)?\Z")


def files_of(paths: Sequence[str]) -> list[str]:
    """The files, each once, earlier ones of a rotation first. Raises UserError naming a path that is not there."""
    found: list[str] = []
    for path in paths:
        place = Path(path).expanduser()
        if path == STANDARD_INPUT:
            found.append(path)
        elif place.is_dir():
            inside = [str(one) for one in sorted(place.rglob("*")) if one.is_file() and not one.name.startswith(".")]
            if not inside:
                raise UserError(f"{path}: is a folder without files.")
            found += inside
        elif place.exists():
            if _is_device(place):
                raise UserError(f"{path}: is a device. Name a file, a folder or a pipe, or - for standard input.")
            found.append(str(place))
        else:
            raise UserError(f"{path}: there is no such file.")
    return sorted(dict.fromkeys(found), key=_age)


def _is_device(place: Path) -> bool:
    """Return True for a device that may never end, as /dev/zero: any but a terminal and /dev/null."""
    mode = place.stat().st_mode
    if not stat.S_ISCHR(mode) or place.samefile(os.devnull):
        return stat.S_ISBLK(mode)
    descriptor = os.open(place, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
    try:
        return not os.isatty(descriptor)
    finally:
        os.close(descriptor)


def comes_once(file: str) -> bool:
    """Return True if a file cannot be read again: standard input, a pipe or a terminal."""
    return file == STANDARD_INPUT or Path(file).is_fifo() or Path(file).is_char_device()


@contextmanager
def copies_removed() -> Iterator[None]:
    """Remove at the end the copies that path_of made."""
    try:
        yield
    finally:
        while _COPIES:
            _COPIES.popitem()[1].cleanup()


def path_of(file: str) -> Path:
    """Return where a file can be read, as often as wanted: one that comes once is copied to a temporary file.

    Raises UserError: it cannot be copied.
    """
    if not comes_once(file):
        return Path(file)
    name = Path(file).name
    try:
        if file not in _COPIES:
            folder = _COPIES[file] = TemporaryDirectory(prefix="rollcall-")
            with (
                open(
                    sys.stdin.fileno() if file == STANDARD_INPUT else file, "rb", closefd=file != STANDARD_INPUT
                ) as come,
                open(Path(folder.name) / name, "wb") as copy,
            ):
                shutil.copyfileobj(come, copy)
        return Path(_COPIES[file].name) / name
    except OSError as error:
        raise UserError(f"{file}: cannot be copied to a temporary file: {error}. Set TMPDIR.") from None


def _age(file: str) -> tuple[str, int, tuple[int, ...]]:
    """Of one log's files: those named by a time rise, those that logrotate numbers fall, the current one is last."""
    rotated = _ROTATED.match(file)
    if rotated is None:
        return file.removesuffix(".gz"), 1, ()
    part = rotated["part"]
    numbers = tuple(int(number) for number in part.split("-") if number)
    is_a_date = "-" in part or len(part) > 4
    return rotated["base"], 0, numbers if is_a_date else tuple(-number for number in numbers)


def open_blocks(file: str) -> Iterator[bytes]:
    """A file in blocks of whole lines, decompressed if it begins as gzip's do. Raises UserError: it cannot be read."""
    try:
        with open(path_of(file), "rb") as opened:
            is_gzip = opened.peek(2).startswith(_GZIP_MAGIC)
            yield from _blocks(gzip.GzipFile(fileobj=opened) if is_gzip else opened)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file}: cannot be read: {error}.") from None


def _blocks(opened: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    while block := opened.read(BLOCK_BYTES):
        if not block.endswith(b"\n"):
            block += opened.readline(LINE_BYTES)
            last = block.rfind(b"\n", 0, -1) + 1
            if len(block) - last > LINE_BYTES:
                skipped = block
                while skipped and not skipped.endswith(b"\n"):
                    skipped = opened.readline(BLOCK_BYTES)
                block = block[:last] + _cut(block[last:])
        yield block


def _cut(line: bytes) -> bytes:
    return line[:LINE_BYTES] + CUT_MARK.encode() + b"\n"


def ends_cut(text: str | bytes) -> bool:
    """Return True if the last line of a text was cut."""
    if isinstance(text, bytes):
        return len(text) > LINE_BYTES and text.endswith(CUT_MARK.encode() + b"\n")
    return 4 * len(text) > LINE_BYTES and text.endswith(CUT_MARK)


def arriving_lines(descriptor: int) -> Iterator[tuple[list[str], bool]]:
    """The lines of an open pipe, those of a moment at once, and whether nothing came for a moment after them."""
    rest, lines, read_bytes, given_at_s = bytearray(), list[str](), 0, time.monotonic()
    while True:
        is_ready = bool(select.select([descriptor], [], [], PAUSE_S)[0])
        if is_ready:
            read = os.read(descriptor, BLOCK_BYTES)
            if not read:
                break
            for place, piece in enumerate(read.split(b"\n")):
                if place:
                    lines.append(_line_of(rest))
                    rest.clear()
                if len(rest) <= LINE_BYTES:
                    rest += piece
            read_bytes += len(read)
        if not is_ready or read_bytes >= BYTES_AT_ONCE or time.monotonic() - given_at_s > PAUSE_S:
            yield lines, not is_ready
            lines, read_bytes, given_at_s = [], 0, time.monotonic()
    yield [*lines, *([_line_of(rest)] if rest else [])], True


def _line_of(rest: bytearray) -> str:
    line = bytes(rest)
    return text_of(line if len(line) <= LINE_BYTES else _cut(line))


def text_of(line: bytes) -> str:
    """A line without its end. Bytes that are not UTF-8 are replaced."""
    return line.decode("utf-8", "replace").rstrip("\r\n")
