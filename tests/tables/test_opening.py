"""Tables made and opened: with the settings' properties, whoever was first, also while others append."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from deltalake import DeltaTable

from rollcall.jobs.config import JobConfig
from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.tables.appending import make_table, open_table
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.properties import VERSIONS_RETENTION_MINUTES, request_properties, table_properties
from rollcall.tables.request_table import RequestRow, RequestTable, table_of
from rollcall.tables.table_follower import TableFollower

LOG_KEPT = "delta.logRetentionDuration"


def properties_at(path: Path) -> dict[str, str]:
    return DeltaTable(str(path)).metadata().configuration


def rows(*names: str) -> list[RequestRow]:
    return [RequestRow("g", name, 0, 0, "{}") for name in names]


def test_the_jobs_retention_holds_for_a_table_that_a_gateway_made(tmp_path: Path) -> None:
    home = Home(tmp_path)
    gateways = RequestTable(Path(home.requests), "gw")
    gateways.open()
    follower = TableFollower(Path(home.requests), ["request_id"], from_version=0)
    assert properties_at(Path(home.requests)) == request_properties(VERSIONS_RETENTION_MINUTES)
    gateways.append(table_of(rows("a")))
    config = JobConfig.from_pairs({"spark.coordinator.versions.retention.minutes": "7"})
    assert open_requests(home, config.versions_retention_minutes).metadata().configuration == request_properties(7)
    gateways.append(table_of(rows("b")))
    gateways.open()
    assert properties_at(Path(home.requests))[LOG_KEPT] == "interval 7 minutes"
    assert [table["request_id"].to_pylist() for table in follower.poll()] == [["a"], ["b"]]


def test_a_table_that_has_the_properties_already_gets_no_commit(tmp_path: Path) -> None:
    for _ in range(3):
        table = open_table(tmp_path / "effects", EFFECTS, table_properties(9))
    assert table.version() == 0
    assert table.metadata().partition_columns == ["at_date"]


def test_a_property_that_somebody_else_set_stays(tmp_path: Path) -> None:
    DeltaTable.create(
        str(tmp_path), REQUESTS.arrow, configuration={"delta.appendOnly": "true", LOG_KEPT: "interval 1 day"}
    )
    open_table(tmp_path, REQUESTS, table_properties())
    assert properties_at(tmp_path) == {"delta.appendOnly": "true", **table_properties()}


def append_many(path: str, name: str, times: int) -> None:
    table = RequestTable(Path(path), name)
    for number in range(times):
        table.append(table_of(rows(f"{name}-{number}")))


@contextmanager
def at_the_same_time(processes: list[multiprocessing.context.SpawnProcess]) -> Iterator[None]:
    for process in processes:
        process.start()
    yield
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * len(processes)


def test_the_properties_are_set_while_others_append_and_no_row_is_lost(tmp_path: Path) -> None:
    RequestTable(tmp_path, "first").open()
    spawn = multiprocessing.get_context("spawn")
    with at_the_same_time([spawn.Process(target=append_many, args=(str(tmp_path), f"w{n}", 150)) for n in range(2)]):
        log = DeltaLog(tmp_path)
        while log.latest() < 5:
            pass
        for minutes in range(1, 21):
            open_table(tmp_path, REQUESTS, request_properties(minutes))
    delta = DeltaTable(str(tmp_path))
    assert delta.version() == 320
    assert delta.metadata().configuration == request_properties(20)
    assert len(set(delta.to_pyarrow_table()["request_id"].to_pylist())) == 300


@pytest.mark.parametrize("opening", [make_table, open_table])
def test_writers_that_make_a_table_in_the_same_moment_make_one(tmp_path: Path, opening: Any) -> None:
    for attempt in range(20):
        path, barrier = tmp_path / str(attempt), threading.Barrier(4)

        def make(path: Path = path, barrier: threading.Barrier = barrier) -> None:
            barrier.wait()
            opening(path, EFFECTS, table_properties())

        makers = [threading.Thread(target=make) for _ in range(4)]
        for maker in makers:
            maker.start()
        for maker in makers:
            maker.join()
        assert DeltaTable(str(path)).version() == 0
        assert os.listdir(path) == ["_delta_log"]
