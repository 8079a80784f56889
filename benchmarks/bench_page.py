"""The page over a long history of many groups: how long until it is there, and each of its pages by the wall clock.

Knows the page's addresses. Must not know how a page is made.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import FIRST_MS, write_history

EFFECT_COUNT = 1_000_000
GROUP_COUNT = 2000
ASKED = 40
"""So often each page is asked for, of another group each time."""


@bench
def the_page_of_a_million_effects() -> Iterator[Figure]:
    """Each page's slow end, the process's memory after all of them, and the first look at another moment."""
    home = Path(tempfile.mkdtemp(prefix="rollcall-page-"))
    try:
        yield Figure("page_effects", write_history(home, EFFECT_COUNT, GROUP_COUNT, members=5), "rows")
        started = time.monotonic()
        with _served(home) as (process, address):
            _seconds(f"{address}/health")
            yield Figure("page_first_answer", time.monotonic() - started, "s", at_most(2))
            _wait_for_lists(address)
            yield Figure("page_lists_ready", time.monotonic() - started, "s")
            for name, path in _PATHS.items():
                took = sorted(_seconds(address + path.format(f"{GROUP_ID}-{number}")) for number in range(ASKED))
                yield Figure(f"page_{name}_p95", 1000 * took[int(0.95 * ASKED)], "ms", at_most(300))
            past = f"{address}/?at={_MOMENT}"
            yield Figure("page_first_look_at_a_moment", _seconds(past), "s")
            yield Figure("page_next_look_at_it", 1000 * _seconds(past), "ms", at_most(300))
            yield Figure("page_memory", process.memory_info().rss / 2**20, "MB", at_most(500))
    finally:
        shutil.rmtree(home)


_PATHS = {
    "overview": "/",
    "group": "/group?group={}",
    "rebalance": "/rebalance?group={}&generation=2",
    "troubles": "/troubles",
    "strip": "/strip.svg",
}
_MOMENT = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_MS / 1000 + 90))


@contextmanager
def _served(home: Path) -> Iterator[tuple[psutil.Process, str]]:
    command = [sys.executable, "-m", "jobs.rollcall", "page", "--home", str(home), "--page", "127.0.0.1:0"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={**os.environ, "COLUMNS": "200"})
    try:
        assert started.stdout is not None
        words = (word for line in started.stdout for word in line.split())
        yield psutil.Process(started.pid), next(word for word in words if word.startswith("http://")).rstrip("/;")
    finally:
        started.send_signal(signal.SIGTERM)
        started.wait()


def _wait_for_lists(address: str) -> None:
    """Until the overview lists its groups."""
    while f"{GROUP_ID}-1" not in _text(f"{address}/"):
        time.sleep(0.2)


def _seconds(url: str) -> float:
    started = time.monotonic()
    _text(url)
    return time.monotonic() - started


def _text(url: str) -> str:
    with urllib.request.urlopen(url) as answer:
        return str(answer.read().decode())
