"""How every program ends: with which exit status, and what its user reads."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from rollcall.answers.whatif.changes import SettingError
from rollcall.coordinator_udfs.trace import TraceError
from rollcall.inputs.request_log.lines.clock import ZoneError
from rollcall.inputs.request_log.lines.files import LogFileError
from rollcall.programs.errors import ConfigError, UserError
from rollcall.programs.preflight import Missing
from rollcall.programs.running import run_program
from rollcall.programs.timestamps import MomentError
from rollcall.tables.home import HomeError
from tests.source_tree import ROOT


def raising(error: BaseException) -> Callable[[], int]:
    def main() -> int:
        raise error

    return main


@pytest.mark.parametrize(("given", "status"), [(None, 0), (0, 0), (3, 3)])
def test_a_programs_own_status_is_its_exit_status(given: int | None, status: int) -> None:
    assert run_program(lambda: given) == status


@pytest.mark.parametrize(
    "kind", [UserError, ConfigError, Missing, HomeError, MomentError, ZoneError, LogFileError, SettingError, TraceError]
)
def test_what_a_user_can_put_right_is_one_sentence_and_2(
    kind: type[UserError], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_program(raising(kind("x=1: is not a setting"))) == 2
    assert capsys.readouterr() == ("", "rollcall: x=1: is not a setting\n")


def test_ctrl_c_is_130_without_a_word(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(raising(KeyboardInterrupt())) == 130
    assert capsys.readouterr() == ("", "")


def test_our_own_mistake_is_1_with_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    assert run_program(raising(KeyError("lost"))) == 1
    assert "Traceback" in capsys.readouterr().err


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    program = (
        "import sys\nfrom rollcall.programs.running import run_program\n"
        "sys.exit(run_program(lambda: print(*range(1_000_000), sep='\\n')))"
    )
    command = f'{sys.executable} -c "{program}" | head -1; exit ${{PIPESTATUS[0]}}'
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "0\n", "")
