"""`explain` of a broker's server.log: of many groups, and of a gigabyte with few lines about groups.

Knows the command, and a recorded log that it multiplies. Must not know how a line is read.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.processes import ROOT, folder, peak_bytes, run

COPIES, FEW_COPIES = 1_400, 350
GIGABYTE = 1 << 30
LINES_BETWEEN = 1_000
_RECORDED = ROOT / "tests" / "printed" / "brokers" / "d-kill.log.gz"
_GROUPS = re.compile(r"clicks-agg|views-agg|audit-trail")
_OTHER = (
    "[2026-11-21 05:38:59,064] INFO [UnifiedLog partition=topic-{0}, dir=/var/lib/kafka/data] Deleting segment "
    "LogSegment(baseOffset={0}, size=1073741, lastModifiedTime=1763700000, largestRecordTimestamp=1763) due to log "
    "retention size breach (kafka.log.UnifiedLog)\n"
)


@bench
def many_groups() -> Iterator[Figure]:
    """A log of 4,200 groups, each line about one of them, and one of a quarter of it; by the wall's clock."""
    with folder() as path:
        few, many = (path / "few.log", path / "many.log")
        _write_groups(few, FEW_COPIES)
        lines = _write_groups(many, COPIES)
        _, short, whole = (run("explain", str(log), memory=peak_bytes) for log in (few, few, many))
    yield Figure("group_lines_a_second", lines / whole.seconds, "lines/s", at_least(50_000))
    yield Figure("four_times_the_groups", whole.seconds / short.seconds, "times", at_most(4.5))


@bench
def few_lines_in_a_gigabyte() -> Iterator[Figure]:
    """One line in a thousand is about groups; by the wall's clock."""
    with folder() as path:
        log = path / "server.log"
        _write_gigabyte(log)
        found = run("explain", str(log), memory=peak_bytes)
    yield Figure("gigabyte_with_few_lines", found.seconds, "s", at_most(3))


def _recorded() -> list[str]:
    with gzip.open(_RECORDED, "rt") as log:
        return list(log)


def _write_groups(path: Path, copies: int) -> int:
    """The recorded lines as often, each time of other groups; returns how many."""
    text = "".join(_recorded())
    with path.open("w") as log:
        for copy in range(copies):
            log.write(_GROUPS.sub(rf"\g<0>-{copy}", text))
    return copies * text.count("\n")


def _write_gigabyte(path: Path) -> None:
    written = 0
    with path.open("w") as log:
        for block, line in enumerate(cycle(_recorded())):
            others = "".join(map(_OTHER.format, range(LINES_BETWEEN * block, LINES_BETWEEN * (block + 1))))
            written += log.write(others) + log.write(line)
            if written >= GIGABYTE:
                return
