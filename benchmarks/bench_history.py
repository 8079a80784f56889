"""Asking a long history: `make why` and the view `storms` over 1,000,000 effects, as commands from start to end.

Knows how a history of many groups is made out of one. Must not know how it is asked.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import CONFIG, GROUP_ID, heartbeats, join, rejoins, syncs
from coordinator_udfs.effect_rows import EffectRow, row_of
from coordinator_udfs.protocol.effects import Effect
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, step
from schemas.messages import GroupRequest
from schemas.tables import EFFECTS, EFFECTS_FOLDER

EFFECT_COUNT = 1_000_000
GROUP_COUNT = 200
MEMBERS = 20
FIRST_MS = 1_772_334_720_000
ROUND_MS = 60_000
GROUPS_A_COMMIT = 20


@bench
def a_million_effects() -> Iterator[Figure]:
    """Each command in a process of its own, Spark's start included where it starts Spark."""
    home = Path(tempfile.mkdtemp(prefix="rollcall-history-"))
    try:
        count = _write_history(home)
        if count < EFFECT_COUNT:
            raise AssertionError(f"only {count} effects were written")
        yield Figure("effects", count, "rows")
        why_s = _seconds("why", "--home", str(home), f"{GROUP_ID}-7")
        yield Figure("why_1000000_effects", why_s, "s", at_most(10))
        query = "select * from storms"
        storms_s = _seconds("sql", "--home", str(home), "--format", "csv", query, lines=GROUP_COUNT + 1)
        yield Figure("storms_1000000_effects", storms_s, "s", at_most(20))
    finally:
        shutil.rmtree(home)


def _seconds(*command: str, lines: int = 1) -> float:
    """How long a subcommand took on the clock. Raises AssertionError: it failed, or printed too little."""
    started = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "jobs.rollcall", *command], capture_output=True, text=True, check=False
    )
    seconds = time.monotonic() - started
    if done.returncode != 0 or len(done.stdout.splitlines()) < lines:
        raise AssertionError(f"{command[0]} gave {done.returncode}: {done.stdout[-300:]}{done.stderr[-300:]}")
    return seconds


def _write_history(home: Path) -> int:
    """Writes the same history for every group, some groups in each commit; returns the number of effects."""
    rows = _life(EFFECT_COUNT // GROUP_COUNT)
    columns = {
        name: [getattr(row, name) for row in rows] for name in EFFECTS.names if name in EffectRow.__struct_fields__
    }
    days = [datetime.fromtimestamp((row.at_ms or 0) / 1000, UTC).date() for row in rows]
    for first in range(0, GROUP_COUNT, GROUPS_A_COMMIT):
        names = [f"{GROUP_ID}-{number}" for number in range(first, first + GROUPS_A_COMMIT)]
        tables = [
            pa.table({"group_id": [name] * len(rows), "at_date": days, **columns}).select(EFFECTS.names)
            for name in names
        ]
        whole = pa.concat_tables(tables).cast(EFFECTS.arrow)
        write_deltalake(str(home / EFFECTS_FOLDER), whole, mode="append", partition_by=list(EFFECTS.partition_by))
    return len(rows) * GROUP_COUNT


def _life(count: int) -> list[EffectRow]:
    """At least so many facts of one group: its leader joins again every minute, with heartbeats in between."""
    group, rows = Group(GROUP_ID), list[EffectRow]()
    _tell(rows, _played(group, FIRST_MS, (join(n, "", FIRST_MS) for n in range(MEMBERS))))
    at_ms = FIRST_MS
    while len(rows) < count:
        at_ms += ROUND_MS
        _tell(rows, _played(group, at_ms, rejoins(group, at_ms)))
        _tell(rows, _played(group, at_ms + 100, syncs(group, group.generation_id, at_ms + 100)))
        for beat in heartbeats(group, 10 * MEMBERS, at_ms + 3000):
            _tell(rows, _played(group, beat.received_at_ms, [beat]))
    return rows


def _played(group: Group, at_ms: int, requests: Iterable[GroupRequest]) -> Iterator[Effect]:
    """The effects of requests that arrive at one moment."""
    for request in requests:
        request.received_at_ms = at_ms
        yield from expire_due(group, at_ms - 1, CONFIG)
        yield from step(group, request, at_ms, CONFIG)


def _tell(rows: list[EffectRow], effects: Iterable[Effect]) -> None:
    """Adds effects as rows, numbered within their millisecond."""
    for effect in effects:
        seq = rows[-1].seq + 1 if rows and rows[-1].at_ms == effect.at_ms else 0
        rows.append(row_of(effect, seq))
