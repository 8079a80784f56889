"""What a program started is gone soon after the program, however that ended, and whatever sessions it made."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from rollcall.programs.guardian import VARIABLE, is_running, mark_of
from tests.child import WITHOUT_PYTEST, Child
from tests.waiting import until

pytestmark = pytest.mark.skipif(not Path("/proc").exists(), reason="the guardian needs Linux's /proc")

# A process in a session of its own with a child in one more, as Spark's JVM with its Python daemon.
# A signal that comes just before a sleep is noticed when the sleep is over: so each is short.
SLEEPS = "import time\nfor _ in range(6_000): time.sleep(0.1)"
STARTS = f"""
import subprocess, sys
from rollcall.programs.guardian import mark_of
process = subprocess.Popen([sys.executable, "-c", {SLEEPS!r}], start_new_session=True)
print("started", mark_of(process.pid), flush=True)
"""
GUARDED = "from rollcall.programs.guardian import guard\nguard()\n"
ENDS = {"by itself": "", "with an error": "raise SystemError", "on a signal": SLEEPS}


def program(end: str) -> list[str]:
    above = f"process = subprocess.Popen([sys.executable, '-c', {STARTS + SLEEPS!r}], start_new_session=True)"
    # A run in the background ignores Ctrl-C, and so does what it starts.
    heeds = "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
    said = "print('started', mark_of(process.pid), flush=True)"
    code = f"{heeds}{GUARDED}{STARTS}{above}\n{said}\ninput()\n{ENDS[end]}"
    return [sys.executable, "-c", code]


def marks_in(text: str) -> list[str]:
    return [line.split()[1] for line in text.splitlines() if line.startswith("started ")]


@pytest.mark.parametrize(
    ("end", "number"),
    [
        ("by itself", None),
        ("with an error", None),
        *(("on a signal", number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)),
    ],
)
def test_what_a_program_started_ends_with_it(end: str, number: signal.Signals | None) -> None:
    with subprocess.Popen(program(end), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdin is not None
        assert started.stdout is not None
        marks = [started.stdout.readline().split()[1] for _ in range(3)]
        assert all(map(is_running, marks))
        started.stdin.write("\n")
        started.stdin.flush()
        if number is not None:
            started.send_signal(number)
        started.wait()
    until(lambda: not any(map(is_running, marks)), f"{marks} to end")


DEAF = """
import os, signal, time
from rollcall.programs.guardian import mark_of

signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("started", mark_of(os.getpid()), flush=True)
time.sleep(600)
"""


def test_what_ignores_sigterm_is_killed(tmp_path: Path) -> None:
    code = f"{GUARDED}import subprocess, sys\nsubprocess.run([sys.executable, '-c', {DEAF!r}])"
    started = Child([sys.executable, "-c", code], tmp_path)
    (mark,) = marks_in(started.read_until("started "))
    started.kill()
    until(lambda: not is_running(mark), f"{mark} to end")


def test_what_an_earlier_program_left_is_ended_by_the_next_one() -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    mark = mark_of(gone.pid)
    gone.wait()
    environ = {**os.environ, VARIABLE: f"{os.environ.get(VARIABLE, '')} {mark}"}
    with subprocess.Popen([sys.executable, "-c", SLEEPS], env=environ) as left:
        subprocess.run([sys.executable, "-c", GUARDED], check=True)
        assert left.wait() == -signal.SIGTERM


def test_a_program_that_asks_twice_has_one_guardian(tmp_path: Path) -> None:
    count = "print(len(open(f'/proc/{os.getpid()}/task/{os.getpid()}/children').read().split()))"
    code = f"import os\n{GUARDED}guard()\n{count}"
    assert Child([sys.executable, "-c", code], tmp_path).ended()[:2] == (0, "1\n")


TESTS = """
import subprocess, sys
import pytest
from rollcall.programs.guardian import mark_of

@pytest.fixture
def started():
    process = subprocess.Popen(["sleep", "600"], start_new_session=True)
    print("started", mark_of(process.pid), file=open("marks", "a"))
    raise OSError("a fixture fails")

def test_one(started): ...
"""


@pytest.mark.parametrize("workers", ["0", "1"])
def test_what_a_fixture_started_before_it_failed_ends_with_the_run(tmp_path: Path, workers: str) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    words = ["-m", "pytest", "-p", "tests.conftest", "-p", "no:cacheprovider", "-n", workers, "-q", "test_it.py"]
    done = subprocess.run(
        [sys.executable, *words], cwd=tmp_path, env=WITHOUT_PYTEST, capture_output=True, text=True, check=False
    )
    assert "a fixture fails" in done.stdout, done.stderr
    (mark,) = marks_in((tmp_path / "marks").read_text())
    until(lambda: not is_running(mark), f"{mark} to end")
