"""A process's own folder: gone with the process, and if that was killed with the next one."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tables.own_folder import OWNER, own_folder
from tests.source_tree import ROOT

KIND = "rollcall-test-"
HOLDS_ONE = """
import sys
from tables.own_folder import own_folder
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


def _holder() -> subprocess.Popen[str]:
    command = [sys.executable, "-c", HOLDS_ONE, KIND]
    return subprocess.Popen(command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def _grow_old(folder: Path) -> None:
    long_ago = time.time() - 3600
    os.utime(folder / OWNER, (long_ago, long_ago))
