"""A job's request table replayed in a second home, on the requests' own clock: it must give equal facts.

Knows what of a fact depends on when a job came to it: its time and its place within that. Must not know a rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from rollcall.coordinator_udfs.settings import Clock
from rollcall.jobs.config import JobConfig
from rollcall.jobs.spark.session import spark_session
from rollcall.jobs.stream.query import failure_of, start
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import REQUESTS, TICK_ID
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from tests.peers_job.reported import beat_ids

RUN = EffectName.HEARTBEATS_TAKEN
IN_ORDER = ("received_at_ms", "request_seq")
OF_THE_MOMENT = ("at_ms", "seq", "at_date", "received_at_ms", "detail")


def facts_of(rows: Iterable[Mapping[str, Any]]) -> Counter[tuple[tuple[str, Any], ...]]:
    """How often each fact is there, its time apart. Of a run each heartbeat is one: its cuts depend on the time."""
    return Counter(
        tuple((name, each[name]) for name in each if name not in OF_THE_MOMENT)
        for row in rows
        for each in ([{**row, "request_id": one} for one in beat_ids(row)] if row["effect"] == RUN else [row])
    )


def assert_replay_equal(home: Home, second: Path, settings: Mapping[str, str]) -> dict[str, int]:
    """Raises AssertionError: the second home's facts differ."""
    rows = DeltaTable(home.requests).to_pyarrow_table().sort_by([(name, "ascending") for name in IN_ORDER])
    config = replace(JobConfig.from_pairs(settings), clock=Clock.EVENT, source_tick_ms=0, upkeep_interval_ms=0)
    again = Home(second)
    open_requests(again)
    end_ms = rows["received_at_ms"][-1].as_py() + 1
    tick = {"request_id": TICK_ID, "received_at_ms": end_ms, "request_seq": 0}
    write_deltalake(again.requests, rows.cast(REQUESTS.arrow), mode="append")
    write_deltalake(again.requests, pa.Table.from_pylist([tick], schema=REQUESTS.arrow), mode="append")
    spark = spark_session("a replay of requests")
    try:
        query = start(spark, again, config, until_drained=True).query
        query.awaitTermination()
        assert failure_of(query) is None, failure_of(query)
    finally:
        spark.stop()
    first, other = (facts_of(DeltaTable(each.effects).to_pyarrow_table().to_pylist()) for each in (home, again))
    missing, added = list(first - other)[:3], list(other - first)[:3]
    assert not missing, f"not reported again: {missing}; reported instead: {added}"
    assert not added, f"reported by the replay alone: {added}"
    return {"facts told again by a replay of the requests in a second home": other.total()}
