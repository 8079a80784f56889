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

PATIENCE_S = 240.0
SECONDS_OF_DEMO = 60


def start(home: Path, **environ: str) -> subprocess.Popen[str]:
    settings = {**os.environ, "ROLLCALL_HOME": str(home), **environ}
    return subprocess.Popen(
        ["make", "run"], cwd=ROOT, env=settings, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
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


def test_the_demo_shows_a_late_join_a_leave_and_a_death_and_answers_in_sql(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home, DEMO_SECONDS=str(SECONDS_OF_DEMO))
    told, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complaints
    assert f"The coordinator runs on {home}" in told
    assert "payments: payments-2 became a member" in told
    assert "orders: orders-1 is a member no longer (member_left)" in told
    assert "audit: audit-2 is a member no longer (session_expired)" in told
    assert "rebalance completed: session_expired by audit-2" in told
    assert f"The tables are in {home}" in told
    assert 'make sql Q="select' in told
    assert "│ audit" in told
    assert processes_of(home) == []
    effects = DeltaTable(str(home / "effects")).to_pyarrow_table(columns=["request_id", "effect"])
    replies = [row["request_id"] for row in effects.to_pylist() if row["effect"] == "reply"]
    assert len(replies) == len(set(replies)) > 0
    assert json.loads((home / "status.json").read_text())["state"] == "stopped"


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
