"""Figures that are kept as JSON lines, beside the machine that they ran on, and docs/performance.md made of them.

A bench that is measured anew takes the place of what it gave before. Must not know what is measured.
"""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

import msgspec
import psutil

from benchmarks.figures import Figure, readable

_CPU_INFO = Path("/proc/cpuinfo")
_TABLE_BEGINS = "| figure |"
_TABLE_HEAD = (f"{_TABLE_BEGINS} value | goal | holds | beside |", "|---|---|---|---|---|")
_VERDICTS = {True: "yes", False: "**no**", None: ""}


class Measured(NamedTuple):
    """A figure, the bench that gave it (`layer.name`), and the day and the machine as it was then."""

    bench: str
    figure: Figure
    machine: str

    @property
    def layer(self) -> str:
        return self.bench.partition(".")[0]


def this_machine() -> str:
    """The day (UTC), this machine, and how busy it was; its processor's name if the system gives it, else its kind."""
    described = _CPU_INFO.read_text() if _CPU_INFO.exists() else ""
    names = [line.partition(":")[2].strip() for line in described.splitlines() if line.startswith("model name")]
    memory_gb = round(psutil.virtual_memory().total / 2**30)
    return (
        f"{time.strftime('%Y-%m-%d', time.gmtime())}: {names[0] if names else platform.machine()}, "
        f"{os.cpu_count()} cores, {memory_gb} GB, {platform.system()} {platform.release()}, "
        f"Python {platform.python_version()}; load average {os.getloadavg()[2]:.1f}"
    )


def read_kept(path: Path) -> list[Measured]:
    """What a file holds; nothing where there is none."""
    lines = path.read_bytes().splitlines() if path.exists() else []
    return [msgspec.json.decode(line, type=Measured) for line in lines]


def keep(path: Path, measured: Iterable[Measured]) -> None:
    """Writes what was measured beside what the file holds of other benches, layer by layer."""
    new = list(measured)
    anew = {each.bench for each in new}
    kept = sorted([each for each in read_kept(path) if each.bench not in anew] + new, key=lambda each: each.layer)
    path.write_bytes(b"".join(msgspec.json.encode(each) + b"\n" for each in kept))


def page_of(written: str, measured: Iterable[Measured]) -> str:
    """The page with the figures as they are kept now; what people wrote above a layer's table stays."""
    beginning, *sections = written.split("\n## ")
    texts = {section.partition("\n")[0]: section.partition(_TABLE_BEGINS)[0].strip() for section in sections}
    parts = [beginning.strip()]
    for layer, of_layer in groupby(measured, key=lambda each: each.layer):
        title = layer.replace("_", " ").capitalize()
        parts += [f"## {texts.get(title, title)}", "\n".join(_table(list(of_layer)))]
    return "\n\n".join(parts) + "\n"


def _table(measured: list[Measured]) -> Iterator[str]:
    """A layer's figures, and each machine that they were measured on."""
    yield from _TABLE_HEAD
    for figure in (each.figure for each in measured):
        beside = "" if figure.anchor is None else f"{readable(figure.anchor.value)} {figure.unit}: {figure.anchor.what}"
        value, name = f"{readable(figure.value)} {figure.unit}", figure.name.partition(".")[2]
        yield f"| {name} | {value} | {figure.goal or ''} | {_VERDICTS[figure.holds]} | {beside} |"
    for machine in dict.fromkeys(each.machine for each in measured):
        yield f"\nMeasured on {machine}."
