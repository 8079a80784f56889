"""Upkeep: many small files become few, old rows and versions go, no row that is to stay is lost, no run stops a job."""

from __future__ import annotations

import json
import os
import threading
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake
from pyspark.sql.streaming.datasource import ReadAllAvailable

from rollcall.__main__ import main
from rollcall.cli.shadow.command import SHADOW
from rollcall.jobs.config import JobConfig
from rollcall.jobs.maintain import maintain
from rollcall.jobs.stream import upkeep
from rollcall.jobs.stream.sources.delta_table import RequestTableReader
from rollcall.jobs.stream.upkeep import Upkeep, kept_of, tables_of
from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.home import LIVE, Home, HomeError
from rollcall.tables.home_tables import open_effects, open_quarantine, open_requests
from rollcall.tables.upkeep import tend, thorough_every_ms
from tests.waiting import until

HOUR_MS = 3_600_000
NOW_MS = 1_700_000_000_000


def home_with(tmp_path: Path, config: JobConfig) -> Home:
    """A home with the three tables."""
    home = Home(tmp_path)
    open_requests(home, config.versions_retention_minutes)
    open_effects(home, config.versions_retention_minutes)
    open_quarantine(home, config.versions_retention_minutes)
    return home


def add_effects(home: Home, at_ms: int, count: int = 1) -> None:
    """Makes `count` commits of one effect each."""
    day = datetime.fromtimestamp(at_ms / 1000, UTC).date()
    row = {"group_id": "g", "seq": 0, "effect": "reply", "at_ms": at_ms, "at_date": day}
    for _ in range(count):
        write_deltalake(home.effects, pa.Table.from_pylist([row], schema=EFFECTS.arrow), mode="append")


def add_requests(home: Home, at_ms: int, count: int = 1) -> None:
    row = {"group_id": "g", "request_id": "r", "received_at_ms": at_ms, "request": "{}"}
    for _ in range(count):
        write_deltalake(home.requests, pa.Table.from_pylist([row], schema=REQUESTS.arrow), mode="append")


def tend_all(home: Home, config: JobConfig, *, thorough: bool = True) -> None:
    for kept in tables_of(home, config):
        tend(kept, NOW_MS, thorough=thorough)


def test_many_small_files_become_one_a_day_and_no_row_is_lost(tmp_path: Path) -> None:
    config = JobConfig()
    home = home_with(tmp_path, config)
    add_effects(home, NOW_MS, 12)
    add_effects(home, NOW_MS - 24 * HOUR_MS, 12)
    tend_all(home, config, thorough=False)
    table = DeltaTable(home.effects)
    assert len(table.file_uris()) == 2
    assert table.count() == 24
    assert list(Path(home.effects, "_delta_log").glob("*.checkpoint.parquet"))


def test_a_table_that_has_not_changed_gets_no_commit(tmp_path: Path) -> None:
    config = JobConfig()
    home = home_with(tmp_path, config)
    add_effects(home, NOW_MS, 3)
    tend_all(home, config)
    version = DeltaTable(home.effects).version()
    tend_all(home, config, thorough=False)
    assert DeltaTable(home.effects).version() == version


def test_effects_and_requests_go_at_their_age_and_by_default_no_effect_does(tmp_path: Path) -> None:
    config = JobConfig.from_pairs(
        {"spark.coordinator.effects.retention.hours": "48", "spark.coordinator.requests.retention.hours": "1"}
    )
    home = home_with(tmp_path, config)
    for days in (0, 1, 2, 3, 9):
        add_effects(home, NOW_MS - days * 24 * HOUR_MS)
    add_requests(home, NOW_MS)
    add_requests(home, NOW_MS - 2 * HOUR_MS)
    tend_all(home, JobConfig())
    assert DeltaTable(home.effects).count() == 5
    tend_all(home, config)
    assert DeltaTable(home.effects).count() == 3
    kept = DeltaTable(home.requests).to_pyarrow_table()["received_at_ms"].to_pylist()
    assert kept == [NOW_MS]


def test_old_versions_and_files_go_and_the_stream_reads_on(tmp_path: Path) -> None:
    config = JobConfig()
    home = home_with(tmp_path, config)
    kept = {
        "delta.logRetentionDuration": "interval 0 seconds",
        "delta.deletedFileRetentionDuration": "interval 0 seconds",
    }
    DeltaTable(home.requests).alter.set_table_properties(kept)
    source, everything = RequestTableReader(home.requests, 0, 100), ReadAllAvailable()
    add_requests(home, NOW_MS, 20)
    read = source.latestOffset({"version": -1, "tick": 0}, everything)

    def is_clean() -> bool | None:
        tend(kept_of(REQUESTS, home, config), NOW_MS, thorough=True)
        return True if len(list(Path(home.requests).glob("*.parquet"))) == 1 else None

    until(is_clean, "what is older than nothing is gone")
    assert len(list(Path(home.requests, "_delta_log").glob("*.json"))) < 10
    add_requests(home, NOW_MS, 1)
    end = source.latestOffset(read, everything)
    rows = [batch.num_rows for part in source.partitions(read, end) for batch in source.read(part)]
    assert rows == [1]


def test_a_clusters_effects_are_not_touched_by_delta_rs() -> None:
    config = JobConfig.from_pairs({"spark.coordinator.effects.writer": "cluster"})
    assert [kept.table.name for kept in tables_of(Home("/x"), config)] == ["requests"]


class Tended:
    """Stands in for `tend`: notes each table, and may break."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.breaks_on = ""
        self.was_called = threading.Event()

    def __call__(self, kept: Any, now_ms: int, *, thorough: bool) -> None:
        self.names.append(kept.table.name)
        if kept.table.name == self.breaks_on:
            raise OSError("disk full")
        if kept.table.name == "quarantine":
            self.was_called.set()


@pytest.fixture
def tended(monkeypatch: pytest.MonkeyPatch) -> Tended:
    stand_in = Tended()
    monkeypatch.setattr(upkeep, "tend", stand_in)
    return stand_in


def run_once(tmp_path: Path, tended: Tended, unread: int | None) -> None:
    config = JobConfig.from_pairs({"spark.coordinator.upkeep.interval.ms": "1"})
    keeper = Upkeep(Home(tmp_path), config, lambda: unread)
    keeper.start()
    assert tended.was_called.wait(30)
    keeper.stop()


@pytest.mark.parametrize(("unread", "is_tended"), [(0, True), (100, True), (101, False), (None, False)])
def test_requests_are_left_alone_while_the_stream_is_behind(
    tmp_path: Path, tended: Tended, unread: int | None, is_tended: bool
) -> None:
    run_once(tmp_path, tended, unread)
    assert ("requests" in tended.names) == is_tended
    assert {"effects", "quarantine"} <= set(tended.names)


@pytest.mark.parametrize(
    ("minutes_old", "unread", "is_tended"),
    [(0, 3, True), (20, 3, True), (40, 3, False), (600, 3, False), (10_000_000, 0, True)],
)
def test_requests_are_left_alone_while_the_stream_has_not_read_one_that_may_go(
    tmp_path: Path, tended: Tended, minutes_old: int, unread: int, is_tended: bool
) -> None:
    """A laptop that slept: few commits are unread, and they are older than versions are kept (an hour here)."""
    home = home_with(tmp_path, JobConfig())
    add_requests(home, NOW_MS, 5)
    log = DeltaLog(Path(home.requests))
    then = time.time() - minutes_old * 60
    for version in log.versions():
        os.utime(log.commit_path(version), (then, then))
    run_once(tmp_path, tended, unread)
    assert ("requests" in tended.names) == is_tended
    assert {"effects", "quarantine"} <= set(tended.names)


def test_a_run_that_breaks_is_reported_and_the_next_table_is_tended(
    tmp_path: Path, tended: Tended, capsys: pytest.CaptureFixture[str]
) -> None:
    tended.breaks_on = "effects"
    run_once(tmp_path, tended, 0)
    assert "upkeep of effects did not work out: disk full" in capsys.readouterr().err


@pytest.mark.parametrize(("kept_minutes", "every_ms"), [("5", 300_000), ("60", HOUR_MS), ("1440", HOUR_MS)])
def test_files_go_as_often_as_old_versions_do_and_at_least_every_hour(kept_minutes: str, every_ms: int) -> None:
    assert thorough_every_ms(int(kept_minutes)) == every_ms


def test_upkeep_can_be_turned_off(tmp_path: Path, tended: Tended) -> None:
    keeper = Upkeep(Home(tmp_path), JobConfig.from_pairs({"spark.coordinator.upkeep.interval.ms": "0"}), lambda: 0)
    keeper.start()
    keeper.stop()
    assert tended.names == []


def test_maintenance_leaves_requests_alone_until_the_job_has_read_them(tmp_path: Path) -> None:
    config, everything = JobConfig(), ReadAllAvailable()
    home = home_with(tmp_path, config)
    home.check_kind(LIVE, "driver")
    add_requests(home, NOW_MS, 20)
    source = RequestTableReader(home.requests, 0, 100)
    read = source.latestOffset({"version": -1, "tick": 0}, everything)

    def finish(batch: int, offset: dict[str, int]) -> None:
        """The files that Spark writes about a batch."""
        for folder, text in (("offsets", f"v1\n{{}}\n{json.dumps(offset)}"), ("commits", "v1\n{}")):
            path = tmp_path / "checkpoint" / folder / str(batch)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def maintain_a_day_later() -> str:
        for path in Path(home.requests).rglob("*"):
            os.utime(path, (0, 0))
        return maintain(home, config)[1]

    unread = "requests: left alone, the coordinator has not read the last {} commits yet"
    assert maintain_a_day_later() == unread.format(21)
    finish(0, {**read, "version": 9})
    finish(1, read)
    (tmp_path / "checkpoint" / "offsets" / "2").write_text("v1\n{}\n{}")
    assert maintain_a_day_later() == "requests: put together, checkpointed and cleaned"
    for _ in range(2):
        assert maintain_a_day_later() == unread.format(DeltaTable(home.requests).version() - read["version"])
    add_requests(home, NOW_MS, 1)
    source = RequestTableReader(home.requests, 0, 100)
    end = source.latestOffset(read, everything)
    assert [batch.num_rows for part in source.partitions(read, end) for batch in source.read(part)] == [1]


def test_requests_that_no_query_reads_are_maintained(tmp_path: Path) -> None:
    home = home_with(tmp_path, JobConfig())
    home.check_kind(SHADOW, "driver")
    add_requests(home, NOW_MS, 1)
    assert maintain(home, JobConfig())[1] == "requests: put together, checkpointed and cleaned"


def test_a_stopped_home_is_maintained_and_a_used_one_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    home = home_with(tmp_path, JobConfig())
    home.check_kind(LIVE, "driver")
    add_effects(home, int(time.time() * 1000), 5)
    assert [line.partition(":")[0] for line in maintain(home, JobConfig())] == ["effects", "requests", "quarantine"]
    assert len(DeltaTable(home.effects).file_uris()) == 1
    with home.locked("the coordinator"), pytest.raises(HomeError, match="is in use by the coordinator"):
        maintain(home, JobConfig())
    monkeypatch.setenv("ROLLCALL_HOME", str(tmp_path / "nowhere"))
    assert main(["maintain"]) == 2
    assert "nowhere does not exist" in capsys.readouterr().err
