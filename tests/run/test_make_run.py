"""`make run` as a person uses it: the fleet's story, an own consumer, clear refusals, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from urllib.request import urlopen

import pytest
from deltalake import DeltaTable
from kafka import KafkaConsumer

from tests.run.running import PATIENCE_S, read_until, start


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


def processes_below(pid: int) -> set[int]:
    """All processes that a process has started, and that those have."""
    parents: dict[int, list[int]] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        parents.setdefault(parent, []).append(int(entry.name))
    found, new = set[int](), {pid}
    while new:
        new = {child for parent in new for child in parents.get(parent, [])}
        found |= new
    return found


STORY = (
    "payments: payments-2 became a member",
    "orders: orders-1 is a member no longer (member_left)",
    "audit: audit-2 is a member no longer (session_expired)",
    "rebalance completed: session_expired by audit-2",
)


def test_the_demo_shows_a_late_join_a_leave_and_a_death_and_answers_in_sql(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home, DEMO_SECONDS=str(int(PATIENCE_S)))
    reported = read_until(process, (f"The coordinator runs on {home}", "The page is at http://127.0.0.1:", *STORY))
    with urlopen(reported.partition("The page is at ")[2].split()[0]) as page:
        assert b"payments" in page.read()
    os.killpg(process.pid, signal.SIGINT)
    rest, complaints = process.communicate(timeout=PATIENCE_S)
    reported += rest
    assert f"The tables are in {home}" in reported, complaints
    assert 'make sql Q="select' in reported
    assert "│ audit" in reported
    assert processes_of(home) == []
    effects = DeltaTable(str(home / "effects")).to_pyarrow_table(columns=["request_id", "effect"])
    replies = [row["request_id"] for row in effects.to_pylist() if row["effect"] == "reply"]
    assert len(replies) == len(set(replies)) > 0
    assert json.loads((home / "status.json").read_text())["state"] == "stopped"


@pytest.mark.nightly
def test_the_demo_ends_by_itself(tmp_path: Path) -> None:
    process = start(tmp_path / "home", DEMO_SECONDS="1", DEMO="0")
    reported, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, complaints
    assert "The tables are in" in reported


def test_a_consumer_of_ones_own_joins_and_sigterm_leaves_no_process_behind(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home, TOPICS="mine:4")
    try:
        reported = read_until(process, ("mine (4)",))
        consumer = KafkaConsumer(
            "mine", bootstrap_servers=reported.partition("join on ")[2].split(";")[0], group_id="own"
        )
        try:
            until = time.monotonic() + PATIENCE_S
            while len(consumer.assignment()) < 4:
                assert time.monotonic() < until
                consumer.poll(timeout_ms=500)
            read_until(process, ("own: rebalance completed: member_joined by kafka-python",))
            for pid in processes_below(process.pid):
                words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
                if b"page" in words:
                    os.kill(pid, signal.SIGKILL)
                elif b"run" in words:
                    # As when its terminal is closed.
                    os.kill(pid, signal.SIGHUP)
            reported = read_until(process, ("The page has ended", "The page is at http://127.0.0.1:"))
            with urlopen(reported.partition("The page is at ")[2].split()[0]) as page:
                assert b"own" in page.read()
        finally:
            consumer.close()
        second = start(home, DEMO="0")
        _, complaint = second.communicate(timeout=PATIENCE_S)
        assert second.returncode == 2
        assert f"{home} is in use by the coordinator" in complaint
        assert "Traceback" not in complaint
        started = processes_below(process.pid)
        assert len(started) > 6
    finally:
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=PATIENCE_S)
    # What Spark forked ends with its JVM, a moment after it.
    until = time.monotonic() + 10
    while any(Path(f"/proc/{pid}").exists() for pid in started) and time.monotonic() < until:
        pass
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    assert processes_of(home) == []


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({}, "cannot be a home"),
        ({"LISTEN": "9092"}, "gateway.listen=9092: is not of the form host:port"),
        ({"PAGE": "8080"}, "PAGE=8080: is not of the form host:port"),
        ({"PAGE": "0.0.0.0:8080"}, "PAGE=0.0.0.0:8080: others reach it, so it needs gateway.users"),
        ({"CONF": "no/such.conf"}, "no/such.conf: cannot be read"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(environ: dict[str, str], complaint: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    if not environ:
        home.write_text("")
    process = start(home, DEMO="0", **environ)
    _, complaints = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 2
    (said,) = [line for line in complaints.splitlines() if line.startswith("rollcall: ")]
    assert complaint in said
    assert "Traceback" not in complaints
