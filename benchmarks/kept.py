"""Figures in a file of JSON lines, with the machine that they ran on: a page may be made of runs at several times.

A bench that is measured anew takes the place of what it gave before. Must not know what is measured.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

from benchmarks.figures import Figure

_CPU_INFO = Path("/proc/cpuinfo")


class Machine(NamedTuple):
    """What figures depend on."""

    processor: str
    cores: int
    memory_gb: int
    system: str
    python: str
    day: str
    """UTC, when it was measured."""
    load: float
    """The load average of the last quarter of an hour, including the measurement."""


def this_machine() -> Machine:
    """This machine, now; its processor's name if the system gives it, else its kind."""
    described = _CPU_INFO.read_text() if _CPU_INFO.exists() else ""
    names = [line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")]
    return Machine(
        processor=names[0] if names else platform.machine(),
        cores=os.cpu_count() or 1,
        memory_gb=round(psutil.virtual_memory().total / 2**30),
        system=f"{platform.system()} {platform.release()}",
        python=platform.python_version(),
        day=time.strftime("%Y-%m-%d", time.gmtime()),
        load=os.getloadavg()[2],
    )


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
