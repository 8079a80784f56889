"""`make run` as a person uses it: the fleet's story on the terminal, one job a home, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from deltalake import DeltaTable

from tests.source_tree import ROOT

PATIENCE_S = 400.0


def start(home: Path, **environ: str) -> subprocess.Popen[str]:
    settings = {**os.environ, "ROLLCALL_HOME": str(home), **environ}
    return subprocess.Popen(
        ["make", "run"],
        cwd=ROOT,
        env=settings,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def processes_of(home: Path) -> list[str]:
    """The command lines of all processes that work on a home."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode("utf-8", "replace")
        except (OSError, NotADirectoryError):
            continue
        if entry.name.isdigit() and str(home) in line:
            found.append(line)
    return found


def await_first_line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


STORY = (
    "payments: payments-2 became a member",
    "orders: orders-1 is a member no longer (member_left)",
    "audit: audit-2 is a member no longer (session_expired)",
    "rebalance completed: session_expired by audit-2",
)


def read_until(process: subprocess.Popen[str], wanted: tuple[str, ...]) -> str:
    """What the process says until every text has come, or its patience is over."""
    assert process.stdout is not None
    told, until = "", time.monotonic() + PATIENCE_S
    while not all(text in told for text in wanted):
        line = process.stdout.readline()
        assert line, f"it ended after:\n{told}"
        assert time.monotonic() < until, told
        told += line
    return told


def test_the_demo_shows_a_late_join_a_leave_and_a_death_and_answers_in_sql(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home, DEMO_SECONDS=str(int(PATIENCE_S)))
    told = read_until(process, (f"The coordinator runs on {home}", *STORY))
    os.killpg(process.pid, signal.SIGINT)
    rest, complaints = process.communicate(timeout=PATIENCE_S)
    told += rest
    assert f"The tables are in {home}" in told, complaints
    assert 'make sql Q="select' in told
    assert "│ audit" in told
    assert processes_of(home) == []
    effects = DeltaTable(str(home / "effects")).to_pyarrow_table(columns=["request_id", "effect"])
    replies = [row["request_id"] for row in effects.to_pylist() if row["effect"] == "reply"]
    assert len(replies) == len(set(replies)) > 0
    assert json.loads((home / "status.json").read_text())["state"] == "stopped"


def test_the_demo_ends_by_itself(tmp_path: Path) -> None:
    process = start(tmp_path / "home", DEMO_SECONDS="1", DEMO="0")
    told, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complaints
    assert "The tables are in" in told


def test_one_run_a_home_and_sigterm_leaves_nothing_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home)
    try:
        assert f"The coordinator runs on {home}" in await_first_line(process)
        second = start(home, DEMO="0")
        _, complaint = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 2
        assert f"{home} is in use by the coordinator" in complaint
        assert "Traceback" not in complaint
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    until = time.monotonic() + 10
    while processes_of(home) and time.monotonic() < until:
        pass
    assert processes_of(home) == []


def test_a_home_that_cannot_be_one_is_one_sentence(tmp_path: Path) -> None:
    in_the_way = tmp_path / "file"
    in_the_way.write_text("")
    process = start(in_the_way, DEMO="0")
    _, complaint = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    assert "cannot be a home" in complaint
    assert "Traceback" not in complaint
