"""The homes that earlier versions left, packed by `make_homes`, and what those versions told of them.

Knows how they are packed. Must not know what a version does.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

HOMES = Path(__file__).parent / "homes"
TOLD = "told.json"
JOB, SHADOW, DUMP = "job", "shadow", "dump"
VERSIONS = sorted(path.name.removesuffix(".tar.gz") for path in HOMES.glob("*.tar.gz") if path.name != "v1.tar.gz")


class Told(NamedTuple):
    """What a version told of one home; nulls are left out."""

    views: dict[str, list[dict[str, Any]]]
    """The rows of each view."""
    why: dict[str, list[dict[str, Any]]]
    """The lines of `make why` of each rebalance, by "GROUP GENERATION"."""


class Earlier(NamedTuple):
    """A version's homes, unpacked."""

    folder: Path
    told: dict[str, Told]
    """By home."""

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name


def unpacked(version: str, folder: Path) -> Earlier:
    """The homes of a version in a folder of one's own."""
    with tarfile.open(HOMES / f"{version}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    told = json.loads((folder / TOLD).read_text())
    return Earlier(folder, {name: Told(**each) for name, each in told.items()})
