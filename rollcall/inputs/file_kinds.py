"""What files are that a person names, by their first lines that show it: one answer for every command.

Must not know how a file of some kind is read.
"""

from __future__ import annotations

from enum import Enum, auto

from rollcall.inputs.printed.lines.files import files_of, open_blocks, path_of, text_of
from rollcall.inputs.printed.reading import REQUEST, may_matter

LOOKED_THROUGH_BYTES = 1 << 20
"""A log with lines about groups shows within these that it is a request log."""


class FileKind(Enum):
    """What a file is, or the files of a folder."""

    REQUESTS = auto()
    """A request log."""
    DUMP = auto()
    """A dump of __consumer_offsets."""
    PRINTED = auto()
    """It has lines about groups as brokers and clients print them, and is of no other kind."""
    UNKNOWN = auto()


def kind_of(path: str) -> FileKind:
    """Return what a file or a folder is; what is not there is unknown.

    Raises UserError: it cannot be read; DumpError: a dump that lacks what is needed.
    """
    from rollcall.inputs.offsets_topic.dumps.reading import DumpError, is_dump  # Takes time.

    place = path_of(path)
    is_there = place.exists() and (not place.is_dir() or any(place.iterdir()))
    files = files_of([path]) if is_there else []
    for file in files:
        place = path_of(file)
        try:
            if is_dump(place):
                return FileKind.DUMP
        except DumpError as error:
            raise DumpError(str(error).replace(str(place), file)) from None
    kind = FileKind.UNKNOWN
    for file in files:
        read = 0
        for block in open_blocks(file):
            read += len(block)
            if REQUEST in block:
                return FileKind.REQUESTS
            if kind is FileKind.UNKNOWN and may_matter(text_of(block)):
                kind = FileKind.PRINTED
            if kind is FileKind.PRINTED and read >= LOOKED_THROUGH_BYTES:
                break
    return kind
