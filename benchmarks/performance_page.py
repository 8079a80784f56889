"""docs/performance.md: every figure with its goal and what it compares with, layer by layer, and what limits it.

    make bench FORMAT=markdown KEEP=docs/performance.jsonl > docs/performance.md

Knows how a page is laid out. Must not measure anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchmarks.figures import Figure, readable
from benchmarks.kept import Machine, Measured
from benchmarks.limits import LIMITS

_BEGINNING = """\
# Performance

Written by `make bench FORMAT=markdown KEEP=docs/performance.jsonl > docs/performance.md`; with `ARGS=live` that
measures a layer alone, and keeps the figures of the others.

Rollcall is not a replacement for a broker's coordinator where milliseconds of a rebalance count: a micro-batch answers
after a third of a second what a broker answers in one millisecond. It is for those who want to know afterwards what
their groups did, and for groups whose rebalances may take a second.
"""
_VERDICTS = {True: "yes", False: "**no**", None: ""}


def page_of(measured: Sequence[Measured]) -> str:
    """The page: the layers in the order in which they stand, and the machine once or, where it varied, by layer."""
    machines = {each.machine for each in measured}
    parts = [_BEGINNING, *(_machine_line(machine) for machine in machines if len(machines) == 1)]
    for layer, of_layer in groupby(measured, key=lambda each: each.layer):
        figures = list(of_layer)
        parts.append(f"## {layer.replace('_', ' ').capitalize()}\n")
        parts.append(_table([each.figure for each in figures]))
        if layer in LIMITS:
            parts.append(f"{LIMITS[layer]}\n")
        if len(machines) > 1:
            parts.extend(_machine_line(machine) for machine in dict.fromkeys(each.machine for each in figures))
    return "\n".join(parts)


def _machine_line(machine: Machine) -> str:
    return (
        f"Measured on {machine.day}: {machine.processor}, {machine.cores} cores, {machine.memory_gb} GB, "
        f"{machine.system}, Python {machine.python}; load average {machine.load:.1f}.\n"
    )


def _table(figures: Sequence[Figure]) -> str:
    rows = ["| figure | value | goal | holds | beside |", "|---|---|---|---|---|"]
    for figure in figures:
        beside = "" if figure.anchor is None else f"{readable(figure.anchor.value)} {figure.unit}: {figure.anchor.what}"
        name = figure.name.partition(".")[2]
        value = f"{readable(figure.value)} {figure.unit}"
        rows.append(f"| {name} | {value} | {figure.goal or ''} | {_VERDICTS[figure.holds]} | {beside} |")
    return "\n".join(rows) + "\n"
