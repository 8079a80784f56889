"""A full disk: a write is there whole or not at all, the writer gets an error, and all goes on once there is room."""

from __future__ import annotations

from pathlib import Path

import pytest
from deltalake import DeltaTable

from rollcall.jobs.config import JobConfig
from rollcall.jobs.stream.upkeep import tables_of
from rollcall.schemas.tables import EFFECTS
from rollcall.tables.delta_log import DeltaLog
from rollcall.tables.home import LIVE, Home, HomeError
from rollcall.tables.request_table import RequestTable, request_rows
from rollcall.tables.upkeep import tend
from rollcall.tables.whole_file import write_whole
from tests.requests import heartbeat
from tests.tables.doomed_writers import Batch, T, writer_of
from tests.tables.full_disk import no_room

LEFT = (0, 100, 700)
"""How many bytes of a file there is room for: it cannot be begun, or breaks off in its middle."""


def groups_in(path: str) -> list[str]:
    return sorted(row["group_id"] for row in DeltaTable(path).to_pyarrow_table().to_pylist())


@pytest.mark.parametrize("bytes_left", LEFT)
def test_requests_that_find_no_room_are_refused_and_the_next_are_appended(tmp_path: Path, bytes_left: int) -> None:
    home = Home(tmp_path)
    table = RequestTable(Path(home.requests), "gateway")
    table.open()
    table.append(request_rows([heartbeat("m", 1, T, "first")]))
    version = DeltaLog(Path(home.requests)).latest()
    with no_room(bytes_left), pytest.raises(OSError, match=r"."):
        table.append(request_rows([heartbeat("m", 1, T, "lost")]))
    assert DeltaLog(Path(home.requests)).latest() == version
    assert [path.name for path in Path(home.requests).rglob("*") if path.name.endswith(".tmp")] == []
    assert len(list(Path(home.requests).glob("*.parquet"))) == 1
    assert groups_in(home.requests) == ["first"]
    table.append(request_rows([heartbeat("m", 1, T, "second")]))
    assert groups_in(home.requests) == ["first", "second"]


@pytest.mark.parametrize("bytes_left", LEFT)
def test_a_batch_that_finds_no_room_fails_and_is_reported_once_when_it_runs_again(
    tmp_path: Path, bytes_left: int
) -> None:
    home = Home(tmp_path)
    writer = writer_of(home)
    writer.write(Batch("first"), 0)  # type: ignore[arg-type]
    with no_room(bytes_left), pytest.raises(Exception, match=r"(?i)too large|space|os error"):
        writer.write(Batch("second"), 1)  # type: ignore[arg-type]
    assert groups_in(home.effects) == ["first"]
    again = writer_of(home)
    for _ in range(2):
        again.write(Batch("second"), 1)  # type: ignore[arg-type]
    assert groups_in(home.effects) == ["first", "second"]
    assert DeltaTable(home.effects).to_pyarrow_table().column_names == EFFECTS.names


def test_upkeep_that_finds_no_room_leaves_the_table_as_it_was(tmp_path: Path) -> None:
    home, config = Home(tmp_path), JobConfig()
    writer = writer_of(home)
    for batch in range(3):
        writer.write(Batch(f"g{batch}"), batch)  # type: ignore[arg-type]
    effects = next(kept for kept in tables_of(home, config) if kept.table.name == "effects")
    with no_room(100), pytest.raises(Exception, match=r"(?i)too large|space|os error"):
        tend(effects, T, thorough=True)
    assert groups_in(home.effects) == ["g0", "g1", "g2"]
    tend(effects, T, thorough=True)
    assert groups_in(home.effects) == ["g0", "g1", "g2"]
    assert len(DeltaTable(home.effects).file_uris()) == 1


def test_a_file_that_is_written_whole_stays_the_old_one(tmp_path: Path) -> None:
    path = tmp_path / "state"
    write_whole(path, "old")
    with no_room(), pytest.raises(OSError, match=r"."):
        write_whole(path, "new" * 1000)
    assert path.read_text() == "old"


def test_a_home_whose_note_finds_no_room_is_begun_when_there_is_some(tmp_path: Path) -> None:
    with no_room(), pytest.raises(OSError, match=r"."):
        Home(tmp_path).check_kind(LIVE, "driver")
    Home(tmp_path).check_kind(LIVE, "driver")
    assert Home(tmp_path).read_note()["kind"] == LIVE


@pytest.mark.parametrize("folder", ["/proc/sys/rollcall", "/dev/null/rollcall"])
def test_a_home_on_a_disk_that_takes_no_files_is_refused_in_a_sentence(folder: str) -> None:
    with pytest.raises(HomeError, match=rf"^{folder} cannot be a home: [A-Z][a-z -]+\.$"), Home(folder).locked("a job"):
        pass
