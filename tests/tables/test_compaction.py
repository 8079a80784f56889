"""Small files are put together while others commit: each row stays once, in its order, and no commit is waited for."""

from __future__ import annotations

import json
import os
import resource
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.tables import compaction
from rollcall.tables.compaction import OvertakenError, compact, remove_before
from rollcall.tables.delta_log import AddedFile, DeltaLog
from rollcall.tables.request_table import RequestTable, request_rows
from tests.requests import heartbeat
from tests.views.histories import two_members
from tests.views.story import DAY_MS, write_effects

MEGABYTE = 1 << 20
T = 1_700_000_000_000


class Requests:
    """A request table to which a gateway appends."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "requests"
        self._gateway = RequestTable(self.path, "gateway")
        self._gateway.open()
        self.sent: list[int] = []

    def send(self, count: int = 1) -> None:
        """Makes `count` commits of one request each."""
        for _ in range(count):
            at_ms = T + len(self.sent)
            self._gateway.append(request_rows([heartbeat("m", 1, at_ms, "g")]))
            self.sent.append(at_ms)

    def compact(self, target_bytes: int = MEGABYTE) -> int:
        return compact(self.path, target_bytes, REQUESTS)

    @property
    def log(self) -> DeltaLog:
        return DeltaLog(self.path)

    @property
    def files(self) -> set[str]:
        """Those of the table's latest version, as a Delta library sees it."""
        return {Path(uri).name for uri in DeltaTable(self.path).file_uris()}

    @property
    def read(self) -> list[int]:
        return sorted(DeltaTable(self.path).to_pyarrow_table()["received_at_ms"].to_pylist())


def in_rows(table: Path, *order: str) -> list[dict[str, Any]]:
    return sorted(DeltaTable(table).to_pyarrow_table().to_pylist(), key=lambda row: [row[name] for name in order])


def overtake(monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
    """Something happens after the table was looked at, and before what was put together is written."""
    written = compaction._write

    def overtaken(*given: Any) -> dict[str, Any]:
        meanwhile()
        return written(*given)

    monkeypatch.setattr(compaction, "_write", overtaken)


@pytest.fixture
def requests(tmp_path: Path) -> Requests:
    return Requests(tmp_path)


def test_many_files_become_one_with_every_row_in_its_order(requests: Requests) -> None:
    requests.send(20)
    assert requests.compact() == 20
    (name,) = requests.files
    assert pq.read_table(requests.path / name)["received_at_ms"].to_pylist() == requests.sent
    assert DeltaTable(requests.path).to_pyarrow_table().schema == REQUESTS.arrow
    assert requests.log.appended(requests.log.latest()) == {}, "for a reader of new rows"
    (reported,) = pa.table(DeltaTable(requests.path).get_add_actions(flatten=True)).to_pylist()
    bounds = (reported["min.received_at_ms"], reported["max.received_at_ms"])
    assert (reported["num_records"], *bounds) == (20, requests.sent[0], requests.sent[-1])
    assert requests.compact() == 0


def test_commits_that_come_meanwhile_are_kept_however_many(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    requests.send(3)
    overtake(monkeypatch, lambda: requests.send(40))
    assert requests.compact() == 3
    assert requests.read == requests.sent
    assert len(requests.files) == 41


def test_a_file_that_was_removed_meanwhile_comes_not_back(requests: Requests, monkeypatch: pytest.MonkeyPatch) -> None:
    requests.send(3)
    overtake(monkeypatch, lambda: DeltaTable(requests.path).delete(f"received_at_ms < {T + 2}"))
    with pytest.raises(OvertakenError, match="removed one of the files that are replaced"):
        requests.compact()
    assert requests.read == requests.sent[2:]
    assert list(requests.path.glob("*-c000.zstd.parquet")) == []
    assert list(requests.log.folder.glob("*.tmp")) == []


def test_a_commit_does_not_go_into_a_past_that_was_cleaned_away(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests.send(3)

    def clean() -> None:
        requests.send(3)
        DeltaTable(requests.path).create_checkpoint()
        for version in requests.log.versions():
            if version < requests.log.latest():
                requests.log.commit_path(version).unlink()

    overtake(monkeypatch, clean)
    with pytest.raises(OvertakenError, match="version 3 is gone"):
        requests.compact()
    assert requests.log.versions() == [6]
    assert requests.read == requests.sent


def test_rows_are_laid_out_by_group_in_parts_that_a_reader_may_pass_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "ROWS_IN_A_GROUP", 4)
    facts = two_members().rows
    for _ in range(2):
        write_effects(tmp_path, {"b": facts, "a": facts})
    write_effects(tmp_path, {"c": [msgspec.structs.replace(fact, at_ms=(fact.at_ms or 0) + DAY_MS) for fact in facts]})
    table = tmp_path / EFFECTS.name
    order = ("group_id", "at_ms", "seq")
    before = in_rows(table, *order)
    assert compact(table, MEGABYTE, EFFECTS._replace(order=order, apart=None)) == 2
    assert in_rows(table, *order) == before
    made, other = sorted((Path(uri) for uri in DeltaTable(table).file_uris()), key=lambda path: path.parent.name)
    assert (made.parent.name, other.parent.name) == ("at_date=1970-01-01", "at_date=1970-01-02")
    with pq.ParquetFile(made) as file:
        rows = [tuple(row.values()) for row in file.read([*order]).to_pylist()]
        assert rows == sorted(rows)
        place_of = file.schema_arrow.get_field_index("group_id")
        bounds = [file.metadata.row_group(n).column(place_of).statistics for n in range(file.num_row_groups)]
        assert len(bounds) == -(-len(rows) // 4)
        assert {(each.min, each.max) for each in bounds} >= {("a", "a"), ("b", "b")}


def test_rows_that_stand_apart_share_no_row_group_with_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "ROWS_IN_A_GROUP", 4)
    facts = two_members().rows
    for _ in range(2):
        write_effects(tmp_path, {"b": facts, "a": facts})
    table, (effect, count) = tmp_path / EFFECTS.name, Counter(fact.effect for fact in facts).most_common(1)[0]
    order = ("group_id", "at_ms", "seq")
    before = in_rows(table, *order, "effect")
    assert compact(table, MEGABYTE, EFFECTS._replace(order=order, apart=("effect", effect))) == 2
    assert in_rows(table, *order, "effect") == before
    (made,) = (Path(uri) for uri in DeltaTable(table).file_uris())
    with pq.ParquetFile(made) as file:
        groups = [file.read_row_group(n, [*order, "effect"]).to_pylist() for n in range(file.num_row_groups)]
    found = [{row["effect"] == effect for row in rows} for rows in groups]
    assert found == [{False}] * (len(facts) - count) + [{True}] * count
    for is_apart in (False, True):
        rows = [tuple(row.values())[:3] for rows in groups for row in rows if (row["effect"] == effect) is is_apart]
        assert rows == sorted(rows)


def test_a_file_that_is_large_enough_stays_and_so_does_one_without_another(requests: Requests) -> None:
    requests.send(2)
    size = max(path.stat().st_size for path in requests.path.glob("*.parquet"))
    assert requests.compact(size) == 0
    assert requests.compact(2 * size) == 2
    requests.send()
    before = requests.files
    assert requests.compact(size + 1) == 0
    assert requests.files == before


def test_files_of_other_libraries_and_of_older_columns_are_compacted_too(requests: Requests) -> None:
    requests.send()
    row = {"group_id": "g", "request_id": "r", "received_at_ms": T + 1, "request": "{}"}
    write_deltalake(str(requests.path), pa.Table.from_pylist([row]), mode="append", schema_mode="merge")
    assert requests.compact() == 2
    rows = in_rows(requests.path)
    assert {**row, "request_seq": None} in rows
    assert len(rows) == 2


def test_more_files_than_a_process_may_open_are_compacted(requests: Requests) -> None:
    requests.send(120)
    most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 20, most[1]))
    try:
        assert requests.compact() == 120
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, most)
    assert requests.read == requests.sent


def test_a_delta_library_goes_on_with_the_table(requests: Requests) -> None:
    requests.send(4)
    requests.compact()
    requests.send(2)
    table = DeltaTable(requests.path)
    table.create_checkpoint()
    table.delete(f"received_at_ms < {T + 2}")
    table.optimize.compact()
    table.vacuum(retention_hours=0, dry_run=False, enforce_retention_duration=False, full=True)
    assert requests.read == requests.sent[2:]
    assert len(list(requests.path.glob("*.parquet"))) == 1


@given(st.lists(st.integers(0, 120), max_size=30))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_bins_hold_small_files_in_order_and_no_more_than_makes_a_file(sizes: list[int]) -> None:
    files = [AddedFile(path=str(place), size=size) for place, size in enumerate(sizes)]
    bins = list(compaction._bins(files, 100))
    places = [int(file.path) for some in bins for file in some]
    assert places == sorted(set(places))
    assert all(len(some) > 1 and sum(file.size for file in some) <= 100 for some in bins)


def test_old_rows_go_from_files_whole_and_in_part_while_others_commit(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(3):
        requests.send(4)
        requests.compact()
    requests.send()
    overtake(monkeypatch, lambda: requests.send(40))
    assert remove_before(requests.path, T + 6, REQUESTS) == 1
    assert requests.read == requests.sent[6:]
    assert requests.log.appended(requests.log.latest()) == {}
    assert remove_before(requests.path, T + 6, REQUESTS) == 0


def test_files_of_old_rows_alone_go_unread_and_new_ones_stay_as_they_are(
    requests: Requests, monkeypatch: pytest.MonkeyPatch
) -> None:
    requests.send(4)
    requests.compact()
    requests.send(2)
    new = requests.files
    requests.send(2)
    monkeypatch.setattr(compaction, "_write", None)
    assert remove_before(requests.path, T + 4, REQUESTS) == 1
    assert requests.read == requests.sent[4:]
    assert len(new & requests.files) == 2


def test_a_row_without_a_moment_stays(requests: Requests) -> None:
    rows = [{"group_id": "g", "request_id": str(n), "received_at_ms": at_ms} for n, at_ms in enumerate((T, None))]
    write_deltalake(str(requests.path), pa.Table.from_pylist(rows, schema=REQUESTS.arrow), mode="append")
    assert remove_before(requests.path, T + 1, REQUESTS) == 1
    assert [row["request_id"] for row in in_rows(requests.path)] == ["1"]


def test_the_commit_is_as_the_protocol_spells_it(requests: Requests) -> None:
    requests.send(2)
    gone = requests.files
    requests.compact()
    lines = requests.log.commit_path(requests.log.latest()).read_text().splitlines()
    info, *actions = map(json.loads, lines)
    assert info["commitInfo"]["operation"] == "OPTIMIZE"
    removes = [action["remove"] for action in actions if "remove" in action]
    assert {remove["path"] for remove in removes} == gone
    assert {(remove["dataChange"], remove["extendedFileMetadata"]) for remove in removes} == {(False, True)}
    (add,) = [action["add"] for action in actions if "add" in action]
    assert (add["dataChange"], add["partitionValues"]) == (False, {})
    assert add["size"] == (requests.path / add["path"]).stat().st_size
