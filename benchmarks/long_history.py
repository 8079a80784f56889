"""A long history of many groups, made out of one group's: rebalances every minute, heartbeats in between.

Knows how effects are written to a home. Must not know how they are asked about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
from deltalake import write_deltalake

from benchmarks.groups import CONFIG, GROUP_ID, heartbeats, join, rejoins, syncs
from coordinator_udfs.protocol.group import Group
from coordinator_udfs.protocol.step import expire_due, step
from schemas.effect_rows import EffectRow, row_of
from schemas.effects import Effect
from schemas.messages import GroupRequest
from schemas.tables import EFFECTS, EFFECTS_FOLDER

FIRST_MS = 1_772_334_720_000
ROUND_MS = 60_000
COMMITS = 10


def write_history(home: Path, count: int, group_count: int = 200, members: int = 20) -> int:
    """Writes the same history for every group, some groups in each commit; returns the number of effects."""
    rows = _life(count // group_count, members)
    columns = {
        name: [getattr(row, name) for row in rows]
        for name in EFFECTS.names
        if name in EffectRow.__struct_fields__ and name != "group_id"
    }
    days = [datetime.fromtimestamp((row.at_ms or 0) / 1000, UTC).date() for row in rows]
    for first in range(0, group_count, group_count // COMMITS):
        names = [f"{GROUP_ID}-{number}" for number in range(first, first + group_count // COMMITS)]
        tables = [
            pa.table({"group_id": [name] * len(rows), "at_date": days, **columns}).select(EFFECTS.names)
            for name in names
        ]
        whole = pa.concat_tables(tables).cast(EFFECTS.arrow)
        write_deltalake(str(home / EFFECTS_FOLDER), whole, mode="append", partition_by=list(EFFECTS.partition_by))
    return len(rows) * group_count


def _life(count: int, members: int) -> list[EffectRow]:
    """At least so many facts of one group: its leader joins again every minute, with heartbeats in between."""
    group, rows = Group(GROUP_ID), list[EffectRow]()
    _tell(rows, _played(group, FIRST_MS, (join(n, "", FIRST_MS) for n in range(members))))
    at_ms = FIRST_MS
    while len(rows) < count:
        at_ms += ROUND_MS
        _tell(rows, _played(group, at_ms, rejoins(group, at_ms)))
        _tell(rows, _played(group, at_ms + 100, syncs(group, group.generation_id, at_ms + 100)))
        for beat in heartbeats(group, 10 * members, at_ms + 3000):
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
