"""A day of lag: 10,000 partitions of 1,000 groups, each group with a member that commits all of its partitions.

Ends of logs are there as upkeep keeps them: every sample of the last hour, before that one in five minutes. A sample
writes up to a thousand records to each partition. Must not know how a home is asked.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa

from jobs.config import JobConfig
from schemas.effect_rows import row_of
from schemas.effects import Assigned, Effect, MemberJoined, OffsetCommitted, OffsetsCommitted, TopicPartitions
from schemas.tables import EFFECTS, EFFECTS_FOLDER, LOG_ENDS, LOG_ENDS_FOLDER, Table
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
_DAY = "CAST(make_timestamp({} * 1000) AS DATE)"


def write_day(home: Path, commit_every_ms: int) -> tuple[int, int]:
    """Writes the day; how many effects, and how many rows of ends."""
    config = JobConfig()
    full_from_ms = END_MS - config.lag_full_minutes * MINUTE_MS
    with open_database(memory_mb=4000) as database:
        begun = database.sql(_effects(_begun(), f"{BEGIN_MS} AS at_ms", f"range({GROUPS}) AS groups(number)"))
        _append(home / EFFECTS_FOLDER, EFFECTS, begun.to_arrow_table())
        commits = 0
        for first in range(0, GROUPS, GROUPS // 4):
            source = (
                f"range({first}, {first + GROUPS // 4}) AS groups(number), "
                f"range({BEGIN_MS + 1000}, {END_MS}, {commit_every_ms}) AS moments(moment)"
            )
            made = database.sql(_effects([_committed()], "moment + number AS at_ms", source)).to_arrow_table()
            _append(home / EFFECTS_FOLDER, EFFECTS, made)
            commits += made.num_rows
        ends = database.sql(
            f"""
            SELECT NULL AS cluster, topic, partition, at_ms, 0 AS log_start_offset, {_end("at_ms")} AS end_offset,
              NULL AS last_stable_offset, 'sample' AS known_from, {_DAY.format("at_ms")} AS at_date
            FROM (
              SELECT 'topic-' || lpad(CAST(number AS VARCHAR), 4, '0') AS topic, number, partition, at_ms
              FROM range({GROUPS}) AS groups(number), range({PARTITIONS_OF_ONE}) AS partitions(partition), (
                SELECT unnest(range({BEGIN_MS}, {full_from_ms}, {config.lag_thinned_interval_ms})) AS at_ms
                UNION ALL SELECT unnest(range({full_from_ms}, {END_MS}, {config.lag_interval_ms}))
              )
            )
            ORDER BY topic, partition, at_ms
            """
        ).to_arrow_table()
        _append(home / LOG_ENDS_FOLDER, LOG_ENDS, ends)
    return commits + 2 * GROUPS, ends.num_rows


def _append(path: Path, table: Table, rows: pa.Table) -> None:
    append(open_table(path, table, table_properties()), rows.select(table.names).cast(table.arrow))


def _end(at_ms: str) -> str:
    """Where a partition ends at a moment, each at a rate of its own."""
    rate = f"({RECORDS_A_SECOND} + number % 40 + partition)"
    return f"CAST((({at_ms} - {BEGIN_MS}) * {rate}) // 1000 + 1000 AS BIGINT)"


def _begun() -> list[Effect]:
    topics = [TopicPartitions(topic="topic-@number@", partitions=list(range(PARTITIONS_OF_ONE)))]
    joined = MemberJoined(
        at_ms=0,
        member_id="m-@number@",
        client_id="c-@number@",
        client_host="/10.0.0.1",
        group_instance_id=None,
        session_timeout_ms=45_000,
        rebalance_timeout_ms=300_000,
        topics=["topic-@number@"],
    )
    given = Assigned(
        at_ms=0,
        member_id="m-@number@",
        client_id="c-@number@",
        group_instance_id=None,
        generation_id=1,
        partitions=topics,
        assignment=b"",
    )
    return [joined, given]


def _committed() -> Effect:
    offsets = [
        OffsetCommitted(
            topic="topic-@number@",
            partition=partition,
            committed_offset=900_000_000_000 + partition,
            leader_epoch=-1,
            metadata="",
            commit_timestamp_ms=0,
        )
        for partition in range(PARTITIONS_OF_ONE)
    ]
    return OffsetsCommitted(at_ms=0, request_id="r", member_id="m-@number@", generation_id=1, offsets=offsets)


def _effects(effects: list[Effect], at_ms: str, source: str) -> str:
    """A SELECT of these effects for every row of a source, which has a group's number."""
    return " UNION ALL ".join(_effect(effect, seq, at_ms, source) for seq, effect in enumerate(effects))


def _effect(effect: Effect, seq: int, at_ms: str, source: str) -> str:
    row = msgspec.structs.asdict(row_of(effect, seq))
    fixed = {name: row.get(name) for name in EFFECTS.names if name not in ("group_id", "at_ms", "at_date", "detail")}
    named = ", ".join(f"{_text(value)} AS {name}" for name, value in fixed.items())
    detail = _text(row["detail"])
    for partition in range(PARTITIONS_OF_ONE):
        # The half of the groups that lag have read all that was there so long before.
        stood = _end(f"greatest(at_ms - {BEHIND_MS} * (number % 2), {BEGIN_MS})").replace("partition", str(partition))
        detail = f"replace({detail}, '{900_000_000_000 + partition}', CAST({stood} AS VARCHAR))"
    return (
        f"SELECT 'group-' || named AS group_id, at_ms, {_DAY.format('at_ms')} AS at_date, {named}, {detail} AS detail "
        f"FROM (SELECT number, lpad(CAST(number AS VARCHAR), 4, '0') AS named, {at_ms} FROM {source})"
    )


def _text(value: object) -> str:
    """A literal in which the group's number stands in its place."""
    if value is None:
        return "NULL"
    if not isinstance(value, str):
        return str(value)
    return "replace('" + value.replace("'", "''") + "', '@number@', named)"
