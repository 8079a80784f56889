"""What a replay is given and reports: which path is the request log and which the dump, how many lines were read."""

from __future__ import annotations

import gzip
import shutil
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.answers.sql.engine import ask
from rollcall.cli.replay import clear
from rollcall.inputs.offsets_topic.dumps.reading import Dump
from rollcall.inputs.request_log.recorded import GivenUp, Tally
from rollcall.shown.replay_report import log_lines
from rollcall.tables.home import REPLAY, Home
from tests.offsets_topic.folded import CAPTURES, CLASSIC, CONSUMER
from tests.printed.recorded import BROKERS

LOG = CAPTURES / CLASSIC / "requests.log.gz"
DUMP = CAPTURES / CLASSIC / "offsets-topic.jsonl.gz"
OTHER = CAPTURES / CONSUMER[0] / "offsets-topic.jsonl.gz"
LINES = BROKERS / "d-kill.log.gz"


@pytest.mark.parametrize(
    "paths",
    [
        (DUMP, OTHER),
        (LOG, DUMP, OTHER, LINES),
    ],
)
def test_two_dumps_do_not_go_together(
    paths: tuple[Path, ...], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "--home", str(tmp_path / "home"), " ".join(map(str, paths))]) == 2
    assert f"{DUMP} {OTHER}: names 2 dumps of __consumer_offsets" in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def rebalances(home: Path) -> list[Sequence[object]]:
    return [*ask(home, "select * from rebalances order by group_id, started_at, from_generation_id").rows]


def test_a_folder_is_replayed_as_its_files_are_each_by_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "incident"
    for file, name in ((LOG, "broker/requests.log.gz"), (DUMP, "offsets.jsonl.gz"), (LINES, "server.log.gz")):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, folder / name)
    (folder / "notes.txt").write_text("restarted at nine\n")
    (folder / ".requests.log.swp").write_bytes(b"b0VIM 8.2")
    assert main(["replay", "--home", str(tmp_path / "folder"), str(folder)]) == 0
    assert "notes.txt: not understood" in capsys.readouterr().out
    assert main(["replay", "--home", str(tmp_path / "files"), str(LOG), str(DUMP), str(LINES)]) == 0
    assert rebalances(tmp_path / "folder") == rebalances(tmp_path / "files") != []


def test_several_request_logs_are_one_log(tmp_path: Path) -> None:
    lines = gzip.decompress(LOG.read_bytes()).splitlines(keepends=True)
    halves = [tmp_path / day / "requests.log" for day in ("sunday", "monday")]
    for half, own in zip(halves, (lines[: len(lines) // 2], lines[len(lines) // 2 :]), strict=True):
        half.parent.mkdir()
        half.write_bytes(b"".join(own))
    assert main(["replay", "--home", str(tmp_path / "both"), *map(str, halves)]) == 0
    assert main(["replay", "--home", str(tmp_path / "whole"), str(LOG)]) == 0
    assert rebalances(tmp_path / "both") == rebalances(tmp_path / "whole") != []


def test_a_dump_from_before_compaction_is_read_before_one_from_after(tmp_path: Path) -> None:
    lines = gzip.decompress(DUMP.read_bytes()).splitlines(keepends=True)
    (tmp_path / "b-whole.jsonl").write_bytes(b"".join(lines))
    (tmp_path / "a-compacted.jsonl").write_bytes(b"".join(lines[:1] + lines[-1:]))
    assert len([*Dump([*tmp_path.iterdir()], lambda bad: None)]) == len([*Dump([DUMP], lambda bad: None)]) > 2


def test_logs_of_clients_that_print_nothing_are_read_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = [tmp_path / name for name in ("orders-0.log", "orders-1.log")]
    for path in silent:
        path.write_text("ready\n")
    assert main(["replay", "--home", str(tmp_path / "home"), str(LINES), *map(str, silent)]) == 0
    assert "orders-0.log: not understood, 1 line, 0 about groups" in capsys.readouterr().out


def test_a_path_with_a_blank_in_it_is_one_path(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "two words"
    folder.mkdir()
    assert main(["replay", "--home", str(tmp_path / "home"), str(folder)]) == 2
    assert f"{folder}: " in capsys.readouterr().err


def test_a_replay_is_not_begun_again_into_the_same_tables(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "effects").mkdir()
    assert main(["replay", "--home", str(tmp_path), f"{LOG} {DUMP}"]) == 2
    assert "holds a replay already: --fresh clears it" in capsys.readouterr().err


def test_fresh_clears_what_replays_of_earlier_versions_left_too(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(REPLAY, "driver")
    for begun in ("effects", "records", "log/effects", "topic/effects"):
        (tmp_path / begun).mkdir(parents=True)
    clear(home)
    assert [path.name for path in tmp_path.iterdir()] == ["home.json"]


# ---------------------------------------------------------------- what a replay reports of lines


def test_reasons_are_reported_by_kind_with_the_first_line_of_each() -> None:
    tally = Tally(
        read=42_010,
        used=10,
        quarantined=Counter({"the times are impossible": 41_000, "the line is cut off": 1000}),
        examples={"the line is cut off": "requests.log line 7: the line is cut off: before it names its API"},
    )
    counts, without_lag, *reasons = log_lines(tally, 1.5)
    assert counts.startswith("42010 lines read in 1.5 s: 10 used, 0 skipped, 42000 quarantined")
    assert without_lag.startswith("  no FETCH or LIST_OFFSETS line: ")
    assert reasons == [
        "  quarantined 41000: the times are impossible",
        "  quarantined 1000: the line is cut off",
        "    the first: requests.log line 7: the line is cut off: before it names its API",
    ]


def test_a_group_that_was_given_up_is_named_with_the_line_it_was_given_up_at() -> None:
    tally = Tally(read=1, used=1, given_up={"orders": GivenUp("requests.log:812", left_out=40)})
    (reported,) = [line for line in log_lines(tally, 0.1) if "gave up" in line]
    assert "group orders at requests.log:812" in reported
    assert "40 of its requests are left out" in reported
