"""A child process finds our packages, whatever lies in the folder that it is started from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rollcall.cli.run.children import Child
from rollcall.programs.child_python import module_command, module_environment
from tests.waiting import until

NAMES = ("rollcall", "page", "jobs", "schemas", "programs", "gateway", "tables", "click", "json", "sitecustomize")


@pytest.fixture
def hostile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose files have our packages' names; the current one."""
    for name in NAMES:
        (tmp_path / f"{name}.py").write_text(f"open({str(tmp_path / 'was-run')!r}, 'w').write({name!r})\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_command_runs_nothing_of_the_current_folder(hostile: Path) -> None:
    command = module_command("rollcall", "page", "--help")
    done = subprocess.run(command, env=module_environment(), capture_output=True, text=True, check=True)
    assert "Show a home in a browser" in done.stdout
    assert not (hostile / "was-run").exists()


def test_a_child_of_a_run_runs_nothing_of_the_current_folder(hostile: Path) -> None:
    child = Child("page", ["rollcall", "page", "--help"], hostile / "page.log")
    until(lambda: child.status is not None, "its end")
    assert "Show a home in a browser" in child.log.read_text()
    assert not (hostile / "was-run").exists()
