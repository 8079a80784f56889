"""Asking a history: `make why` and `make sql`, as commands from start to end, in small and long homes; and the page.

Knows the page's addresses. Must not know how a question is answered, nor how a page is made.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

import psutil

from benchmarks.figures import Figure, at_least, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import FIRST_MS, write_history
from benchmarks.processes import MEBIBYTE, Ended, folder, peak_bytes, run, started
from rollcall.answers.views.catalog import VIEWS
from rollcall.answers.views.view import View

EFFECT_COUNT, SMALL_COUNT = 1_000_000, 10_000
PAGE_GROUPS, PAGES_ASKED = 2000, 40
"""Each page is asked for that often, of another group each time."""
_PATHS = {
    "overview": "/",
    "group": "/group?group={}",
    "rebalance": "/rebalance?group={}&generation=2",
    "troubles": "/troubles",
    "strip": "/strip.svg",
}


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
        asked = {
            "a_group": [_ask(home, f"select * from {view.name} where group_id = '{GROUP_ID}-7'") for view in VIEWS],
            "summed": [_ask(home, _summed(view)) for view in VIEWS],
            "at_a_moment": [_ask(home, _summed(view), "--at", _moment(10)) for view in VIEWS],
        }
        for name, each in asked.items():
            yield Figure(f"sql_1000000_effects_{name}", max(one.seconds for one in each), "s", at_most(0.8))


@bench
def asking_ten_million_effects() -> Iterator[Figure]:
    """The most that a question over all groups takes."""
    with folder() as home:
        write_history(home, 10 * EFFECT_COUNT, days=10)
        asked = [_ask(home, _summed(view)) for view in VIEWS]
    yield Figure("sql_10000000_effects_memory", max(one.memory_bytes for one in asked) / MEBIBYTE, "MB", at_most(500))
    yield Figure("sql_10000000_effects_summed", max(one.seconds for one in asked), "s")


@bench
def the_page_of_a_million_effects() -> Iterator[Figure]:
    """Each page's slow end, the process's memory after all of them, and the first look at another moment."""
    with folder() as home:
        write_history(home, EFFECT_COUNT, PAGE_GROUPS, members=5)
        began = time.monotonic()
        words = ("page", "--home", str(home), "--page", "127.0.0.1:0")
        with started(*words, says="http://") as (pid, said):
            address = f"http://{said.split()[0].rstrip('/;')}"
            _ms(f"{address}/health")
            yield Figure("page_first_answer", time.monotonic() - began, "s", at_most(2))
            while f"{GROUP_ID}-1".encode() not in urlopen(address).read():
                time.sleep(0.2)
            for name, path in _PATHS.items():
                took = sorted(_ms(address + path.format(f"{GROUP_ID}-{number}")) for number in range(PAGES_ASKED))
                yield Figure(f"page_{name}_p95", took[int(0.95 * PAGES_ASKED)], "ms", at_most(300))
            past = f"{address}/?at={_moment(1.5)}"
            yield Figure("page_first_look_at_a_moment", _ms(past) / 1000, "s")
            yield Figure("page_next_look_at_it", _ms(past), "ms", at_most(300))
            yield Figure("page_memory", psutil.Process(pid).memory_info().rss / MEBIBYTE, "MB", at_most(500))


def _moment(minutes: float) -> str:
    """So long after a history's beginning."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_MS / 1000 + 60 * minutes))


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


def _ms(url: str) -> float:
    began = time.monotonic()
    urlopen(url).read()
    return 1000 * (time.monotonic() - began)
