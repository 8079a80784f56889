"""Replaces a file as a whole, so that a reader sees the old one or the new one, never a part."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write the new file, which then takes the place of the old one; an error leaves that. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        yield beside
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write_whole(path: Path, content: str | bytes) -> None:
    """Raises OSError."""
    with replacing(path) as beside:
        beside.write_bytes(content.encode() if isinstance(content, str) else content)
