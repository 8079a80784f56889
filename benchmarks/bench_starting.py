"""Starting beside a long history: a gateway, a coordinator and `rollcall run`, on a home of ten million effects.

The home has 2,000 groups, of 20 members each in its history and of one in the coordinator's state. Must not know what
is read at a start.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from benchmarks.bench_live import await_ready
from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import GROUP_ID, join
from benchmarks.long_history import write_days
from benchmarks.processes import processor_seconds
from benchmarks.spark_homes import folder
from jobs.home import Home
from jobs.run.servers import CoordinatorProcess, GatewayProcess
from schemas.effect_names import EffectName
from schemas.messages import JoinGroupRequest
from schemas.tables import EFFECTS_FOLDER, REQUESTS_FOLDER
from tables.lasting_facts import keep_lasting_facts
from tables.request_rows import request_rows
from tables.request_table import RequestTable
from tables.table_follower import TableFollower

EFFECTS, GROUPS = 10_000_000, 2_000
_WITHIN_S = 120.0
_SESSION_MS = 1_800_000
"""The longest that a group takes: no member expires meanwhile."""


@bench
def beside_ten_million_effects() -> Iterator[Figure]:
    """From the command to the first answer, with the file that upkeep keeps and, for a gateway, without it too."""
    with folder() as path:
        (path / "logs").mkdir(parents=True)
        home = Home(path)
        with _coordinator(home):
            _join(home, "first")
        effects = write_days(path, EFFECTS, GROUPS)
        yield Figure("effects", effects, "rows")
        for name in ("without_lasting_facts", "with_lasting_facts"):
            seconds, peak = _gateway(home)
            yield Figure(f"gateway_serves_{name}", seconds, "s", at_most(5))
            yield Figure(f"gateway_memory_{name}", peak / 1e6, "MB", at_most(300))
            keep_lasting_facts(path / EFFECTS_FOLDER)
        started = time.monotonic()
        with _coordinator(home) as coordinator:
            yield Figure("coordinator_runs", time.monotonic() - started, "s")
            yield Figure("coordinator_runs_used", processor_seconds(coordinator.pid), "s of a core")
            _join(home, "second", groups=1)
            yield Figure("coordinator_answers", time.monotonic() - started, "s", at_most(15))
            yield Figure("coordinator_answers_used", processor_seconds(coordinator.pid), "s of a core")
            yield Figure("coordinator_memory", _family_bytes(coordinator.pid) / 1e6, "MB")
        yield Figure("run_is_open_for_clients", _run(home), "s", at_most(15))


class _coordinator:
    """A coordinator from here to the end of the block."""

    def __init__(self, home: Home) -> None:
        self._process = CoordinatorProcess(home)

    def __enter__(self) -> CoordinatorProcess:
        await_ready(self._process)
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.end(_WITHIN_S)


def _join(home: Home, who: str, groups: int = GROUPS) -> None:
    """One member joins each group, and all are answered."""
    now_ms = time.time_ns() // 1_000_000
    requests = []
    for number in range(groups):
        request: JoinGroupRequest = join(number, "", now_ms)
        request.group_id, request.request_id = f"{GROUP_ID}-{number}", f"{who}-{number}"
        request.session_timeout_ms = _SESSION_MS
        requests.append(request)
    follower = TableFollower(home.path / EFFECTS_FOLDER, ("effect", "request_id"))
    table = RequestTable(home.path / REQUESTS_FOLDER, who)
    table.open()
    table.append(request_rows(requests))
    waiting, deadline = {request.request_id for request in requests}, time.monotonic() + _WITHIN_S
    while waiting:
        for rows in follower.poll():
            done = (EffectName.REPLY, EffectName.REQUEST_PARKED)
            waiting -= {row["request_id"] for row in rows.to_pylist() if row["effect"] in done}
        if time.monotonic() > deadline:
            raise TimeoutError(f"{len(waiting)} requests have no answer")
        time.sleep(0.05)


def _gateway(home: Home) -> tuple[float, int]:
    """Seconds until it listens, and the most memory it had by some seconds later."""
    started = time.monotonic()
    words = ("--listen", "127.0.0.1:0", "--set", "gateway.metrics.listen=")
    gateway = GatewayProcess(home, *words)
    try:
        await_ready(gateway)
        seconds = time.monotonic() - started
        time.sleep(2.0)
        status = Path(f"/proc/{gateway.pid}/status").read_text()
        return seconds, int(status.partition("VmHWM:")[2].split()[0]) * 1024
    finally:
        gateway.end(_WITHIN_S)


def _run(home: Home) -> float:
    """Seconds until `rollcall run` says where clients join."""
    words = ["run", "--home", home.location, "--no-demo", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"]
    started = time.monotonic()
    command = [sys.executable, "-m", "jobs.rollcall", *words, "--page", "127.0.0.1:0"]
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment)
    try:
        assert process.stdout is not None
        said = []
        for line in process.stdout:
            said.append(line)
            if "Kafka's clients join on" in line:
                return time.monotonic() - started
        raise AssertionError("".join(said[-5:]))
    finally:
        process.terminate()
        process.wait(_WITHIN_S)


def _family_bytes(pid: int) -> int:
    top = psutil.Process(pid)
    return sum(one.memory_info().rss for one in (top, *top.children(recursive=True)))
