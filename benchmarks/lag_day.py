"""A day of lag: 10,000 partitions of 1,000 groups, each group with a member that commits all of its partitions.

Ends of logs are there as upkeep keeps them: every sample of the last hour, before that one in five minutes. A sample
writes up to a thousand records to each partition. Must not know how a home is asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from jobs.config import JobConfig
from schemas.effect_rows import row_of
from schemas.effects import Assigned, Effect, MemberJoined, OffsetCommitted, OffsetsCommitted, TopicPartitions
from schemas.tables import EFFECTS, EFFECTS_FOLDER, LOG_ENDS, LOG_ENDS_FOLDER
from tables.appending import append, open_table
from tables.duck_database import open_database
from tables.properties import table_properties

GROUPS, PARTITIONS_OF_ONE = 1000, 10
BEGIN_MS = 1_772_323_200_000
DAY_MS, MINUTE_MS = 86_400_000, 60_000
END_MS = BEGIN_MS + DAY_MS
RECORDS_A_SECOND = 50
BEHIND_MS = 45_000
"""How old the oldest record is that is not committed, in the partitions that are behind."""


def write_day(home: Path, commit_every_ms: int) -> int:
    """Writes the day; how many effects and rows of ends it has."""
    config = JobConfig()
    full_from_ms = END_MS - config.lag_full_minutes * MINUTE_MS
    written = append_effects(home, (begun for number in range(GROUPS) for begun in _begun(number)))
    for first in range(0, GROUPS, GROUPS // 4):
        moments = range(BEGIN_MS + 1000, END_MS, commit_every_ms)
        some = range(first, first + GROUPS // 4)
        written += append_effects(home, (_committed(number, at_ms + number) for number in some for at_ms in moments))
    rate = f"({RECORDS_A_SECOND} + number % 40 + partition)"
    with open_database(memory_mb=4000) as database:
        ends = database.sql(f"""
            SELECT NULL AS cluster, 'topic-' || lpad(CAST(number AS VARCHAR), 4, '0') AS topic, partition, at_ms,
              0 AS log_start_offset, CAST(((at_ms - {BEGIN_MS}) * {rate}) // 1000 + 1000 AS BIGINT) AS end_offset,
              NULL AS last_stable_offset, 'sample' AS known_from, CAST(make_timestamp(at_ms * 1000) AS DATE) AS at_date
            FROM range({GROUPS}) AS groups(number), range({PARTITIONS_OF_ONE}) AS partitions(partition), (
              SELECT unnest(range({BEGIN_MS}, {full_from_ms}, {config.lag_thinned_interval_ms})) AS at_ms
              UNION ALL SELECT unnest(range({full_from_ms}, {END_MS}, {config.lag_interval_ms}))
            )
            ORDER BY topic, partition, at_ms
        """).to_arrow_table()
    rows = ends.select(LOG_ENDS.names).cast(LOG_ENDS.arrow)
    append(open_table(home / LOG_ENDS_FOLDER, LOG_ENDS, table_properties()), rows)
    return written + rows.num_rows


def append_effects(home: Path, effects: Iterable[tuple[str, Effect]]) -> int:
    """Appends effects of groups that are named beside them, in one commit; how many there are."""
    rows = []
    for group_id, effect in effects:
        row = row_of(effect, 0)
        row.group_id = group_id
        rows.append(row)
    columns = {name: [getattr(row, name) for row in rows] for name in EFFECTS.names if name != "at_date"}
    columns["at_date"] = [datetime.fromtimestamp((row.at_ms or 0) / 1000, UTC).date() for row in rows]
    table = pa.table(columns, schema=EFFECTS.arrow)
    append(open_table(home / EFFECTS_FOLDER, EFFECTS, table_properties()), table)
    return len(rows)


def committed(at_ms: int, offsets: Mapping[tuple[str, int], int], member_id: str = "m") -> OffsetsCommitted:
    """One request that commits these offsets, by topic and partition."""
    said: dict[str, Any] = {"leader_epoch": -1, "metadata": "", "commit_timestamp_ms": at_ms}
    each = [
        OffsetCommitted(topic=topic, partition=partition, committed_offset=offset, **said)
        for (topic, partition), offset in offsets.items()
    ]
    return OffsetsCommitted(at_ms=at_ms, request_id="r", member_id=member_id, generation_id=1, offsets=each)


def _begun(number: int) -> Iterator[tuple[str, Effect]]:
    """A group's one member has joined and owns its topic."""
    topic, partitions = f"topic-{number:04}", list(range(PARTITIONS_OF_ONE))
    who: dict[str, Any] = {"at_ms": BEGIN_MS, "member_id": f"m-{number:04}", "client_id": f"c-{number:04}"}
    who["group_instance_id"] = None
    timeouts: dict[str, Any] = {"session_timeout_ms": 45_000, "rebalance_timeout_ms": 300_000}
    yield f"group-{number:04}", MemberJoined(**who, **timeouts, client_host="/10.0.0.1", topics=[topic])
    given = [TopicPartitions(topic=topic, partitions=partitions)]
    yield f"group-{number:04}", Assigned(**who, generation_id=1, partitions=given, assignment=b"")


def _committed(number: int, at_ms: int) -> tuple[str, Effect]:
    """A group's commit of all that its member has read: in half of the groups what was there some time before."""
    since_ms = max(at_ms - BEHIND_MS * (number % 2) - BEGIN_MS, 0)
    offsets = {
        (f"topic-{number:04}", partition): since_ms * (RECORDS_A_SECOND + number % 40 + partition) // 1000 + 1000
        for partition in range(PARTITIONS_OF_ONE)
    }
    return f"group-{number:04}", committed(at_ms, offsets, f"m-{number:04}")
