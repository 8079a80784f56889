"""Replaces a small file as a whole, so that a reader sees the old text or the new one, never a part."""

from __future__ import annotations

import os
from pathlib import Path


def write_whole(path: Path, content: str | bytes) -> None:
    """Writes beside the file, then puts the new one in its place. Raises OSError."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_bytes(content.encode() if isinstance(content, str) else content)
    os.replace(beside, path)
