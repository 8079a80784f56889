"""A log cut into sections that several processes can read in any order, with the same result as one reading.

A compressed file is one section. A plain file is cut where a line begins a new millisecond, its time stands for itself
(no hour that comes twice, not a day from the line above it), and some megabytes are read: there a reader needs to know
nothing of what stands above.

Knows files, bytes and timestamps; knows nothing of what a line says.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO
from zoneinfo import ZoneInfo

from rollcall.inputs.request_log.lines.clock import LogClock
from rollcall.inputs.request_log.lines.files import (
    LogFile,
    LogLine,
    is_compressed,
    is_far_ahead,
    read_lines,
    whole_lines,
)

SECTION_BYTES = 16 << 20
"""The same on every machine, so that the same log has the same sections."""
_BLOCK_BYTES = 1 << 20
_LINES_TRIED = 20_000
"""At most this many lines are looked at for a place to cut."""


@dataclass(frozen=True, slots=True)
class Section:
    """A part of one file."""

    path: Path
    label: str
    """The file's name in messages about its lines."""
    file_number: int
    """The file's place among all, by its first timestamp."""
    number: int
    """The section's place among those of the log: in a file they rise."""
    from_byte: int
    to_byte: int | None
    """None: up to the end of the file."""
    first_line: int
    """How many lines of the file stand above."""
    is_alone: bool
    """Whether the log has one file only, in which no line stands a second time."""

    def lines(self, zone: ZoneInfo) -> Iterator[LogLine]:
        """Its lines; what cannot be read is a line of its own."""
        return read_lines(self.path, self.label, zone, span=(self.from_byte, self.to_byte, self.first_line))


def sections_in(files: Sequence[LogFile], zone: ZoneInfo, section_bytes: int = 0) -> Iterator[Section]:
    """All sections of a log, those of a file in its order. files: in the order of their first timestamps."""
    number = 0
    for file_number, file in enumerate(files):
        for cut in _cuts(file.path, zone, section_bytes or SECTION_BYTES):
            yield Section(file.path, file.label, file_number, number, *cut, len(files) == 1)
            number += 1


def _cuts(path: Path, zone: ZoneInfo, section_bytes: int) -> Iterator[tuple[int, int | None, int]]:
    """First byte, the byte after the last, and lines above, of each section of a file."""
    from_byte = lines = 0
    if not is_compressed(path):
        size = path.stat().st_size
        with path.open("rb") as file:
            while size - from_byte > section_bytes + section_bytes // 2:
                found = _cut_after(file, from_byte + section_bytes, zone)
                if found is None:
                    break
                yield from_byte, found, lines
                lines += _line_ends(file, from_byte, found)
                from_byte = found
    yield from_byte, None, lines


def _cut_after(file: IO[bytes], at_byte: int, zone: ZoneInfo) -> int | None:
    """The first byte of a line near here at which a file may be cut; None if there is none."""
    file.seek(at_byte)
    file.readline()
    place = file.tell()
    clock, before_ms = LogClock(zone), None
    for text in islice(whole_lines(file), _LINES_TRIED):
        at_ms = clock.read(text)
        if at_ms is None or clock.is_ambiguous(text):
            before_ms = None
        else:
            if before_ms is not None and at_ms > before_ms and not is_far_ahead(at_ms, before_ms):
                return place
            before_ms = at_ms
        place = file.tell()
    return None


def _line_ends(file: IO[bytes], from_byte: int, to_byte: int) -> int:
    file.seek(from_byte)
    left, found = to_byte - from_byte, 0
    while left > 0 and (block := file.read(min(left, _BLOCK_BYTES))):
        found += block.count(b"\n")
        left -= len(block)
    return found
