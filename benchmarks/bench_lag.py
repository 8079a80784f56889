"""What it costs to ask for lag: a day of 10,000 partitions of 1,000 groups, each with a member that commits them all.

Ends of logs are there as upkeep keeps them: every sample of the last hour, before that one in five minutes. A sample
writes up to a thousand records to each partition. Must not know how a home is asked.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.figures import Figure, at_most, bench
from benchmarks.processes import folder
from rollcall.answers.sql.engine import ask
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.upkeep import kept_of
from rollcall.schemas.effect_rows import EffectRow, row_of
from rollcall.schemas.effects import Assigned, MemberJoined, OffsetCommitted, OffsetsCommitted, TopicPartitions
from rollcall.schemas.tables import EFFECTS, LOG_ENDS
from rollcall.tables.appending import append, open_table
from rollcall.tables.duck_database import open_database
from rollcall.tables.home import Home
from rollcall.tables.properties import table_properties
from rollcall.tables.upkeep import tend
from tests.views.story import write_effects
from tests.written_effects import effect

GROUPS, PARTITIONS_OF_ONE, GROUPS_AT_ONCE = 1000, 10, 25
BEGIN_MS = 1_772_323_200_000
DAY_MS, MINUTE_MS = 86_400_000, 60_000
END_MS = BEGIN_MS + DAY_MS
RECORDS_A_SECOND = 50
BEHIND_MS = 45_000
"""How old the oldest record is that is not committed, in the partitions that are behind."""


@bench
def asking_a_day() -> Iterator[Figure]:
    """Every partition's lag, and a group's over time, of a day in which groups commit each ten minutes, or minutely.

    Upkeep has been there, as in every home that a job writes. Without it each commit's detail is read, 1.9 GB of JSON
    where each minute has one.
    """
    for name, every_ms in (("10_minutes", 10 * MINUTE_MS), ("1_minute", MINUTE_MS)):
        with folder() as path:
            yield Figure(f"day_committed_each_{name}", _write_day(path, every_ms), "rows")
            tend(kept_of(EFFECTS, Home(path), JobConfig()), END_MS, thorough=True)
            lag = "select * from lag"
            yield Figure(f"lag_committed_each_{name}", _asked_s(path, lag), "s", at_most(1.0))
            before = _asked_s(path, lag, END_MS - MINUTE_MS)
            yield Figure(f"lag_a_minute_before_each_{name}", before, "s", at_most(1.0))
            of_one = "select * from lag_history where group_id = 'group-0007'"
            yield Figure(f"history_committed_each_{name}", 1000 * _asked_s(path, of_one), "ms", at_most(300))


def _asked_s(home: Path, query: str, until_ms: int | None = None) -> float:
    """The second time: the first loads what is loaded once."""
    for _ in range(2):
        begun_s = time.monotonic()
        assert sum(1 for _ in ask(home, query, until_ms).rows)
    return time.monotonic() - begun_s


def _write_day(home: Path, commit_every_ms: int) -> int:
    """Writes the day; how many effects and rows of ends it has."""
    config = JobConfig()
    full_from_ms = END_MS - config.lag_full_minutes * MINUTE_MS
    moments = range(BEGIN_MS + 1000, END_MS, commit_every_ms)
    open_table(home / EFFECTS.name, EFFECTS, table_properties())
    for first in range(0, GROUPS, GROUPS_AT_ONCE):
        some = range(first, first + GROUPS_AT_ONCE)
        commits = {number: [_committed(number, at_ms + number) for at_ms in moments] for number in some}
        write_effects(home, {f"group-{number:04}": _begun(number) + commits[number] for number in some})
    rate = f"({RECORDS_A_SECOND} + number % 40 + partition)"
    with open_database(memory_mb=4000) as database:
        ends = database.sql(f"""
            SELECT NULL AS cluster, 'topic-' || lpad(CAST(number AS VARCHAR), 4, '0') AS topic, partition, at_ms,
              0 AS log_start_offset, CAST(((at_ms - {BEGIN_MS}) * {rate}) // 1000 + 1000 AS BIGINT) AS end_offset,
              NULL AS last_stable_offset, 'sample' AS known_from, NULL AS topic_id,
              CAST(make_timestamp(at_ms * 1000) AS DATE) AS at_date
            FROM range({GROUPS}) AS groups(number), range({PARTITIONS_OF_ONE}) AS partitions(partition), (
              SELECT unnest(range({BEGIN_MS}, {full_from_ms}, {config.lag_thinned_interval_ms})) AS at_ms
              UNION ALL SELECT unnest(range({full_from_ms}, {END_MS}, {config.lag_interval_ms}))
            )
            ORDER BY topic, partition, at_ms
        """).to_arrow_table()
    rows = ends.select(LOG_ENDS.names).cast(LOG_ENDS.arrow)
    append(open_table(home / LOG_ENDS.name, LOG_ENDS, table_properties()), rows)
    return GROUPS * (2 + len(moments)) + rows.num_rows


def _begun(number: int) -> list[EffectRow]:
    """A group's one member has joined and owns its topic."""
    who: dict[str, Any] = {"member_id": f"m-{number:04}", "client_id": f"c-{number:04}"}
    owned = [TopicPartitions(topic=f"topic-{number:04}", partitions=list(range(PARTITIONS_OF_ONE)))]
    joined = effect(MemberJoined, BEGIN_MS, **who, session_timeout_ms=45_000, topics=[f"topic-{number:04}"])
    return [row_of(joined, 0), row_of(effect(Assigned, BEGIN_MS, **who, partitions=owned), 1)]


def _committed(number: int, at_ms: int) -> EffectRow:
    """A group's commit of all that its member has read: in half of the groups what was there some time before."""
    since_ms = max(at_ms - BEHIND_MS * (number % 2) - BEGIN_MS, 0)
    said: dict[str, Any] = {"leader_epoch": -1, "metadata": "", "commit_timestamp_ms": at_ms}
    offsets = [
        OffsetCommitted(
            topic=f"topic-{number:04}",
            partition=partition,
            committed_offset=since_ms * (RECORDS_A_SECOND + number % 40 + partition) // 1000 + 1000,
            **said,
        )
        for partition in range(PARTITIONS_OF_ONE)
    ]
    who: dict[str, Any] = {"member_id": f"m-{number:04}", "generation_id": 1, "request_id": "r"}
    return row_of(OffsetsCommitted(at_ms=at_ms, offsets=offsets, **who), 0)
