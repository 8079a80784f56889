"""Which of the paths that a replay is given is the request log and which the dump of the offsets topic."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.cli.replay import clear
from rollcall.tables.home import REPLAY, Home
from tests.offsets_topic.folded import CAPTURES, CLASSIC, CONSUMER
from tests.printed.recorded import BROKERS

LOG = CAPTURES / CLASSIC / "requests.log.gz"
DUMP = CAPTURES / CLASSIC / "offsets-topic.jsonl.gz"
OTHER = CAPTURES / CONSUMER[0] / "offsets-topic.jsonl.gz"
LINES = BROKERS / "d-kill.log.gz"


@pytest.mark.parametrize(
    ("paths", "why"),
    [
        ((LOG, LOG), "names 2 request logs, 0 dumps of __consumer_offsets"),
        ((DUMP, OTHER), "names 0 request logs, 2 dumps of __consumer_offsets"),
        ((DUMP, OTHER, LINES), "names 0 request logs, 2 dumps of __consumer_offsets and 1 log of brokers or clients"),
        ((LOG, DUMP, OTHER), "names 1 request log, 2 dumps of __consumer_offsets"),
    ],
)
def test_a_log_and_a_dump_go_together_and_nothing_else_does(
    paths: tuple[Path, ...], why: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", "--home", str(tmp_path / "home"), " ".join(map(str, paths))]) == 2
    assert why in capsys.readouterr().err
    assert not (tmp_path / "home").exists()


def test_logs_of_clients_that_print_nothing_are_read_beside_the_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    silent = [tmp_path / name for name in ("orders-0.log", "orders-1.log")]
    for path in silent:
        path.write_text("ready\n")
    assert main(["replay", "--home", str(tmp_path / "home"), str(LINES), *map(str, silent)]) == 0
    assert "orders-0.log: nobody whose lines are known, 1 line, 0 about groups" in capsys.readouterr().out


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
