"""Starting: of commands alone, and of a gateway, a coordinator and `rollcall run` on a home of ten million effects.

The home has 2,000 groups, of 20 members each in its history and of one in the coordinator's state. Must not know what
is read at a start.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import time
from collections.abc import Iterator

from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import write_history
from benchmarks.processes import ROOT, folder, peak_bytes, started
from rollcall.programs.child_python import module_command
from rollcall.schemas.effect_names import EffectName
from rollcall.schemas.tables import EFFECTS, REQUESTS
from rollcall.tables.home import Home
from rollcall.tables.lasting_facts import keep_lasting_facts
from rollcall.tables.request_table import RequestTable, request_rows
from rollcall.tables.table_follower import TableFollower
from tests import requests
from tests.peers_job.job import Job
from tests.waiting import until

EXPLAINED = "tests/printed/brokers/d-kill.log.gz"
STARTS = 9
ROWS, GROUPS = 10_000_000, 2_000
_SESSION_MS = 1_800_000
"""The longest that a group takes: no member expires meanwhile."""


@bench
def of_commands() -> Iterator[Figure]:
    """The median of several starts, CPU seconds, after one in which Python may compile."""
    yield Figure("version_cpu", _cpu_seconds("--version"), "s", at_most(0.15))
    yield Figure("explain_cpu", _cpu_seconds("explain", EXPLAINED), "s", at_most(0.4))


def _cpu_seconds(*words: str) -> float:
    environ = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    seconds = []
    for _ in range(STARTS + 1):
        process = subprocess.Popen(module_command("rollcall", *words), cwd=ROOT, env=environ, stdout=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        assert process.returncode == 0, words
        seconds.append(used.ru_utime + used.ru_stime)
    return statistics.median(seconds[1:])


@bench
def beside_ten_million_effects() -> Iterator[Figure]:
    """From the command to the first answer, with the file that upkeep keeps and, for a gateway, without it too."""
    with folder() as path:
        home = Home(path / "home")
        with Job(home.path, {}) as job:
            job.start_coordinator()
            _join(home, "first")
        write_history(home.path, ROWS, GROUPS, days=10)
        for name in ("without_lasting_facts", "with_lasting_facts"):
            began = time.monotonic()
            with Job(home.path, {}) as job:
                job.start_gateway()
                yield Figure(f"gateway_serves_{name}", time.monotonic() - began, "s", at_most(5))
                time.sleep(2.0)
                yield Figure(f"gateway_memory_{name}", sum(map(peak_bytes, job.pids())) / 1e6, "MB", at_most(300))
            keep_lasting_facts(home.path / EFFECTS.name)
        began = time.monotonic()
        with Job(home.path, {}) as job:
            job.start_coordinator()
            _join(home, "second", groups=1)
            yield Figure("coordinator_answers", time.monotonic() - began, "s", at_most(15))
        words = ("--home", home.location, "--no-demo", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0")
        began = time.monotonic()
        with started("run", *words, "--page", "127.0.0.1:0", says="Kafka's clients join on"):
            yield Figure("run_is_open_for_clients", time.monotonic() - began, "s", at_most(15))


def _join(home: Home, who: str, groups: int = GROUPS) -> None:
    """One member joins each group, and all are answered."""
    now_ms = time.time_ns() // 1_000_000
    joins = [
        requests.join("orders", now_ms, f"{GROUP_ID}-{n}", request_id=f"{who}-{n}", session_timeout_ms=_SESSION_MS)
        for n in range(groups)
    ]
    follower = TableFollower(home.path / EFFECTS.name, ("effect", "request_id"))
    table = RequestTable(home.path / REQUESTS.name, who)
    table.open()
    table.append(request_rows(joins))
    waiting = {request.request_id for request in joins}

    def are_answered() -> bool:
        for rows in follower.poll():
            done = (EffectName.REPLY, EffectName.REQUEST_PARKED)
            waiting.difference_update(row["request_id"] for row in rows.to_pylist() if row["effect"] in done)
        return not waiting

    until(are_answered, lambda: f"{len(waiting)} requests have no answer")
