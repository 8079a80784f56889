"""docs/performance.md: every figure with its goal and what it compares with, layer by layer, and what limits it.

    make bench FORMAT=markdown > docs/performance.md

Knows how a page is laid out. Must not measure anything.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from benchmarks.figures import Figure, readable
from benchmarks.limits import LIMITS
from benchmarks.machine import Machine

_BEGINNING = """\
# Performance

Written by `make bench FORMAT=markdown > docs/performance.md`; `make bench ARGS=live` measures a layer alone.

Rollcall is not a replacement for a broker's coordinator where milliseconds of a rebalance count: a micro-batch answers
after a third of a second what a broker answers in one millisecond. It is for those who want to know afterwards what
their groups did, and for groups whose rebalances may take a second.
"""
_VERDICTS = {True: "yes", False: "**no**", None: ""}


def page_of(measured: Iterable[Figure], machine: Machine) -> str:
    """The page. Figures are named `layer.name` and stand in the order in which they were measured."""
    parts = [_BEGINNING, _told(machine)]
    for layer, figures in groupby(measured, key=lambda figure: figure.name.partition(".")[0]):
        parts.append(f"## {layer.replace('_', ' ').capitalize()}\n")
        parts.append(_table(list(figures)))
        if layer in LIMITS:
            parts.append(f"{LIMITS[layer]}\n")
    return "\n".join(parts)


def _told(machine: Machine) -> str:
    return (
        f"Measured on {machine.day}: {machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, "
        f"{machine.system}, Python {machine.python}; {machine.load:.1f} processes wanted a core on average, those that "
        "were measured included.\n"
    )


def _table(figures: Sequence[Figure]) -> str:
    rows = ["| figure | value | goal | holds | beside |", "|---|---|---|---|---|"]
    for figure in figures:
        goal = "" if figure.goal is None else str(figure.goal)
        beside = "" if figure.anchor is None else f"{readable(figure.anchor.value)} {figure.unit}: {figure.anchor.what}"
        name = figure.name.partition(".")[2]
        value = f"{readable(figure.value)} {figure.unit}"
        rows.append(f"| {name} | {value} | {goal} | {_VERDICTS[figure.holds]} | {beside} |")
    return "\n".join(rows) + "\n"
