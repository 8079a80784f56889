"""A file of items from many buckets, written as they come and read again bucket by bucket, and the tools to do so.

Must not know an item, nor what is read.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple, Protocol
from zlib import crc32

import msgspec

from rollcall.programs.processes import Processes

BUCKET_BYTES = 4 << 20
"""About how much of a log goes into one bucket."""
MOST_BUCKETS = 256
_PIECE_BYTES = 1 << 16
_encoder = msgspec.msgpack.Encoder()


class Show(Protocol):
    """Shows the name of the work, how much more of it is done, and its total."""

    def __call__(self, what: str, more: int, *, total: int) -> None: ...


class Work(NamedTuple):
    """The tools to read an input."""

    pool: Processes
    show: Show
    folder: Path
    """The folder for files in between."""
    buckets: int
    """How many buckets its groups are spread over; one process works on a bucket."""


class Piece(msgspec.Struct):
    """A part of a file: some items of one bucket."""

    bucket: int
    from_byte: int
    bytes: int
    items: int


class Spill:
    """A file that is being written; `pieces` is its index."""

    def __init__(self, path: Path) -> None:
        self.path, self.pieces = path, list[Piece]()
        self._file = path.open("wb")
        self._held: defaultdict[int, list[object]] = defaultdict(list)
        self._bytes: defaultdict[int, int] = defaultdict(int)
        self._at_byte = 0

    def add(self, bucket: int, item: object, about_bytes: int) -> None:
        """Adds an item of a bucket, of about this size."""
        self._held[bucket].append(item)
        self._bytes[bucket] += about_bytes
        if self._bytes[bucket] >= _PIECE_BYTES:
            self._write(bucket)

    def end(self) -> None:
        """Writes the last pieces and closes the file."""
        for bucket in list(self._held):
            self._write(bucket)
        self._file.close()

    def _write(self, bucket: int) -> None:
        held = self._held.pop(bucket)
        data = _encoder.encode(held)
        self._bytes[bucket] = 0
        self._file.write(data)
        self.pieces.append(Piece(bucket, self._at_byte, len(data), len(held)))
        self._at_byte += len(data)


def pieces_of(path: Path, pieces: Iterable[Piece]) -> Iterator[bytes]:
    """The pieces of a file one by one, each a list of items in MessagePack."""
    with path.open("rb") as file:
        for piece in pieces:
            file.seek(piece.from_byte)
            yield file.read(piece.bytes)


def buckets_for(log_bytes: int) -> int:
    """How many buckets a log's groups are spread over."""
    return max(1, min(MOST_BUCKETS, log_bytes // BUCKET_BYTES))


def bucket_of(group_id: str, buckets: int) -> int:
    """The bucket of a group."""
    return crc32(group_id.encode("utf-8", "surrogatepass")) % buckets
