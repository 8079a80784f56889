"""Asking a history: `make why` and `make sql`, as commands from start to end, in a small home and in long ones.

Must not know how a question is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import FIRST_MS, write_history
from benchmarks.processes import Ended, folder, peak_bytes, run
from views.catalog import VIEWS
from views.view import View

EFFECT_COUNT = 1_000_000
SMALL_COUNT = 10_000


@bench
def asking_a_small_home() -> Iterator[Figure]:
    """From the command to its last line, the process's start included; modules are compiled by a start before."""
    with folder() as home:
        write_history(home, SMALL_COUNT)
        questions = {"cold": "select state, count(*) from groups group by state", "columns": "describe rebalances"}
        for name, query in questions.items():
            _ask(home, query)
            yield Figure(f"sql_{name}", _ask(home, query, lines=2).seconds, "s", at_most(0.45))
        _why(home)
        yield Figure("why_cold", _why(home).seconds, "s", at_most(1))


@bench
def asking_a_million_effects() -> Iterator[Figure]:
    """The slowest view of all, for one group, over all groups, and as of a moment in the middle."""
    with folder() as home:
        yield Figure("effects", write_history(home, EFFECT_COUNT), "rows", at_least(EFFECT_COUNT))
        yield Figure("why_1000000_effects", _why(home).seconds, "s", at_most(1))
        moment = (datetime.fromtimestamp(FIRST_MS / 1000, UTC) + timedelta(minutes=10)).strftime("%Y-%m-%d %H:%M")
        asked = {
            "a_group": [_ask(home, f"select * from {view.name} where group_id = '{GROUP_ID}-7'") for view in VIEWS],
            "summed": [_ask(home, _summed(view)) for view in VIEWS],
            "at_a_moment": [_ask(home, _summed(view), "--at", moment) for view in VIEWS],
        }
        for name, each in asked.items():
            yield Figure(f"sql_1000000_effects_{name}", max(one.seconds for one in each), "s", at_most(0.8))


@bench
def asking_ten_million_effects() -> Iterator[Figure]:
    """The most that a question over all groups takes."""
    with folder() as home:
        write_history(home, 10 * EFFECT_COUNT, days=10)
        asked = [_ask(home, _summed(view)) for view in VIEWS]
    yield Figure("sql_10000000_effects_memory", max(one.memory_bytes for one in asked) / 2**20, "MB", at_most(500))
    yield Figure("sql_10000000_effects_summed", max(one.seconds for one in asked), "s")


def _summed(view: View) -> str:
    """A question over all rows of a view that needs each of its columns."""
    columns = [f'"{column.name}"' for column in view.columns if not column.type.startswith("array")]
    return f"select count(*) as n, {', '.join(f'max({name}) as {name}' for name in columns)} from {view.name}"


def _ask(home: Path, query: str, *options: str, lines: int = 1) -> Ended:
    words = ("--home", str(home), "--engine", "duckdb", "--format", "csv", *options)
    asked = run("sql", *words, query, memory=peak_bytes)
    assert asked.printed.count("\n") >= lines, f"{query}: {asked.printed}"
    return asked


def _why(home: Path) -> Ended:
    return run("why", "--home", str(home), f"{GROUP_ID}-7", memory=peak_bytes)
