"""The files that a user names: folders walked, rotated ones in order, compressed ones opened.

Knows how files of logs are named. Must not know what stands in them.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import select
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import BinaryIO

from programs.errors import UserError

STANDARD_INPUT = "-"
BLOCK_BYTES = 16_384
PAUSE_S = 0.5
_ROTATED = re.compile(r"(?P<base>.+?\.(?:log|txt|out))\.(?P<part>[\d-]+)(?:\.gz)?\Z")


def files_of(paths: Sequence[str]) -> list[str]:
    """The files, each once, earlier ones of a rotation first. Raises UserError naming a path that is not there."""
    found: list[str] = []
    for path in paths:
        place = Path(path).expanduser()
        if path == STANDARD_INPUT:
            found.append(path)
        elif place.is_dir():
            inside = [str(file) for file in sorted(place.rglob("*")) if file.is_file()]
            if not inside:
                raise UserError(f"FILE={path}: is a folder without files.")
            found += inside
        elif place.exists():
            found.append(str(place))
        else:
            raise UserError(f"FILE={path}: there is no such file.")
    return sorted(dict.fromkeys(found), key=_age)


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
    """A file in blocks of whole lines. Raises UserError: it cannot be read."""
    if file == STANDARD_INPUT:
        yield from _blocks(sys.stdin.buffer)
        return
    try:
        with gzip.open(file) if file.endswith(".gz") else open(file, "rb") as opened:
            yield from _blocks(opened)
    except (OSError, EOFError) as error:
        raise UserError(f"FILE={file}: cannot be read: {error}.") from None


def _blocks(opened: BinaryIO | io.BufferedIOBase) -> Iterator[bytes]:
    while block := opened.read(BLOCK_BYTES):
        yield block if block.endswith(b"\n") else block + opened.readline()


def arriving_lines(descriptor: int) -> Iterator[str | None]:
    """The lines of an open pipe as they come, and None where nothing came for a moment or a moment has passed."""
    rest, paused_at_s = b"", time.monotonic()
    while True:
        is_ready = bool(select.select([descriptor], [], [], PAUSE_S)[0])
        if is_ready:
            read = os.read(descriptor, BLOCK_BYTES)
            if not read:
                break
            *lines, rest = (rest + read).split(b"\n")
            yield from map(text_of, lines)
        if not is_ready or time.monotonic() - paused_at_s > PAUSE_S:
            yield None
            paused_at_s = time.monotonic()
    if rest:
        yield text_of(rest)


def text_of(line: bytes) -> str:
    """A line without its end. Bytes that are no UTF-8 are replaced."""
    return line.decode("utf-8", "replace").rstrip("\r\n")
