"""The cases that once found something, kept so that they never do again: a file each, under the name of their input.

Knows files; knows no input.
"""

from __future__ import annotations

import base64
import hashlib
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec

FOLDER = Path(__file__).parent / "cases"


class Kept(msgspec.Struct):
    """A case, and what led to it where it does nothing by itself."""

    input: str
    found: str
    """What it found, once."""
    cases: list[str]
    """Compressed, as base64, in the order they are played after a start; the last one found it."""

    def played(self) -> list[bytes]:
        return [zlib.decompress(base64.b64decode(case)) for case in self.cases]


def keep(folder: Path, name: str, found: str, cases: Sequence[bytes]) -> Path:
    """Writes a case; where it is."""
    kept = Kept(name, found, [base64.b64encode(zlib.compress(case)).decode() for case in cases])
    mark = hashlib.sha256(found.encode()).hexdigest()[:12]
    path = folder / name / f"{mark}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(kept)) + b"\n")
    return path


def kept_cases(folder: Path = FOLDER) -> Iterator[tuple[Path, Kept]]:
    """Every case there is."""
    for path in sorted(folder.glob("*/*.json")):
        yield path, msgspec.json.decode(path.read_bytes(), type=Kept)
