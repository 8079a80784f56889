"""A process's own folder: gone with the process, and if that was killed with the next one."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rollcall.tables.duck_database import open_database, spill_folder
from rollcall.tables.own_folder import OWNER, own_folder
from tests.source_tree import ROOT

KIND = "rollcall-test-"
HOLDS_ONE = """
import sys
from rollcall.tables.own_folder import own_folder
with own_folder(sys.argv[1]) as folder:
    print(folder, flush=True)
    sys.stdin.read()
"""


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


def test_a_folder_is_removed_at_its_end() -> None:
    with own_folder(KIND) as folder:
        (folder / "held").write_text("held")
    assert not folder.exists()


def test_the_folder_of_a_killed_process_is_removed_by_the_next_and_that_of_a_living_one_is_not() -> None:
    living, killed = _holder(), _holder()
    try:
        folders = [Path(each.stdout.readline().strip()) for each in (living, killed) if each.stdout]
        killed.kill()
        killed.wait()
        for folder in folders:
            _grow_old(folder)
        with own_folder(KIND):
            assert [folder.exists() for folder in folders] == [True, False]
    finally:
        for each in (living, killed):
            each.kill()
            each.communicate()


def test_a_folder_that_is_not_locked_yet_stays(tmp_path: Path) -> None:
    made, other = tmp_path / f"{KIND}now", tmp_path / f"{KIND}without-owner"
    for folder in (made, other):
        folder.mkdir()
    (made / OWNER).touch()
    with own_folder(KIND):
        assert made.exists()
    _grow_old(made)
    with own_folder(KIND):
        assert not made.exists()
    assert other.exists()


def test_what_others_put_where_temporary_folders_lie_is_neither_followed_nor_waited_for(tmp_path: Path) -> None:
    piped, linked, file = tmp_path / f"{KIND}pipe", tmp_path / f"{KIND}link", tmp_path / f"{KIND}file"
    target = tmp_path / "of-somebody"
    for folder in (piped, target):
        folder.mkdir()
    os.mkfifo(piped / OWNER)
    (target / OWNER).touch()
    _grow_old(target)
    linked.symlink_to(target)
    file.touch()
    (tmp_path / f"{KIND}owner-is-a-link").mkdir()
    (tmp_path / f"{KIND}owner-is-a-link" / OWNER).symlink_to(target / OWNER)
    with own_folder(KIND) as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE((folder / OWNER).stat().st_mode) == 0o600
    assert target.exists()
    assert len(list(tmp_path.glob(f"{KIND}*"))) == 4


def test_a_database_writes_what_does_not_fit_into_no_folder_that_others_can_name(tmp_path: Path) -> None:
    planted = tmp_path / f"rollcall-duckdb-{os.getpid()}"
    planted.symlink_to(tmp_path)
    spill_folder.cache_clear()
    try:
        ((chosen,),) = open_database().execute("SELECT current_setting('temp_directory')").fetchall()
        assert Path(chosen) != planted
        assert stat.S_IMODE(Path(chosen).stat().st_mode) == 0o700
    finally:
        spill_folder.cache_clear()


def _holder() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDS_ONE, KIND]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _grow_old(folder: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(folder / OWNER, (long_ago, long_ago))
