"""Whoever asks a home writes nothing into it, so it may lie on a disk that can only be read."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.__main__ import main
from rollcall.programs.version import VERSION
from tests.page.asking import asked
from tests.streaming.earlier_homes import JOB, unpacked

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
