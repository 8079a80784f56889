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
from tables.appending import append
from tables.duck_database import open_database

FIRST_MS = 1_772_334_720_000
ROUND_MS = 60_000
COMMITS = 10
DAY_MS = 86_400_000
_MADE = {"group_id", "at_ms", "received_at_ms", "request_id", "at_date"}
"""Columns that differ from one group to the next."""


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
    """At least this many facts of one group: its leader joins again every minute, with heartbeats in between."""
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


def write_days(home: Path, count: int, group_count: int, members: int = 20, days: int = 10) -> int:
    """Writes such a history spread over days, each group at times of its own, each request with an id of its own.

    The table's layout is that of upkeep: a day's facts together, by group. Returns the number of effects.
    """
    facts_of_a_day = pa.table(
        {
            name: [getattr(row, name) for row in _life(count // group_count, members)]
            for name in EFFECTS.names
            if name in EffectRow.__struct_fields__ and name != "group_id"
        }
    )
    others = [name for name in EFFECTS.names if name not in _MADE]
    written = 0
    with open_database(memory_mb=2000) as database:
        database.register("given", facts_of_a_day)
        database.execute("CREATE TABLE facts_of_a_day AS SELECT *, row_number() OVER () - 1 AS place FROM given")
        for day in range(days):
            first, end = (facts_of_a_day.num_rows * one // days for one in (day, day + 1))
            later_ms = f"{day} * {DAY_MS} + number * 131"
            rows = f"""
                SELECT '{GROUP_ID}-' || number AS group_id, at_ms + {later_ms} AS at_ms,
                    received_at_ms + {later_ms} AS received_at_ms,
                    CASE WHEN request_id IS NOT NULL THEN md5(number || request_id || place) END AS request_id,
                    CAST(to_timestamp((at_ms + {later_ms}) / 1000) AT TIME ZONE 'UTC' AS DATE) AS at_date,
                    {", ".join(others)}
                FROM facts_of_a_day, range({group_count}) AS groups(number) WHERE place >= {first} AND place < {end}
                ORDER BY group_id, at_ms, seq
            """
            table = database.sql(rows).to_arrow_table().select(EFFECTS.names).cast(EFFECTS.arrow)
            append(str(home / EFFECTS_FOLDER), table)
            written += table.num_rows
    return written
