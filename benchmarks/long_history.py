"""A long history of many groups, made out of one group's: rebalances every minute, heartbeats in between.

Knows how effects are written to a home. Must not know how they are asked about.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pyarrow as pa

from benchmarks.groups import GROUP_ID, drive, heartbeats, join, rejoins, syncs
from rollcall.coordinator_udfs.protocol.group import Group
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.messages import GroupRequest
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.appending import append, open_table
from rollcall.tables.duck_database import open_database
from rollcall.tables.properties import table_properties

FIRST_MS = 1_772_334_720_000
ROUND_MS = 60_000
DAY_MS = 86_400_000
_MADE = {"group_id", "at_ms", "received_at_ms", "request_id", "at_date"}
"""Columns that differ from one group to the next."""


def _life(count: int, members: int) -> list[EffectRow]:
    """At least this many facts of one group: its leader joins again every minute, with heartbeats in between."""
    group, rows = Group(GROUP_ID), list[EffectRow]()

    def play(at_ms: int, requests: Iterable[GroupRequest]) -> None:
        for effect in drive(group, at_ms, requests):
            # Effects are numbered within their millisecond.
            rows.append(row_of(effect, rows[-1].seq + 1 if rows and rows[-1].at_ms == effect.at_ms else 0))

    play(FIRST_MS, (join(n, "", FIRST_MS) for n in range(members)))
    at_ms = FIRST_MS + 1000
    while len(rows) < count:
        play(at_ms, rejoins(group, at_ms))
        play(at_ms + 100, syncs(group, group.generation_id, at_ms + 100))
        for beat in heartbeats(group, 10 * members, at_ms + 3000):
            play(beat.received_at_ms, [beat])
        at_ms += ROUND_MS
    return rows


def write_history(home: Path, count: int, group_count: int = 200, members: int = 20, days: int = 1) -> int:
    """Writes the history of every group, each at times of its own, each request with an id of its own.

    The table's layout is that of upkeep: a day's facts together, by group. Returns the number of effects.
    """
    rows = _life(count // group_count, members)
    own = [name for name in EFFECTS.names if name in EffectRow.__struct_fields__ and name != "group_id"]
    life = pa.table({name: [getattr(row, name) for row in rows] for name in own})
    others = ", ".join(name for name in EFFECTS.names if name not in _MADE)
    with open_database(memory_mb=2000) as database:
        database.register("given", life)
        database.execute("CREATE TABLE life AS SELECT *, row_number() OVER () - 1 AS place FROM given")
        for day in range(days):
            first, end = (len(rows) * one // days for one in (day, day + 1))
            later_ms = f"{day} * {DAY_MS} + number * 131"
            made = database.sql(f"""
                SELECT '{GROUP_ID}-' || number AS group_id, at_ms + {later_ms} AS at_ms,
                    received_at_ms + {later_ms} AS received_at_ms,
                    CASE WHEN request_id IS NOT NULL THEN md5(number || request_id || place) END AS request_id,
                    CAST(to_timestamp((at_ms + {later_ms}) / 1000) AT TIME ZONE 'UTC' AS DATE) AS at_date, {others}
                FROM life, range({group_count}) AS groups(number) WHERE place >= {first} AND place < {end}
                ORDER BY group_id, at_ms, seq
            """)
            table = made.to_arrow_table().select(EFFECTS.names).cast(EFFECTS.arrow)
            append(open_table(home / EFFECTS.name, EFFECTS, table_properties()), table)
    return len(rows) * group_count
