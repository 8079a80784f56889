"""The embedded source, without Spark: what a version of the request table brought, and when there is none."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from rollcall.coordinator_udfs.settings import LATEST_MS
from rollcall.jobs.stream.sources.delta_table import Files, RequestTableReader
from rollcall.jobs.stream.sources.pace import TicksReader
from rollcall.schemas.tables import REQUESTS
from rollcall.tables.appending import open_table
from rollcall.tables.job_status import STATUS_FILE, StatusWriter
from rollcall.tables.properties import table_properties

ALL = ReadAllAvailable()
START = {"version": -1, "tick": 0}


@pytest.fixture
def table(tmp_path: Path) -> str:
    """An empty request table (its making is version 0)."""
    path = str(tmp_path / "requests")
    open_table(path, REQUESTS, table_properties())
    return path


def append(path: str, *ids: str) -> None:
    rows = [{"group_id": "g", "request_id": each, "request": "{}"} for each in ids]
    write_deltalake(path, pa.Table.from_pylist(rows, schema=REQUESTS.arrow), mode="append")


def reader(path: str, most: int = 100) -> RequestTableReader:
    return RequestTableReader(path, 0, most)


def ids_between(source: RequestTableReader, start: dict[str, int], end: dict[str, int]) -> list[str]:
    """The request ids that the tasks of a batch read."""
    found: list[str] = []
    for partition in source.partitions(start, end):
        for batch in source.read(partition):
            assert batch.schema == REQUESTS.arrow
            found += batch.column("request_id").to_pylist()
    return sorted(found)


def test_a_batch_is_what_was_appended_between_two_versions(table: str) -> None:
    source = reader(table)
    append(table, "a")
    first = source.latestOffset(START, ALL)
    append(table, "b", "c")
    append(table, "d")
    second = source.latestOffset(first, ALL)
    assert (first, second) == ({"version": 1, "tick": 0}, {"version": 3, "tick": 0})
    assert ids_between(source, START, first) == ["a"]
    assert ids_between(source, first, second) == ["b", "c", "d"]
    assert source.latestOffset(second, ALL) == second


def test_a_restarted_source_reads_the_same_from_the_same_offsets(table: str) -> None:
    append(table, "a")
    append(table, "b")
    assert ids_between(reader(table), {"version": 1, "tick": 7}, {"version": 2, "tick": 9}) == ["b"]


def test_a_batch_takes_whole_commits_up_to_the_limit_and_at_least_one(table: str) -> None:
    append(table, "a", "b", "c")
    append(table, "d")
    append(table, "e")
    source, limit = reader(table, 2), ReadMaxRows(2)
    first = source.latestOffset(START, limit)
    second = source.latestOffset(first, limit)
    assert (first["version"], second["version"]) == (1, 3)
    assert source.getDefaultReadLimit() == limit
    assert source.latestOffset(START, ALL)["version"] == 3


def test_what_upkeep_commits_is_not_read_again(table: str) -> None:
    for each in "abc":
        append(table, each)
    DeltaTable(table).optimize.compact()
    append(table, "d")
    DeltaTable(table).delete("request_id = 'a'")
    source = reader(table)
    end = source.latestOffset(START, ALL)
    assert end["version"] == 6
    assert ids_between(source, START, end) == ["a", "b", "c", "d"]


def test_a_table_that_is_not_there_yet_brings_nothing(tmp_path: Path) -> None:
    assert reader(str(tmp_path / "none")).latestOffset(START, ALL) == START


def test_a_table_cleaned_before_it_was_read_is_an_error_and_not_a_gap(table: str) -> None:
    append(table, "a")
    append(table, "b")
    for version in (0, 1):
        (Path(table) / "_delta_log" / f"{version:020d}.json").unlink()
    with pytest.raises(RuntimeError, match="begins at version 2, but was read up to -1 only"):
        reader(table).latestOffset(START, ALL)
    with pytest.raises(RuntimeError, match="has lost its commit 0 before it was read"):
        reader(table).partitions(START, {"version": 2, "tick": 0})


def test_another_table_in_the_old_ones_place_is_an_error(table: str) -> None:
    append(table, "a")
    shutil.rmtree(table)
    open_table(table, REQUESTS, table_properties())
    with pytest.raises(RuntimeError, match="ends at version 0, but was read up to 1: it is not the table"):
        reader(table).latestOffset({"version": 1, "tick": 0}, ALL)


def test_many_files_are_spread_over_tasks_and_read_once(table: str) -> None:
    for n in range(40):
        append(table, f"r{n:02d}")
    source = reader(table)
    end = source.latestOffset(START, ALL)
    partitions = source.partitions(START, end)
    paths = [path for partition in partitions if isinstance(partition, Files) for path in partition.paths]
    assert len(paths) == len(set(paths)) == 40
    assert ids_between(source, START, end) == [f"r{n:02d}" for n in range(40)]


def test_columns_that_a_file_lacks_are_null_and_others_are_left_out(table: str) -> None:
    rows = pa.table({"group_id": ["g"], "request": ["{}"], "colour": ["red"]})
    write_deltalake(table, rows, mode="append", schema_mode="merge")
    source = reader(table)
    (partition,) = source.partitions(START, source.latestOffset(START, ALL))
    (batch,) = list(source.read(partition))
    assert batch.to_pylist() == [
        {"group_id": "g", "request_id": None, "received_at_ms": None, "request_seq": None, "request": "{}"}
    ]


def test_time_moves_the_offset_a_tick_at_a_time(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for source in (RequestTableReader(table, 500, 9), TicksReader(500)):
        ticks = [0]
        for now_s in (1000.0, 1000.4, 1000.5, 1001.0, 900.0):
            monkeypatch.setattr("time.time", partial(float, now_s))
            ticks.append(source.latestOffset({"version": 0, "tick": ticks[-1]}, ALL)["tick"])
        assert ticks[1:] == [2000, 2000, 2001, 2002, 1800], "it ticks on after a clock was set back"


def test_a_stream_that_is_to_end_neither_ticks_nor_reads_what_comes_later(table: str) -> None:
    append(table, "a")
    source = RequestTableReader(table, 500, 9)
    source.prepareForTriggerAvailableNow()
    append(table, "b")
    assert source.latestOffset(START, ALL) == {"version": 1, "tick": 0}
    ticks = TicksReader(500)
    ticks.prepareForTriggerAvailableNow()
    assert ticks.latestOffset({"tick": 3}, ALL) == {"tick": 3}
    assert list(ticks.partitions({"tick": 3}, {"tick": 4})) == []


def test_a_look_at_rest_ends_with_the_commit_that_comes_meanwhile(
    table: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StatusWriter(tmp_path).batch_done(0, 0, 0, LATEST_MS)
    source = RequestTableReader(table, 1000, 9, str(tmp_path / STATUS_FILE))
    assert source.latestOffset({"version": 0, "tick": 5}, ALL) == {"version": 0, "tick": 5}
    monkeypatch.setattr("time.sleep", lambda _: append(table, "a"))
    assert source.latestOffset({"version": 0, "tick": 5}, ALL) == {"version": 1, "tick": 5}


def test_what_was_read_is_forgotten(table: str) -> None:
    append(table, "a")
    source = reader(table)
    end = source.latestOffset(START, ALL)
    source.commit(end)
    assert source._commits == {}


def test_one_large_commit_is_shared_out_among_tasks_each_row_once(table: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 3)
    source = reader(table, 1_000_000)
    ids = [f"r{n:05}" for n in range(60_001)]
    append(table, *ids)
    end = source.latestOffset(START, ALL)
    assert len(source.partitions(START, end)) == 3
    assert ids_between(source, START, end) == ids
