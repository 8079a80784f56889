"""Appending to the request table without a Delta library: whole, in order, beside others, and for every reader."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.request_table import RequestRow, RequestTable, table_of


def rows(number: int, name: str = "g") -> pa.Table:
    return table_of(RequestRow(name, f"{name}-{i}", i, i, "{}") for i in range(number))


def test_every_delta_reader_reads_what_was_appended_and_nothing_else_stays_of_it(tmp_path: Path) -> None:
    table = RequestTable(tmp_path / "requests", "gw")
    table.open()
    table.append(rows(3, "a"))
    table.append(rows(2, "b"))
    assert sorted(os.listdir(tmp_path / "requests" / "_delta_log")) == [f"{v:020d}.json" for v in range(3)]
    delta = DeltaTable(str(tmp_path / "requests"))
    assert delta.version() == 2
    read = delta.to_pyarrow_table().sort_by("request_id").to_pylist()
    assert [row["request_id"] for row in read] == ["a-0", "a-1", "a-2", "b-0", "b-1"]
    assert read[1] == rows(3, "a").to_pylist()[1]
    assert [entry["operation"] for entry in delta.history()] == ["WRITE", "WRITE", "CREATE TABLE"]


def append_many(path: str, name: str, times: int) -> None:
    table = RequestTable(Path(path), name)
    for number in range(times):
        table.append(rows(1, f"{name}-{number}"))


def test_writers_that_append_at_the_same_time_lose_nothing_of_each_other(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    RequestTable(path, "first").open()
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=append_many, args=(str(path), f"w{n}", 40)) for n in range(3)]
    for writer in writers:
        writer.start()
    for number in range(5):
        write_deltalake(str(path), rows(1, f"delta-{number}"), mode="append")
    for writer in writers:
        writer.join()
    delta = DeltaTable(str(path))
    assert delta.version() == 125
    assert len(set(delta.to_pyarrow_table()["request_id"].to_pylist())) == 125


def test_a_commit_never_lands_in_the_gap_that_a_clean_up_left(tmp_path: Path) -> None:
    path = tmp_path / "requests"
    idle, busy = RequestTable(path, "idle"), RequestTable(path, "busy")
    idle.open()
    idle.append(rows(1, "early"))
    for number in range(5):
        busy.append(rows(1, f"busy-{number}"))
    for version in range(5):
        (path / "_delta_log" / f"{version:020d}.json").unlink()
    idle.append(rows(1, "late"))
    assert DeltaLog(path).latest() == 7
    assert not DeltaLog(path).has(2)


def test_no_writer_cleans_commits_away_that_the_job_may_not_have_read(tmp_path: Path) -> None:
    """A day goes by after each append; delta-rs would clean the log after its own."""
    path = tmp_path / "requests"
    table = RequestTable(path, "gw")
    table.open()
    for number in range(3):
        table.append(rows(1, f"gw-{number}"))
        write_deltalake(str(path), rows(1, f"delta-{number}"), mode="append")
        DeltaTable(str(path)).create_checkpoint()
        for each in path.rglob("*"):
            os.utime(each, (0, 0))
    assert sorted(DeltaLog(path).versions()) == list(range(7))
    DeltaTable(str(path)).cleanup_metadata()
    assert len(DeltaLog(path).versions()) < 7
