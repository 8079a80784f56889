"""A recorded log for the tests of crashes and cuts: a few groups through joins, heartbeats, expiries and leaves.

Written by driving the stream's function once, one request a batch, so that ids and generations fit; see
`tests.udf.world.World`.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

from deltalake import write_deltalake

from rollcall.schemas.messages import GroupRequest
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import request_rows
from tests.udf.world import SETTINGS, World, lived

EVENT = {
    "spark.coordinator.clock": "event",
    "spark.coordinator.source.tick.ms": "0",
    "spark.coordinator.remembered.request.ids": str(SETTINGS.remembered_request_ids),
    "topics": ",".join(f"{topic}:{count}" for topic, count in (SETTINGS.group.topics or {}).items()),
    "group.initial.rebalance.delay.ms": str(SETTINGS.group.group_initial_rebalance_delay_ms),
    "offsets.retention.check.interval.ms": str(SETTINGS.group.offsets_retention_check_interval_ms),
}


def recorded(count: int, seed: int = 1) -> World:
    """A world that has acted so often; its log and its effects."""
    chance = random.Random(seed)
    gaps_ms, groups = [0, 1, 100, 500, 1000, 3000, 10_001], ["orders", "payments", "returns"]
    actions = ["join", "sync", "beat", "beat", "leave", "again", "consume", "consume", "depart"]
    return lived(
        (chance.choice(gaps_ms), chance.choice(groups), chance.choice("abc"), chance.choice(actions))
        for _ in range(count)
    )


def home_with(folder: Path, log: list[GroupRequest], commits: int) -> Home:
    """A home whose request table holds the log in this many commits."""
    home = Home(folder)
    open_requests(home)
    size = -(-len(log) // commits)
    for begin in range(0, len(log), size):
        write_deltalake(home.requests, request_rows(log[begin : begin + size]), mode="append")
    return home


COLUMNS = [name for name in EFFECTS.names if name != "at_date"]


def facts_of(rows: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Effects as tuples in order; a field that is not there is null."""
    return sorted(
        (tuple(row.get(name) for name in COLUMNS) for row in rows),
        key=lambda t: (t[0], t[COLUMNS.index("at_ms")], t[1]),
    )
