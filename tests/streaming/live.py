"""A coordinator on a home, and the client's side of its tables: append requests, wait for effects.

Knows the tables and the clock on the wall; must not know a rule of the protocol.
"""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake
from pyspark.sql import SparkSession

from rollcall.coordinator_udfs.protocol.join_group import new_member_id
from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.query import Coordinator, failure_of, start, stop_after_batch
from rollcall.jobs.stream.writers.batch_result import BatchResult
from rollcall.schemas.messages import GroupRequest
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import request_rows
from tests.requests import join, sync
from tests.waiting import until

LOOK_EVERY_S = 0.05
"""A look reads the whole table if there was a commit, beside a Spark that needs the cores."""
QUICK = {"group.min.session.timeout.ms": "100", "group.initial.rebalance.delay.ms": "0"}
"""Sessions short enough to wait for."""

Effect = dict[str, Any]
T = TypeVar("T")


def now_ms() -> int:
    return int(time.time() * 1000)


class Live:
    """A running coordinator; `stop` and `go_on` may follow each other."""

    def __init__(self, spark: SparkSession, folder: Path, settings: dict[str, str]) -> None:
        self.spark = spark
        self.home = Home(folder)
        self.config = JobConfig.from_pairs({**QUICK, **settings})
        self.batches: list[BatchResult] = []
        self.coordinator: Coordinator | None = None
        self._read_at, self._rows = -1, list[Effect]()
        open_requests(self.home, self.config.versions_retention_minutes)
        self.go_on()

    def go_on(self) -> None:
        self.coordinator = start(self.spark, self.home, self.config, on_batch=self.batches.append)

    def stop(self) -> None:
        if self.coordinator is not None:
            stop_after_batch(self.coordinator.query)
            self.coordinator = None

    def drain(self) -> None:
        """Runs the coordinator on the requests that are there: no batch comes for a deadline alone."""
        self.stop()
        query = start(self.spark, self.home, self.config, until_drained=True).query
        assert query.awaitTermination(120)

    # ------------------------------------------------------------ requests

    def send(self, *requests: GroupRequest) -> None:
        self.append(request_rows(requests))

    def append(self, rows: pa.Table) -> None:
        write_deltalake(self.home.requests, rows, mode="append")

    def ask(self, request: GroupRequest) -> Effect:
        """Sends a request and waits for its reply."""
        self.send(request)
        return self.reply_to(request)

    def reply_to(self, request: GroupRequest) -> Effect:
        return self.effect("reply", request_id=request.request_id)

    # ------------------------------------------------------------ effects

    def effects(self, **where: Any) -> list[Effect]:
        """Effects so far, in order, with their details opened."""
        version = DeltaLog(Path(self.home.effects)).latest()
        if version != self._read_at:
            rows = read_rows(self.home.effects)
            details = [json.loads(row["detail"]) if row["detail"] else {} for row in rows]
            self._read_at = version
            self._rows = [row | {"detail": detail} for row, detail in zip(rows, details, strict=True)]
        found = [row for row in self._rows if all(row[name] == value for name, value in where.items())]
        return sorted(found, key=lambda row: (row["group_id"], row["at_ms"], row["seq"]))

    def effect(self, kind: str, **where: Any) -> Effect:
        """The first effect of a kind, once it is there."""
        return self.wait_for(lambda: next(iter(self.effects(effect=kind, **where)), None), f"{kind} {where}")

    def quarantine(self) -> list[Effect]:
        return read_rows(self.home.quarantine)

    def wait_for(self, ask: Callable[[], T | None], what: str) -> T:
        """As `until`, and fails at once with the query's own failure."""

        def ask_while_running() -> T | None:
            assert self.coordinator is not None
            reason = failure_of(self.coordinator.query)
            assert reason is None, reason
            return ask()

        return until(ask_while_running, what, every_s=LOOK_EVERY_S)

    def after_batches(self, count: int) -> None:
        """Waits until this many more batches are done."""
        goal = len(self.batches) + count
        self.wait_for(lambda: len(self.batches) >= goal, f"{count} more batches")


def form(live: Live, client: str, group: str = "orders", **more: Any) -> str:
    """A Stable group of one client, formed by one batch; its member id."""
    joined = join(client, now_ms(), group, **more)
    member_id = new_member_id(joined)
    synced = sync(member_id, 1, joined.received_at_ms + 1, group, assigned=[member_id])
    live.send(joined, synced)
    assert live.reply_to(synced)["error_code"] == "NONE"
    return member_id


def expect_each_fact_once(home: Home) -> None:
    """A group's facts are numbered from one on, none twice and none left out."""
    numbers: dict[str, list[int]] = defaultdict(list)
    for row in read_rows(home.effects):
        numbers[row["group_id"]].append(row["seq"])
    for group, found in numbers.items():
        assert sorted(found) == list(range(1, len(found) + 1)), group


def read_rows(path: str) -> list[Effect]:
    """A Delta table's rows; none if it is not there."""
    return DeltaTable(path).to_pyarrow_table().to_pylist() if DeltaTable.is_deltatable(path) else []
