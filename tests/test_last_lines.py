"""A red run's last lines name what failed, with and without workers."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests.child import WITHOUT_PYTEST, Child

TESTS = """
import pytest

@pytest.fixture
def broken():
    raise OSError("no disk")

def test_passes(): ...
def test_sum(): assert 1 + 1 == 3
@pytest.mark.parametrize("name", ["a b"])
def test_fixture(broken, name): ...
"""


def last_lines(folder: Path, workers: int, tests: str = TESTS) -> list[str]:
    (folder / "test_it.py").write_text(tests)
    words = ["-p", "tests.conftest", "-p", "no:cacheprovider", "-n", str(workers), "-q", "test_it.py"]
    _, out, _ = Child([sys.executable, "-m", "pytest", *words], folder, WITHOUT_PYTEST, folder).ended()
    lines = out.splitlines()
    return lines[next((at for at, line in enumerate(lines) if line.startswith("FAILED ") and ": " in line), 0) :]


@pytest.mark.parametrize("workers", [0, 2])
def test_each_failure_is_named_with_its_assertion_and_how_to_run_it_alone(tmp_path: Path, workers: int) -> None:
    lines = last_lines(tmp_path, workers)[-8:]
    assert {lines[0], lines[3]} == {
        "FAILED test_it.py::test_sum: assert (1 + 1) == 3",
        "FAILED test_it.py::test_fixture[a b]: in its setup: OSError: no disk",
    }
    assert {lines[1], lines[4]} == {
        f"    alone: {'NIGHTLY=all ' * (os.environ.get('NIGHTLY') == 'all')}.venv/bin/python -m pytest -n0 {name}"
        for name in ("test_it.py::test_sum", "'test_it.py::test_fixture[a b]'")
    }
    assert all("load " in line and " cores; running: " in line for line in (lines[2], lines[5]))
    assert "pytest-of-" in lines[6]
    assert lines[7] == "2 failed"


def test_a_file_that_cannot_be_read_is_named_and_a_green_run_says_nothing_more(tmp_path: Path) -> None:
    lines = last_lines(tmp_path, 0, "import nothing_such\n")
    assert lines[-5].startswith("FAILED test_it.py: ")
    assert "No module named 'nothing_such'" in lines[-5]
    assert "1 passed" in last_lines(tmp_path, 0, "def test_it(): ...\n")[-1]
