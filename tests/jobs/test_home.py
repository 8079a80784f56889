"""Homes: where things lie, one job at a time, one history each."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.tables.home import LIVE, REPLAY, Home, HomeError


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
