"""What a long-lived home costs: 20,000 commits with upkeep beside them, as 5.5 hours at one batch a second have.

Time is pressed together: upkeep comes every 60 commits and a thorough one every 3,600, as in a live job, and versions
are kept for a minute in place of an hour. Knows upkeep and the driver's table; must not know how a view is made.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, PostCommitHookProperties, Transaction, write_deltalake

from benchmarks.figures import Figure, at_most, bench
from benchmarks.spark_homes import folder, session
from jobs.config import JobConfig
from jobs.home import Home
from jobs.sql import register_views
from jobs.stream.home_tables import open_effects
from jobs.stream.upkeep import kept_of
from schemas.effect_names import EffectName
from schemas.tables import EFFECTS
from tables.upkeep import tend

COMMITS, ROWS_A_COMMIT = 20_000, 20
UPKEEP_EVERY, THOROUGH_EVERY = 60, 3600
PAIRED = 500
CONFIG = JobConfig(versions_retention_minutes=1)
QUERY = "select api, count(*) n, max(replied_at) latest from replies group by api"
_NO_HOOKS = PostCommitHookProperties(create_checkpoint=False, cleanup_expired_logs=False)


@bench
def a_long_day() -> Iterator[Figure]:
    """Commits early and late, SQL on the table they left, and how many files that has."""
    with folder() as path:
        home = Home(path / "long")
        took = _commit_all(home)
        yield Figure("commit_p50_first_500", statistics.median(took[:PAIRED]), "ms")
        yield Figure("commit_p50_last_500", statistics.median(took[-PAIRED:]), "ms")
        slower = statistics.median(took[-PAIRED:]) / statistics.median(took[:PAIRED])
        yield Figure("commit_last_to_first", slower, "times", at_most(1.5))
        table = DeltaTable(home.effects)
        yield Figure("files_after_20000_commits", len(table.file_uris()), "files")
        rows = table.to_pyarrow_table()
        once = Home(path / "once")
        write_deltalake(open_effects(once, CONFIG), rows, mode="append")
        with session() as spark:
            seconds: dict[str, list[float]] = {"long": [], "once": []}
            for _ in range(6):
                for each in (home, once):
                    register_views(spark, each)
                    started = time.perf_counter()
                    spark.sql(QUERY).collect()
                    seconds[Path(each.location).name].append(time.perf_counter() - started)
        long, short = (statistics.median(times[1:]) for times in seconds.values())
        yield Figure("sql_answer_after_20000_commits", long * 1000, "ms")
        yield Figure("sql_answer_to_one_commit", long / short, "times", at_most(2))


def _commit_all(home: Home) -> list[float]:
    """What each commit took, in ms."""
    table = open_effects(home, CONFIG)
    kept = kept_of("effects", home, CONFIG)
    took = []
    for n in range(COMMITS):
        rows = _rows(n)
        properties = CommitProperties(app_transactions=[Transaction("bench", n)])
        started = time.perf_counter()
        write_deltalake(table, rows, mode="append", commit_properties=properties, post_commithook_properties=_NO_HOOKS)
        took.append((time.perf_counter() - started) * 1000)
        if n % UPKEEP_EVERY == UPKEEP_EVERY - 1:
            tend(kept, int(time.time() * 1000), thorough=n % THOROUGH_EVERY == THOROUGH_EVERY - 1)
    return took


def _rows(n: int) -> pa.Table:
    """Answers to heartbeats of one second."""
    at_ms = 1_790_000_000_000 + n * 1000
    rows = [
        {
            "group_id": f"group-{member % 5}",
            "seq": member,
            "effect": EffectName.REPLY.value,
            "at_ms": at_ms,
            "request_id": f"beat-{n}-{member}",
            "api": "Heartbeat",
            "api_version": 4,
            "error_code": "NONE",
            "received_at_ms": at_ms,
            "generation_id": 1,
            "member_id": f"consumer-{member}-5b8e7a60-4c1e-4f0a-9f57-0f9a7c1d2e3f",
            "client_id": f"consumer-{member}",
            "at_date": at_ms // 86_400_000,
        }
        for member in range(ROWS_A_COMMIT)
    ]
    return pa.Table.from_pylist(rows, schema=EFFECTS.arrow)
