"""Homes: where things lie, one job at a time, one history each, and no writes by who only asks."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.jobs.spark.store_folder import sentence_of
from rollcall.programs.version import VERSION
from rollcall.tables.home import LIVE, REPLAY, Home, HomeError
from tests.page.asking import asked
from tests.streaming.earlier_homes import JOB, unpacked


def test_a_home_is_a_folder_of_four_places(tmp_path: Path) -> None:
    home = Home(tmp_path)
    assert [home.requests, home.effects, home.quarantine, home.checkpoint] == [
        f"{tmp_path}/{name}" for name in ("requests", "effects", "quarantine", "checkpoint")
    ]
    assert Home(f"file://{tmp_path}").effects == home.effects


def test_a_home_in_an_object_store_is_only_named() -> None:
    home = Home("s3a://bucket/rollcall/")
    assert (home.is_local, home.effects) == (False, "s3a://bucket/rollcall/effects")
    with pytest.raises(HomeError, match="is not a folder of this machine"):
        _ = home.path


def test_a_second_job_is_refused_with_who_is_there(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    refusal = r"is in use by the coordinator \(process \d+\): stop it"
    with home.locked("the coordinator"), pytest.raises(HomeError, match=refusal), home.locked("a second"):
        pass
    with home.locked("the next"):
        pass


def test_a_home_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(HomeError, match="cannot be a home: "), Home(tmp_path / "file" / "home").locked("a"):
        pass


def test_a_home_keeps_to_one_kind_of_history_and_one_writer(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.check_kind(LIVE, "driver")
    home.check_kind(LIVE, "driver")
    with pytest.raises(HomeError, match="holds a live history, not a replay one: name another home"):
        home.check_kind(REPLAY, "driver")
    with pytest.raises(HomeError, match=r"was written by spark\.coordinator\.effects\.writer=driver"):
        home.check_kind(LIVE, "cluster")


def test_a_home_of_which_only_its_session_is_noted_takes_any_kind(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.write_note({"made_with": {"cores": 2}})
    home.check_kind(REPLAY, "driver")
    assert (home.read_note()["kind"], home.read_note()["made_with"]) == (REPLAY, {"cores": 2})
    with pytest.raises(HomeError, match="holds a replay history, not a live one"):
        home.check_kind(LIVE, "driver")


def test_a_damaged_note_is_named(tmp_path: Path) -> None:
    (tmp_path / "home.json").write_text("{")
    with pytest.raises(HomeError, match=r"home\.json cannot be read"):
        Home(tmp_path).check_kind(LIVE, "driver")


# ---------------------------------------------------------------- an object store that refuses

HOME = "s3a://bucket/rollcall"


@pytest.mark.parametrize(
    ("names", "words", "sentence"),
    [
        (
            ["UnknownStoreException", "NoSuchBucketException"],
            "The specified bucket does not exist (Service: S3, Status Code: 404)",
            f"{HOME}: there is no such bucket: The specified bucket does not exist (Service: S3, Status Code: 404)",
        ),
        (
            ["AccessDeniedException", "S3Exception"],
            "Access Denied (Service: S3, Status Code: 403)\nand more",
            f"{HOME}: no right to read and write there: Access Denied (Service: S3, Status Code: 403)",
        ),
        (
            ["RuntimeException", "ClassNotFoundException"],
            "Class org.apache.hadoop.fs.s3a.S3AFileSystem not found",
            f"{HOME}: the connector for s3a is missing (Class org.apache.hadoop.fs.s3a.S3AFileSystem not found): "
            "add --packages org.apache.hadoop:hadoop-aws:3.5.0.",
        ),
        (["IOException"], "", f"{HOME}: the store refuses: no reason given"),
    ],
)
def test_an_error_of_a_store_is_one_sentence(names: list[str], words: str, sentence: str) -> None:
    assert sentence_of(HOME, names, words) == sentence


# ---------------------------------------------------------------- who asks writes nothing

Seen = dict[str, tuple[int, int, int]]


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return unpacked(VERSION, tmp_path).home(JOB)


def seen(home: Path) -> Seen:
    """What every file and folder is; a folder's own time also shows files that were there only for a moment."""
    found = {path: path.stat() for path in (home, *home.rglob("*"))}
    return {str(path): (stat.st_ino, stat.st_size, stat.st_mtime_ns) for path, stat in found.items()}


@pytest.mark.parametrize(
    "words",
    [
        ["sql", "select group_id, state from groups"],
        ["sql", "--at", "2026-11-22 12:00", "select * from members"],
        ["why", "orders", "--generation", "2"],
    ],
    ids=lambda words: words[0],
)
def test_an_answer_leaves_a_home_as_it_was(home: Path, words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    before = seen(home)
    assert main([*words, "--home", str(home)]) == 0
    assert capsys.readouterr().out
    assert seen(home) == before


def test_so_does_a_page(home: Path) -> None:
    before = seen(home)
    with asked(home) as client:
        for path in (
            "/",
            "/group?group=orders",
            "/rebalance?group=orders&generation=2",
            "/sql?q=select+group_id+from+groups",
        ):
            answer = client.get(path)
            assert answer.status_code == 200, path
            assert "orders" in answer.text
    assert seen(home) == before
