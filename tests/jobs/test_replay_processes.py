"""A replay by several processes: the tables of one process, and nothing of it where it fails or is stopped."""

from __future__ import annotations

import gc
import gzip
import os
import signal
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from rollcall.__main__ import main
from rollcall.cli import replay
from rollcall.cli.replay import processes_for, replay_home
from rollcall.inputs.replay import building, inputs, spill
from rollcall.inputs.replay.building import TableWriters
from rollcall.inputs.replay.row_files import RowFiles, take_rows
from rollcall.inputs.replay.spill import Piece, buckets_for
from rollcall.inputs.replay.spilled_log import SectionRead, SpilledLog
from rollcall.inputs.request_log.following.group_sessions import CONFIGS_GIVEN
from rollcall.inputs.request_log.lines import sections
from rollcall.inputs.request_log.lines.silences import Silences
from rollcall.inputs.request_log.recorded import Tally
from rollcall.inputs.request_log.topic_metadata import TopicMetadata
from rollcall.programs.processes import ProcessEndedError, Processes, _tidied, note_done
from rollcall.tables.home import Home
from tests.offsets_topic.folded import CAPTURES, NAMES
from tests.printed.recorded import BROKERS
from tests.replayed import replay_log
from tests.source_tree import ROOT

BUSY = ROOT / "tests/captures/j-busy-1/requests.log.gz"
LOG = ROOT / "tests/captures/d-kill/requests.log.gz"
DUMP = ROOT / "tests/captures/n-classic-mixed/offsets-topic.jsonl.gz"


def rows_of(place: str) -> list[dict[str, object]]:
    table: pa.Table = DeltaTable(place).to_pyarrow_table()
    return sorted(table.to_pylist(), key=repr)


def test_two_processes_and_many_sections_leave_the_tables_of_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = tmp_path / "requests.log"
    plain.write_bytes(gzip.decompress(BUSY.read_bytes()))
    alone = replay_log(Home(tmp_path / "one"), BUSY, processes=1)
    monkeypatch.setattr(sections, "SECTION_BYTES", 1 << 20)
    assert processes_for(plain.stat().st_size, 2) == 2
    assert buckets_for(plain.stat().st_size) > 2
    shared = replay_log(Home(tmp_path / "two"), plain, processes=2)
    assert (shared.parity.equal, shared.inferred) == (alone.parity.equal, alone.inferred)
    assert (shared.tally.used, shared.tally.skipped) == (alone.tally.used, alone.tally.skipped)
    for table in ("effects", "requests", "quarantine"):
        ours, theirs = (rows_of(f"{tmp_path}/{home}/{table}") for home in ("two", "one"))
        named = [{key: _renamed(value) for key, value in row.items()} for row in theirs]
        assert ours == sorted(named, key=repr), table


def test_lines_are_laid_to_the_groups_that_other_processes_follow(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(DUMP), str(BROKERS / "n-classic-mixed.log.gz")]
    monkeypatch.setattr(replay, "LITTLE_BYTES", 0)
    monkeypatch.setattr(replay, "buckets_for", lambda size_bytes: 5)
    for processes in ("1", "2"):
        home = str(tmp_path / processes)
        assert main(["replay", *paths, "--home", home, "--processes", processes]) == 0
    assert rows_of(f"{tmp_path}/1/effects") == rows_of(f"{tmp_path}/2/effects")
    assert any("n-classic-mixed.log.gz:" in str(row["request_id"]) for row in rows_of(f"{tmp_path}/2/effects"))


@pytest.mark.parametrize("beside", [None, BROKERS / "{}.log.gz", CAPTURES / "{}" / "requests.log.gz"])
@pytest.mark.parametrize("name", NAMES)
def test_pieces_cut_anywhere_leave_the_facts_of_whole_groups(
    name: str, beside: Path | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = [str(CAPTURES / name / "offsets-topic.jsonl.gz"), *([] if beside is None else [str(beside).format(name)])]
    cut = []
    for piece_bytes in (1 << 30, 1 << 10, 1):
        monkeypatch.setattr(spill, "_PIECE_BYTES", piece_bytes)
        home = tmp_path / str(piece_bytes)
        assert main(["replay", *paths, "--home", str(home), "--processes", "1"]) == 0
        cut.append(rows_of(f"{home}/effects"))
    assert cut[0]
    assert cut[0] == cut[1] == cut[2]


def test_a_section_is_added_up_as_soon_as_those_before_it_are_read() -> None:
    held: list[weakref.ref[SectionRead]] = []

    def read() -> Iterator[SectionRead]:
        for number in (1, 0, 3, 2, 5, 4):
            section = SectionRead(
                0, number, number, Path(f"{number}"), Tally(), Silences(), TopicMetadata(), [Piece(0, 0, 1, 1)]
            )
            held.append(weakref.ref(section))
            yield section
            del section
            assert sum(each() is not None for each in held) <= 2

    log = SpilledLog(read())
    ((_, sections_of_bucket),) = log.share(0).files
    assert [path.name for path, _ in sections_of_bucket] == ["0", "1", "2", "3", "4", "5"]


def _renamed(value: object) -> object:
    """Request ids begin with the file's name."""
    return value.replace("requests.log.gz", "requests.log") if isinstance(value, str) else value


def end_at_once(number: int) -> int:
    os.kill(os.getpid(), signal.SIGKILL)
    return number


def square(number: int) -> int:
    note_done(number)
    return number * number


def refuse(number: int) -> int:
    raise ValueError(f"not {number}")


@pytest.mark.parametrize("count", [1, 2])
def test_work_is_done_and_counted(count: int) -> None:
    seen: list[int] = []
    with Processes(count) as pool:
        assert sorted(pool.each(square, ((n,) for n in range(20)), seen.append)) == [n * n for n in range(20)]
        with pytest.raises(ValueError, match="not 3"):
            list(pool.each(refuse, [(3,)]))
    assert sum(seen) == sum(range(20))


def test_a_process_that_is_killed_is_one_sentence() -> None:
    with Processes(2) as pool, pytest.raises(ProcessEndedError, match="ended from outside"):
        list(pool.each(end_at_once, [(1,)]))


def test_a_replay_that_is_stopped_leaves_no_half_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path / "home")

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(inputs, "write_bucket", stop)
    with pytest.raises(KeyboardInterrupt), replay_home(home, is_fresh=False):
        replay_log(home, LOG, processes=1)
    assert not home.path.exists()
    monkeypatch.undo()
    with replay_home(home, is_fresh=False):
        assert replay_log(home, LOG, processes=1).parity.share == 1.0


def test_what_a_killed_replay_left_is_gone_with_the_next(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    (home.building.path / "effects").mkdir(parents=True)
    (home.building.path / "section-000000").write_bytes(b"x")
    replay_log(home, LOG, processes=1)
    assert sorted(path.name for path in home.path.iterdir()) == ["effects", "quarantine", "requests"]


def test_bad_lines_and_a_truncated_file_are_counted_and_kept(tmp_path: Path) -> None:
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    spoilt = lines[200][:300] + b"\n"
    data = gzip.compress(b"".join([*lines[:250], spoilt, *lines[250:]]))
    (tmp_path / "requests.log.gz").write_bytes(data[: len(data) // 2])
    report = replay_log(Home(tmp_path / "home"), tmp_path / "requests.log.gz", processes=1)
    assert report.tally.quarantined.total() >= 1
    assert any("cannot be read from here on" in reason for reason in report.tally.quarantined)
    assert report.tally.read == report.tally.used + report.tally.skipped.total() + report.tally.quarantined.total()
    kept = rows_of(f"{tmp_path}/home/quarantine")
    assert len(kept) == report.tally.quarantined.total()
    assert all(str(row["source"]).startswith("requests.log.gz line ") for row in kept)


def test_the_command_needs_no_jvm(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", str(LOG), "--home", str(tmp_path / "home")]) == 0
    report = capsys.readouterr().out
    assert "parity: 100.000% (463 of 463 recorded answers match)" in report
    assert (
        "views-agg: rebalance, generation 1 -> 2: session expired, by views-agg-1 on 127.0.1.14; completed in 13 ms"
        in report
    )


def test_a_bad_engine_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["replay", f"{LOG} {DUMP}", "--engine", "spark", "--home", str(tmp_path / "home")]) == 2
    assert "--engine spark replays one request log" in capsys.readouterr().err


def test_what_is_set_for_a_group_and_what_its_sessions_are_reach_and_leave_every_process(tmp_path: Path) -> None:
    log = ROOT / "tests/request_log/incidents/sessions.log.gz"
    lines = [line for line in gzip.decompress(log.read_bytes()).splitlines(keepends=True) if b"_CONFIGS" not in line]
    plain = tmp_path / "requests.log"
    plain.write_bytes(b"".join(lines))
    home = Home(tmp_path / "bounded")
    bounded = replay_log(home, plain, processes=2).tally.sessions
    assert bounded
    group_id, bounds = next((each, found) for each, found in sorted(bounded.items()) if found.likely_ms)
    key = f"groups.{group_id}.consumer.session.timeout.ms"
    given = replay_log(Home(tmp_path / "given"), plain, {key: str(bounds.likely_ms)}, 2)
    assert CONFIGS_GIVEN in given.tally.inferred
    assert given.parity.equal == replay_log(Home(tmp_path / "again"), plain, processes=1).parity.equal


def test_what_a_piece_of_work_leaves_in_circles_is_gone_after_it() -> None:
    """Else the memory of a long log's processes grows with the log."""

    class Circle:
        def __init__(self) -> None:
            self.own = self

    def work() -> weakref.ref[Circle]:
        return weakref.ref(Circle())

    was_enabled = gc.isenabled()
    gc.disable()
    try:
        assert _tidied(work)() is None
    finally:
        gc.unfreeze()
        if was_enabled:
            gc.enable()


# ---------------------------------------------------------------- rows on their way into tables


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
