"""The log's reader beside delta-rs: the same files at every version, and only new rows reported as new."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from rollcall.tables import delta_log as files_of_tables
from rollcall.tables.delta_log import AddedFile, DeltaLog, DeltaLogError, live_files


def append(path: Path, *numbers: int, day: str = "2026-03-01") -> None:
    rows = pa.table({"n": numbers, "day": [day] * len(numbers)})
    write_deltalake(str(path), rows, mode="append", partition_by=["day"])


def numbers_in(log: DeltaLog, files: Iterable[Path]) -> list[int]:
    return sorted(n for path in files for n in pq.ParquetFile(path).read(["n"])["n"].to_pylist())


@pytest.fixture
def tended(tmp_path: Path) -> Path:
    """A table that has been through everything that upkeep does: versions 0 to 12."""
    path = tmp_path / "a table"
    for n in range(4):
        append(path, n, n + 10, day="x y=ä")
    table = DeltaTable(str(path))
    table.optimize.compact()
    table.create_checkpoint()
    append(path, 20, 21)
    table = DeltaTable(str(path))
    table.delete("n = 20")
    table.alter.set_table_properties({"delta.logRetentionDuration": "interval 3 minutes"})
    append(path, 30, day="2026-03-02")
    table = DeltaTable(str(path))
    table.create_checkpoint()
    table.delete("day = '2026-03-02'")
    stray = path / "stray.parquet"
    stray.touch()
    os.utime(stray, (0, 0))
    assert len(table.vacuum(dry_run=False, enforce_retention_duration=False, retention_hours=1000, full=True)) == 1
    append(path, 40)
    return path


def test_at_every_version_the_files_are_those_that_delta_rs_names(tended: Path) -> None:
    log = DeltaLog(tended)
    for version in range(log.latest() + 1):
        reported = DeltaTable(str(tended), version=version)
        found = live_files(log, version)
        assert {path.parts[-2:] for path in found.paths} == {Path(uri).parts[-2:] for uri in reported.file_uris()}
        assert numbers_in(log, found.paths) == sorted(reported.to_pyarrow_table()["n"].to_pylist())
        assert all(path.stat().st_size == file.size for path, file in zip(found.paths, found.files, strict=True))
    latest = live_files(log)
    assert latest.version == log.latest() == 12
    assert {file.partition_values["day"] for file in latest.files} == {"x y=ä", "2026-03-01"}
    assert sum(file.rows or 0 for file in latest.files) == 10
    assert {tuple(json.loads(file.stats or "{}")["minValues"]) for file in latest.files} == {("n",)}


def test_every_row_is_reported_once_as_new_whatever_upkeep_does(tended: Path) -> None:
    log = DeltaLog(tended)
    reported = {version: numbers_in(log, log.appended(version) or []) for version in range(log.latest() + 1)}
    news = {version: numbers for version, numbers in reported.items() if numbers}
    assert news == {0: [0, 10], 1: [1, 11], 2: [2, 12], 3: [3, 13], 5: [20, 21], 8: [30], 12: [40]}
    assert log.appended(13) is None


def test_a_file_that_is_added_again_with_other_statistics_brings_no_row(tmp_path: Path) -> None:
    append(tmp_path, 1)
    log = DeltaLog(tmp_path)
    (first,) = live_files(log).files
    again = {"add": {"path": first.path, "partitionValues": {}, "size": first.size, "dataChange": False}}
    log.commit_path(1).write_text(json.dumps(again) + "\n\n")
    assert log.appended(1) == {}
    assert [file.stats for file in live_files(log).files] == [None]
    assert [file.rows for file in live_files(log, 0).files] == [1]


def test_only_the_last_checkpoint_and_the_commits_after_it_are_needed(tended: Path) -> None:
    log = DeltaLog(tended)
    for version in range(8):
        log.commit_path(version).unlink()
    assert numbers_in(log, live_files(log).paths) == [0, 1, 2, 3, 10, 11, 12, 13, 21, 40]
    with pytest.raises(DeltaLogError, match=r"version 6 cannot be read: the log has versions 8 to 12"):
        live_files(log, 6)
    with pytest.raises(DeltaLogError, match="version 13 cannot be read"):
        live_files(log, 13)


def test_a_checkpoint_in_parts_counts_once_all_of_them_are_there(tended: Path) -> None:
    log = DeltaLog(tended)
    whole = log.folder / f"{8:020d}.checkpoint.parquet"
    first, second = (log.folder / f"{8:020d}.checkpoint.{n:010d}.{2:010d}.parquet" for n in (1, 2))
    actions = pq.read_table(whole)
    pq.write_table(actions.slice(0, 2), first)
    whole.unlink()
    found = log.last_checkpoint(12)
    assert found is not None
    assert found.version == 4
    before = live_files(log)
    pq.write_table(actions.slice(2), second)
    assert log.last_checkpoint(12) == (8, [first, second])
    assert sorted(live_files(log).paths) == sorted(before.paths)
    assert log.last_checkpoint(3) is None


def test_a_reader_that_upkeep_overtakes_begins_again(tended: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, tries, read = DeltaLog(tended), [], files_of_tables._in_checkpoint

    def overtaken(paths: Sequence[Path]) -> Iterable[AddedFile]:
        tries.append(paths)
        if len(tries) == 1:
            raise FileNotFoundError(paths[0])
        return read(paths)

    monkeypatch.setattr(files_of_tables, "_in_checkpoint", overtaken)
    assert live_files(log).version == 12
    assert len(tries) == 2


def test_what_is_no_table_or_has_deleted_rows_in_its_files_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DeltaLogError, match="there is no Delta table"):
        live_files(DeltaLog(tmp_path))
    append(tmp_path, 1, 2)
    log = DeltaLog(tmp_path)
    (file,) = live_files(log).files
    vector = {"storageType": "i", "pathOrInlineDv": "x", "sizeInBytes": 1, "cardinality": 1}
    log.commit_path(1).write_text(json.dumps({"add": {"path": file.path, "deletionVector": vector}}))
    with pytest.raises(DeltaLogError, match="has a deletion vector, which only Spark reads"):
        live_files(log)
