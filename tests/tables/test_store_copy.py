"""The copy of a home in a store: what its readers see, and when. A folder of this machine stands for the store here."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyarrow as pa
import pytest
from deltalake import DeltaTable, write_deltalake

from rollcall.schemas.tables import EFFECTS
from rollcall.tables import store_copy
from rollcall.tables.home_location import is_in_a_store
from rollcall.tables.job_status import read_status
from rollcall.tables.store_copy import NoWayError, StoreCopy, StoreError, followed_copy, kept_copy
from rollcall.tables.table_follower import TableFollower
from tests.waiting import until

COLUMNS = ["group_id", "at_ms"]


def rows(*at_ms: int) -> pa.Table:
    facts = [{"group_id": "g", "effect": "reply", "at_ms": at, "at_date": 0, "seq": 0} for at in at_ms]
    return pa.Table.from_pylist(facts, schema=EFFECTS.arrow)


class Store:
    """A home in a folder that stands for a store."""

    def __init__(self, folder: Path) -> None:
        self.home, self.effects = folder / "home", folder / "home" / EFFECTS.name
        self.home.mkdir(parents=True)
        self.url = self.home.as_uri()

    def append(self, *at_ms: int) -> None:
        write_deltalake(self.effects, rows(*at_ms), mode="append", partition_by=["at_date"])

    def batch(self, number: int) -> None:
        commits = self.home / "checkpoint" / "commits"
        commits.mkdir(parents=True, exist_ok=True)
        (commits / str(number)).write_text("v1\n{}")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "store")


def seen(folder: Path) -> list[int]:
    return sorted(DeltaTable(str(folder / EFFECTS.name)).to_pyarrow_table()["at_ms"].to_pylist())


def copy_of(store: Store, folder: Path) -> StoreCopy:
    return StoreCopy(store.url, folder, tables=[EFFECTS])


def test_a_copy_holds_what_the_table_holds_and_grows_with_it(store: Store, tmp_path: Path) -> None:
    store.append(1)
    store.append(2, 3)
    copy = copy_of(store, tmp_path / "copy")
    copy.refresh()
    assert seen(copy.folder) == [1, 2, 3]
    store.append(4)
    copy.refresh()
    assert seen(copy.folder) == [1, 2, 3, 4]


def test_a_table_that_is_not_there_yet_is_none_in_the_copy(store: Store, tmp_path: Path) -> None:
    copy = copy_of(store, tmp_path / "copy")
    copy.refresh()
    assert not DeltaTable.is_deltatable(str(copy.folder / EFFECTS.name))
    store.append(1)
    copy.refresh()
    assert seen(copy.folder) == [1]


def test_what_upkeep_put_together_and_cleaned_away_is_read_once(store: Store, tmp_path: Path) -> None:
    for at_ms in range(5):
        store.append(at_ms)
    copy = copy_of(store, tmp_path / "copy")
    copy.refresh()
    table = DeltaTable(str(store.effects))
    table.optimize.compact()
    table.create_checkpoint()
    table.vacuum(0, dry_run=False, enforce_retention_duration=False)
    for version in range(3):
        (store.effects / "_delta_log" / f"{version:020d}.json").unlink()
    store.append(9)
    copy.refresh()
    assert seen(copy.folder) == [0, 1, 2, 3, 4, 9]
    fresh = copy_of(store, tmp_path / "fresh")
    fresh.refresh()
    assert seen(fresh.folder) == [0, 1, 2, 3, 4, 9]


def test_a_home_made_anew_under_the_same_name_is_copied_anew(store: Store, tmp_path: Path) -> None:
    store.append(1)
    copy = copy_of(store, tmp_path / "copy")
    copy.refresh()
    shutil.rmtree(store.effects)
    store.append(2)
    copy.refresh()
    assert seen(copy.folder) == [2]


@pytest.mark.parametrize("of_age", [0, 2], ids=["new files", "old files"])
def test_files_that_the_table_needs_no_more_stay_for_a_while_and_go_then(
    of_age: int, store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.append(1)
    store.append(2)
    copy = copy_of(store, tmp_path / "copy")
    copy.refresh()
    an_hour_ago = time.time() - 3600
    files = list((copy.folder / EFFECTS.name).glob("at_date=*/*.parquet"))
    assert len(files) == 2
    for path in files[:of_age]:
        os.utime(path, (an_hour_ago, an_hour_ago))
    DeltaTable(str(store.effects)).optimize.compact()
    copy.refresh()
    copy.refresh()
    assert all(path.exists() for path in files)
    monkeypatch.setattr(store_copy, "KEPT_S", -1.0)
    copy.refresh()
    left = list((copy.folder / EFFECTS.name).glob("at_date=*/*"))
    assert [path.suffix for path in left] == [".parquet"]
    assert seen(copy.folder) == [1, 2]


def test_whoever_follows_the_copy_reads_each_commit_once_and_soon(store: Store) -> None:
    store.append(1)
    with followed_copy(store.url, [EFFECTS]) as folder:
        assert seen(folder) == [1]
        follower = TableFollower(folder / EFFECTS.name, COLUMNS)
        read: list[int] = []
        for at_ms in (2, 3, 4):
            store.append(at_ms)

            def is_read(at_ms: int = at_ms) -> bool:
                read.extend(one for table in follower.poll() for one in table["at_ms"].to_pylist())
                return at_ms in read

            until(is_read, str(read))
        assert read == [2, 3, 4]
    assert not folder.exists()


def test_a_copy_says_when_the_job_has_done_its_last_batch(store: Store) -> None:
    an_hour_ago = int(time.time()) - 3600
    store.batch(7)
    os.utime(store.home / "checkpoint" / "commits" / "7", (an_hour_ago, an_hour_ago))
    with followed_copy(store.url, [EFFECTS]) as folder:
        first = until(lambda: read_status(folder), "a status")
        assert (first.batch_id, first.batch_at_ms) == (7, an_hour_ago * 1000)
        began_s = time.time()
        store.batch(8)
        until(lambda: (read_status(folder) or first).batch_id == 8, "batch 8")
        latest = read_status(folder)
        assert latest is not None
        # A file's time may lie some milliseconds before the clock's.
        assert began_s - 1 <= (latest.batch_at_ms or 0) / 1000 <= time.time()


def test_a_kept_copy_is_the_same_folder_the_next_time(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    store.append(1)
    with kept_copy(store.url) as first:
        assert seen(first) == [1]
    store.append(2)
    with kept_copy(store.url) as second:
        assert second == first
        assert seen(second) == [1, 2]
    assert first.is_relative_to(tmp_path / "cache" / "rollcall")


def test_a_store_that_cannot_be_reached_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(NoWayError, match="wasb://box/home cannot be read without Spark: "):
        StoreCopy("wasb://box/home", tmp_path, tables=[EFFECTS])
    (tmp_path / "home" / EFFECTS.name).mkdir(parents=True)
    (tmp_path / "home" / EFFECTS.name / "_delta_log").write_text("no folder")
    broken = StoreCopy((tmp_path / "home").as_uri(), tmp_path / "copy", tables=[EFFECTS])
    with pytest.raises(StoreError, match=r"^file://.*/home cannot be read: "):
        broken.refresh()


@pytest.mark.parametrize(
    ("location", "is_there"),
    [("s3a://b/h", True), ("abfss://c@a.example/h", True), (".rollcall", False), ("/h", False), ("file:///h", False)],
)
def test_a_url_is_in_a_store_and_a_path_is_not(location: str, is_there: bool) -> None:
    assert is_in_a_store(location) is is_there
