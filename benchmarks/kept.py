"""Figures in a file of JSON lines, so that a page may be made of runs at several times.

A bench that is measured anew takes the place of what it gave before. Knows the file; must not know what is measured.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec

from benchmarks.figures import Figure
from benchmarks.machine import Machine


class Measured(NamedTuple):
    """A figure, the bench that gave it (`layer.name`), and the machine as it was then."""

    bench: str
    figure: Figure
    machine: Machine

    @property
    def layer(self) -> str:
        return self.bench.partition(".")[0]


def read_kept(path: Path) -> list[Measured]:
    """What a file holds; nothing where there is none."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Measured) for line in lines]


def keep(path: Path, measured: Iterable[Measured]) -> list[Measured]:
    """Writes what was measured beside what the file holds of other benches; returns all of it, layer by layer."""
    new = list(measured)
    anew = {each.bench for each in new}
    kept = sorted([each for each in read_kept(path) if each.bench not in anew] + new, key=lambda each: each.layer)
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in kept))
    return kept
