"""Asking a history: `make why` and `make sql`, as commands from start to end, in a small home and in long ones.

Must not know how a question is answered.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import FIRST_MS, write_history
from views.catalog import VIEWS
from views.view import View

EFFECT_COUNT = 1_000_000
SMALL_COUNT = 10_000


@bench
def asking_a_small_home() -> Iterator[Figure]:
    """From the command to its last line, the process's start included; modules are compiled by a start before."""
    home = Path(tempfile.mkdtemp(prefix="rollcall-history-"))
    try:
        write_history(home, SMALL_COUNT)
        questions = {"cold": "select state, count(*) from groups group by state", "columns": "describe rebalances"}
        for name, query in questions.items():
            _ask(home, query)
            yield Figure(f"sql_{name}", _ask(home, query, lines=2).seconds, "s", at_most(0.45))
        _why(home)
        yield Figure("why_cold", _why(home).seconds, "s", at_most(1))
    finally:
        shutil.rmtree(home)


@bench
def asking_a_million_effects() -> Iterator[Figure]:
    """The slowest view of all, for one group, over all groups, and as of a moment in the middle."""
    home = Path(tempfile.mkdtemp(prefix="rollcall-history-"))
    try:
        count = write_history(home, EFFECT_COUNT)
        if count < EFFECT_COUNT:
            raise AssertionError(f"only {count} effects were written")
        yield Figure("effects", count, "rows")
        yield Figure("why_1000000_effects", _why(home).seconds, "s", at_most(1))
        of_one = [_ask(home, f"select * from {view.name} where group_id = '{GROUP_ID}-7'").seconds for view in VIEWS]
        yield Figure("sql_1000000_effects_a_group", max(of_one), "s", at_most(0.8))
        of_all = [_ask(home, _summed(view)).seconds for view in VIEWS]
        yield Figure("sql_1000000_effects_summed", max(of_all), "s", at_most(0.8))
        moment = (datetime.fromtimestamp(FIRST_MS / 1000, UTC) + timedelta(minutes=10)).strftime("%Y-%m-%d %H:%M")
        of_then = [_ask(home, _summed(view), "--at", moment).seconds for view in VIEWS]
        yield Figure("sql_1000000_effects_at_a_moment", max(of_then), "s", at_most(0.8))
    finally:
        shutil.rmtree(home)


@bench
def asking_ten_million_effects() -> Iterator[Figure]:
    """The most that a question over all groups takes."""
    home = Path(tempfile.mkdtemp(prefix="rollcall-history-"))
    try:
        _write(home, 10 * EFFECT_COUNT)
        asked = [_ask(home, _summed(view)) for view in VIEWS]
        yield Figure("sql_10000000_effects_memory", max(one.memory_mb for one in asked), "MB", at_most(500))
        yield Figure("sql_10000000_effects_summed", max(one.seconds for one in asked), "s")
    finally:
        shutil.rmtree(home)


def _write(home: Path, effects: int) -> None:
    """By a process of its own: Linux counts what a parent holds for the most that its child has had."""
    writing = multiprocessing.get_context("spawn").Process(target=write_history, args=(home, effects))
    writing.start()
    writing.join()
    assert writing.exitcode == 0


class _Asked(NamedTuple):
    """A command that has ended: by the wall's clock, and the most memory it had at one time."""

    seconds: float
    memory_mb: float


def _summed(view: View) -> str:
    """A question over all rows of a view that needs each of its columns."""
    columns = [f'"{column.name}"' for column in view.columns if not column.type.startswith("array")]
    return f"select count(*) as n, {', '.join(f'max({name}) as {name}' for name in columns)} from {view.name}"


def _ask(home: Path, query: str, *options: str, lines: int = 1) -> _Asked:
    return _run("sql", "--home", str(home), "--engine", "duckdb", "--format", "csv", *options, query, lines=lines)


def _why(home: Path) -> _Asked:
    return _run("why", "--home", str(home), f"{GROUP_ID}-7")


def _run(*command: str, lines: int = 1) -> _Asked:
    """Runs a subcommand. Raises AssertionError: it failed, or said too little."""
    started = time.monotonic()
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as err:
        process = subprocess.Popen([sys.executable, "-m", "jobs.rollcall", *command], stdout=out, stderr=err)
        _, status, used = os.wait4(process.pid, 0)
        seconds = time.monotonic() - started
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0 or len(out.readlines()) < lines:
            raise AssertionError(f"{command[0]} gave {process.returncode}: {err.read()[-300:]}")
    return _Asked(seconds, used.ru_maxrss / 1024)
