"""docs/performance.md: every figure with its goal and what it compares with, layer by layer, and what limits it.

    make bench FORMAT=markdown KEEP=docs/performance.jsonl > docs/performance.md

Knows how a page is laid out. Must not measure anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from benchmarks.figures import Figure, readable
from benchmarks.kept import Machine, Measured

_BEGINNING = """\
# Performance

Written by `make bench FORMAT=markdown KEEP=docs/performance.jsonl > docs/performance.md`; with `ARGS=live` that
measures a layer alone, and keeps the figures of the others.

Rollcall is not a replacement for a broker's coordinator where milliseconds of a rebalance count: a micro-batch answers
after a third of a second what a broker answers in one millisecond. It is for those who want to know afterwards what
their groups did, and for groups whose rebalances may take a second.
"""
LIMITS: dict[str, str] = {
    "core": (
        "One Python process. A heartbeat looks at its own member alone, so that a group's size costs nothing; a "
        "rebalance grows with its members, as in Kafka."
    ),
    "live": (
        "A request that changes a group waits for micro-batches of a third of a second. A join waits for the end of "
        "the running batch and for its own batch; so does a sync. Members that come later set off another rebalance. "
        "Heartbeats of a group at rest do not wait for a batch (decision 13), and a new client gets its member id at "
        "once. In this measurement 50 members send heartbeats without a pause, so the gateway's one loop is always "
        "busy. At rest 1,000 groups send 100,000 heartbeats in 100 s. In that time an idle job uses 23 s of a core for "
        "a batch each second; the heartbeats' runs, 200 rows a second, take 5 s more, and the gateway 9. Commits of "
        "members of a group at rest are answered once they are in the request table (decision 19), to which the "
        "gateway appends every 30 ms."
    ),
    "floods": "One loop serves all requests in turn; long ones are decoded in threads (decision 11).",
    "history": (
        "DuckDB reads the Parquet files that the log names, without a JVM (decision 8); Spark took twenty seconds to "
        "start. A query over all groups reads all files; one about a group skips most of them by their statistics."
    ),
    "replay": (
        "From the command to the report. A line is parsed once, written to a file by group, and read again. A "
        "heartbeat costs little; a join or a sync costs more, since it is tried on a copy of the group first. The "
        "parent process appends the rows. A plain file is cut into sections of 16 MiB; a compressed file is read by "
        "one process, and a group is followed by one process. Spark's tasks call the same functions; the shuffle and "
        "the copies to and from the JVM are added. Spark's workers were measured on a million lines, each on its own "
        "core: with two cores one worker would use both, since a JVM and a Python process take turns."
    ),
    "offsets_topic": (
        "The plain copy is Spark's Kafka source and its Delta sink alone, in the same run. Commits that are kept pass "
        "through Python workers and come to the driver as texts, with one call for each group and batch. Commits that "
        "are left out are dropped by Spark's own expressions, so most of the time is spent reading from Kafka. The "
        "query's start, its batches and its state take some seconds even with few records. Memory is that of all "
        "processes, including the broker; a JVM fills its heap before it collects garbage."
    ),
    "page": "The lists of all groups are kept in memory and updated for groups with new facts.",
    "starting": (
        "A gateway reads the file of lasting facts that upkeep writes, or finds these facts by the files' statistics. "
        "A coordinator reads nothing of the history. Its start is the JVM, Spark, and a first batch with a new plan, "
        "new code and new Python workers; the JVM's compiler takes a fifth of it. Without the archive of Spark's "
        "classes it takes 3 s longer. If other programs use the two cores, it takes twice as long."
    ),
}
"""What limits the figures of each layer now."""
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
