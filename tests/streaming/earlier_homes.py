"""The homes that earlier versions left, packed by `make_homes` or with their cluster, and what those versions reported.

Knows how they are packed. Must not know what a version does.
"""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any, NamedTuple

HOMES = Path(__file__).parent / "homes"
REPORTED = "told.json"
JOB, SHADOW, DUMP, TOPIC = "job", "shadow", "dump", "topic"
CLUSTER, WITH_CLUSTER = "cluster", "-with-cluster"
_PACKED = {path.name.removesuffix(".tar.gz") for path in HOMES.glob("*.tar.gz")}
CLUSTERS = sorted(name for name in _PACKED if name.endswith(WITH_CLUSTER))
"""Each has the home of a topic's shadow, and beside it the data of the cluster that it follows."""
VERSIONS = sorted(_PACKED - set(CLUSTERS))


class Reported(NamedTuple):
    """What a version reported of one home; nulls are left out."""

    views: dict[str, list[dict[str, Any]]]
    """The rows of each view."""
    why: dict[str, list[dict[str, Any]]]
    """The lines of `make why` of each rebalance, by "GROUP GENERATION"."""


class Earlier(NamedTuple):
    """A version's homes, unpacked."""

    folder: Path
    reported: dict[str, Reported]
    """By home."""

    def home(self, name: str) -> Path:
        return self.folder / "homes" / name


def unpacked(version: str, folder: Path) -> Earlier:
    """The homes of a version in a folder of one's own."""
    with tarfile.open(HOMES / f"{version}.tar.gz") as packed:
        packed.extractall(folder, filter="data")
    reported = json.loads((folder / REPORTED).read_text())
    return Earlier(folder, {name: Reported(**each) for name, each in reported.items()})
