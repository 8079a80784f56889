"""The coordinator as a program: started, refused, stopped by a signal to its whole group, failed with a reason."""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.request import urlopen

import psutil
import pytest
from deltalake import write_deltalake

from rollcall.jobs.coordinator import command
from rollcall.programs.command_line import run_command
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.request_table import request_rows
from tests.child import Child
from tests.requests import join
from tests.streaming.live import now_ms, read_rows
from tests.waiting import until

LIVE = ("--set", "group.initial.rebalance.delay.ms=0", "--set", "group.min.session.timeout.ms=100")

BEYOND = ("--set", "spark.coordinator.allow.metrics.beyond.loopback=true")


class Program:
    """A coordinator in a process group of its own."""

    def __init__(self, home: Path, *arguments: str) -> None:
        self.home = Home(home)
        command = [sys.executable, "-m", "rollcall.jobs.coordinator", "--home", str(home), *arguments]
        self.process = Child(command, home.parent)

    def status(self) -> dict[str, Any]:
        path = self.home.path / "status.json"
        return json.loads(path.read_text()) if path.exists() else {}

    def until_batch(self, batch_id: int) -> None:
        def is_done() -> bool | None:
            assert self.process.poll() is None, self.process.ended()
            return True if self.status().get("batch_id", -1) >= batch_id else None

        until(is_done, f"batch {batch_id}", within_s=120)


class Day(NamedTuple):
    """One program's life: what it said in the end, and a second program that was started beside it."""

    program: Program
    end: tuple[int, str, str]
    state: str
    beside: tuple[int, str, str]
    figures: str
    """What it said at /metrics after its reply."""
    health: dict[str, Any]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Day]:
    """A program that answers a request, has a second one beside it, and is stopped by a signal to its whole group."""
    watched = ("--set", "spark.coordinator.metrics.listen=127.0.0.1:0")
    program = Program(tmp_path_factory.mktemp("job") / "home", *LIVE, *watched)

    def figures() -> str | None:
        with urlopen(f"{place}/metrics", timeout=10) as answer:
            text: str = answer.read().decode()
        return text if "rollcall_job_batch_requests_sum 1.0" in text else None

    try:
        place = program.process.read_until("http://").split()[-1].rstrip(".")
        program.until_batch(0)
        write_deltalake(program.home.requests, request_rows([join("a", now_ms())]), mode="append")
        until(lambda: "reply" in {row["effect"] for row in read_rows(program.home.effects)}, "the reply")
        until(lambda: program.status()["effects"], "effects in its status")
        reported = until(figures, "the batch's figures")
        with urlopen(f"{place}/health", timeout=10) as answer:
            health = json.load(answer)
        beside = Program(program.home.path).process.ended()
        os.killpg(program.process.pid, signal.SIGINT)
        end = program.process.ended()
        yield Day(program, end, program.status()["state"], beside, reported, health)
    finally:
        if program.process.poll() is None:
            os.killpg(program.process.pid, signal.SIGKILL)
            program.process.ended()


def test_a_program_is_alone_in_its_home(day: Day) -> None:
    status, out, err = day.beside
    assert (status, out) == (2, "")
    assert f"is in use by the coordinator (process {day.program.process.pid}): stop it" in err.splitlines()[-1]


def test_a_program_stops_when_its_whole_group_is_asked_to(day: Day) -> None:
    status, out, err = day.end
    assert status == 0, err
    assert out.splitlines()[-1] == "rollcall: the coordinator has stopped."
    assert "Traceback" not in err
    assert "leaked" not in err
    assert day.state == "stopped"


def test_a_running_program_shows_its_figures_and_its_health(day: Day) -> None:
    lines = (line.rsplit(" ", 1) for line in day.figures.splitlines() if not line.startswith("#"))
    figures = {name.removeprefix("rollcall_job_"): float(value) for name, value in lines}
    assert figures["state_rows"] == 1
    assert figures["effects_total"] >= 1
    assert (figures["quarantined_total"], figures["backlog"]) == (0, 0)
    assert 0 < figures["batch_seconds_sum"] < 120
    assert 0 <= figures["last_commit_age_seconds"] < 60
    assert day.health["status"] == "ok"
    assert day.health["batch_id"] >= 1


def test_a_query_that_fails_says_why_in_a_line_and_leaves_a_status(day: Day, tmp_path: Path) -> None:
    home = Home(shutil.copytree(day.program.home.path, tmp_path / "home"))
    shutil.rmtree(home.requests)
    open_requests(home)

    again = Program(home.path, *LIVE)
    status, _, err = again.process.ended()
    assert status == 1
    (line,) = [line for line in err.splitlines() if line.startswith("rollcall: ")]
    assert "the query failed: the request table" in line
    assert "ends at version 0, but was read up to 1: it is not the table that this checkpoint belongs to" in line
    assert "Traceback" not in err
    assert again.status()["state"] == "failed"
    assert "Traceback" in (home.path / "failure.txt").read_text()


@pytest.mark.nightly
def test_an_idle_job_writes_no_stack_trace_when_spark_ends_its_idle_workers(tmp_path: Path) -> None:
    """Spark ends them after a minute."""
    program = Program(tmp_path / "home", *LIVE)
    try:
        program.until_batch(0)
        assert _planners(program)
        until(lambda: not _planners(program), "the end of the idle workers")
    finally:
        os.killpg(program.process.pid, signal.SIGINT)
        _, _, err = program.process.ended()
    assert "Traceback" not in err


def _planners(program: Program) -> list[int]:
    """The workers forked by pyspark's daemons, which ask a Python source for its plan."""
    of_job = {child.pid for child in psutil.Process(program.process.pid).children(recursive=True)}
    found = [each.info for each in psutil.process_iter(["pid", "ppid", "cmdline"]) if each.pid in of_job]
    daemons = {each["pid"] for each in found if "pyspark.daemon" in (each["cmdline"] or ())}
    return [each["pid"] for each in found if each["pid"] in daemons and each["ppid"] in daemons]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--set", "group.max.siz=3"), "group.max.siz: is not a setting; did you mean group.max.size?"),
        (("--set", "group.max.size"), "--set group.max.size: is not of the form key=value"),
        (("--conf-file", "/nowhere/my.conf"), "/nowhere/my.conf: cannot be read: No such file or directory"),
        (
            ("--set", "spark.coordinator.metrics.listen=192.0.2.1:1", *BEYOND),
            "spark.coordinator.metrics.listen=192.0.2.1:1: Cannot assign requested address",
        ),
        (("--home", "/proc/home"), "/proc/home cannot be a home: No such file or directory."),
    ],
)
def test_a_users_mistake_is_one_sentence(
    tmp_path: Path, arguments: tuple[str, ...], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command(command, "coordinator", ["--home", str(tmp_path / "home"), *arguments]) == 2
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", f"rollcall: {says}\n")
