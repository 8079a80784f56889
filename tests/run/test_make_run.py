"""`make run` as a person uses it: the fleet's story, an own consumer, clear refusals, and nothing left behind."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from pathlib import Path
from urllib.request import urlopen

import psutil
import pytest
from deltalake import DeltaTable
from kafka import KafkaConsumer

from rollcall.answers.sql.engine import ask
from tests.child import PATIENCE_S
from tests.run.running import start
from tests.waiting import until


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


def words_of(process: psutil.Process) -> list[str]:
    """A process's command line; empty once it has ended."""
    with suppress(psutil.NoSuchProcess):
        return process.cmdline()
    return []


def until_all_ended(started: list[psutil.Process], home: Path) -> None:
    """What Spark forked ends with its JVM, a moment after it."""
    until(lambda: not [each for each in started if each.is_running()] and not processes_of(home), "the end of all")


STORY = (
    "payments: payments-2 joined",
    "orders: orders-1 left",
    "audit: audit-2 was removed (session expired)",
    # On a busy machine another member may be late at the same time, and is named.
    ": session expired, by audit-",
    "own: rebalance, generation 0 -> 1: joined, by kafka-python",
)
TROUBLES = {
    "deploys": "group_id = 'orders'",
    "members_removed": "client_id = 'audit-2'",
    "held_not_moving": "topic = 'payments' and partition = 0",
    "falling_behind": "group_id = 'reports'",
}


# In `make test-sample`.
@pytest.mark.nightly
def test_the_demo_shows_its_story_beside_a_consumer_of_ones_own_and_ctrl_c_leaves_nothing(tmp_path: Path) -> None:
    home = tmp_path / "home"
    process = start(home, DEMO_SECONDS=str(int(PATIENCE_S)), TOPICS="mine:4")
    reported = process.read_until(f"The coordinator runs on {home}", "mine (4)", "The page is at http://127.0.0.1:")
    bootstrap = reported.partition("join on ")[2].split(";")[0]
    consumer = KafkaConsumer("mine", bootstrap_servers=bootstrap, group_id="own")
    try:
        for each in psutil.Process(process.pid).children(recursive=True):
            words = words_of(each)
            if "rollcall.serve.page" in words:
                each.kill()
            elif "run" in words:
                # As when its terminal is closed.
                each.send_signal(signal.SIGHUP)

        def is_assigned() -> bool:
            consumer.poll(timeout_ms=500)
            return len(consumer.assignment()) == 4

        until(is_assigned, "all partitions", PATIENCE_S)
        reported = process.read_until("The page has ended", "The page is at http://127.0.0.1:", *STORY)
        for view, where in TROUBLES.items():
            asked = f"select * from {view} where {where}"
            until(lambda asked=asked: ask(home, asked).rows, view, PATIENCE_S)  # type: ignore[misc]
    finally:
        consumer.close()
    with urlopen(reported.partition("The page is at ")[2].split()[0]) as answer:
        page = answer.read()
    assert b"payments" in page
    assert b"own" in page
    status, _, complaint = start(home, DEMO="0").ended()
    assert status == 2
    assert f"{home} is in use by the coordinator" in complaint
    assert "Traceback" not in complaint
    started = psutil.Process(process.pid).children(recursive=True)
    assert len(started) > 6
    os.killpg(process.pid, signal.SIGINT)
    _, reported, complaints = process.ended()
    assert f"The tables are in {home}" in reported, complaints
    assert '.venv/bin/rollcall sql "select' in reported
    assert "│ audit" in reported
    until_all_ended(started, home)
    effects = DeltaTable(str(home / "effects")).to_pyarrow_table(columns=["request_id", "effect"])
    replies = [row["request_id"] for row in effects.to_pylist() if row["effect"] == "reply"]
    assert len(replies) == len(set(replies)) > 0
    assert json.loads((home / "status.json").read_text())["state"] == "stopped"


@pytest.mark.nightly
def test_sigterm_leaves_no_process_behind(tmp_path: Path) -> None:
    process = start(tmp_path / "home", DEMO="0")
    process.read_until("join on ", "The page is at http://127.0.0.1:")
    started = psutil.Process(process.pid).children(recursive=True)
    process.send_signal(signal.SIGTERM)
    process.ended()
    until_all_ended(started, tmp_path / "home")


@pytest.mark.nightly
def test_the_demo_ends_by_itself(tmp_path: Path) -> None:
    process = start(tmp_path / "home", DEMO_SECONDS="1", DEMO="0")
    status, reported, complaints = process.ended()
    assert status == 0, complaints
    assert "The tables are in" in reported


@pytest.mark.parametrize(
    ("environ", "complaint"),
    [
        ({}, "cannot be a home"),
        ({"LISTEN": "9092"}, "--listen 9092: is not of the form host:port"),
        ({"PAGE": "8080"}, "--page 8080: is not of the form host:port"),
        ({"PAGE": "0.0.0.0:8080"}, "--page 0.0.0.0:8080: others reach it, so it needs gateway.users"),
        ({"CONF": "no/such.conf"}, "no/such.conf: cannot be read"),
    ],
)
def test_what_cannot_be_run_is_one_sentence(environ: dict[str, str], complaint: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    if not environ:
        home.write_text("")
    status, _, complaints = start(home, DEMO="0", **environ).ended()
    assert status == 2
    (said,) = [line for line in complaints.splitlines() if line.startswith("rollcall: ")]
    assert complaint in said
    assert "Traceback" not in complaints
