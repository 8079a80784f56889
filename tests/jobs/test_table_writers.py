"""Rows of a replay on their way into tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from rollcall.inputs.replay import building
from rollcall.inputs.replay.building import TableWriters
from rollcall.inputs.replay.spill import RowFiles, take_rows


@pytest.fixture
def commits(monkeypatch: pytest.MonkeyPatch) -> list[pa.Table]:
    found: list[pa.Table] = []
    monkeypatch.setattr(building, "append", lambda _table, rows: found.append(rows))
    return found


def _writers() -> TableWriters:
    table: Any = object()
    return TableWriters({"effects": table, "quarantine": table})


def _files(folder: Path, count: int) -> list[Path]:
    out = RowFiles(folder / "rows")
    for place in range(count):
        out.write("effects", pa.table({"seq": [place]}))
    return out.files


def test_each_file_is_measured_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: list[pa.Table]) -> None:
    measured: list[pa.Table] = []

    class Rows:
        def __init__(self, rows: pa.Table) -> None:
            self.rows = rows

        @property
        def nbytes(self) -> int:
            measured.append(self.rows)
            return self.rows.nbytes

    taken = take_rows
    monkeypatch.setattr(building, "take_rows", lambda file: Rows(taken(file)))
    _writers().add(_files(tmp_path, 50))
    assert len(measured) == 50
    assert not commits


def test_held_rows_are_committed_when_they_are_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, commits: list[pa.Table]
) -> None:
    monkeypatch.setattr(building, "BYTES_A_COMMIT", 4 * 8)
    writers = _writers()
    writers.add(_files(tmp_path, 10))
    writers.flush()
    assert [rows.num_rows for rows in commits] == [4, 4, 2]
    assert pa.concat_tables(commits)["seq"].to_pylist() == [*range(10)]
