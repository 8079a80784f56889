"""What one request costs the page, by search over each address's fields: its time, its memory, and what others wait.

The page runs in a process of its own on a home of recorded incidents and hostile names. Knows the page's addresses and
HTTP; must not know what a page shows.
"""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from random import Random
from urllib.parse import urlencode

import msgspec

from tests.attack.kept import FOLDER
from tests.page.homes import HOSTILE, hostile, recorded
from tests.page.hostile_requests import FIELDS, PAGES, TOO_COSTLY

RECORDED = ("j-busy-1", "q-consumer-slow", "a-scale")
_GROUPS = ("grp-01", "grp-28", "csv-make", "payments", HOSTILE[-1])
ROOT = FOLDER.parents[2]
_LONGEST_S = 60.0
_LOOK_S = 0.05
_LEAST = 2
"""How many requests are tried of each address at least."""


class PageCost(msgspec.Struct):
    """What a search found of one address."""

    address: str
    tries: int
    sent_bytes: int
    """Of the request that took longest."""
    longest_s: float
    honest_s: float
    """The longest that somebody else waited for the first page meanwhile."""
    most_memory: float
    """Of the page and what it starts, as a multiple of the memory at rest."""


class Page:
    """The page of a home, as a process."""

    def __init__(self, home: Path) -> None:
        command = [sys.executable, "-m", "rollcall", "page", "--home", str(home), "--listen", "127.0.0.1:0"]
        self._process = subprocess.Popen(
            command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert self._process.stdout is not None
        self._place = ""
        for line in self._process.stdout:
            if (found := re.search(r"http://([\d.]+:\d+)", line)) is not None:
                self._place = found[1]
                break
        self.ask("/")
        self.at_rest_kb = self.memory_kb()

    def ask(self, path: str) -> float:
        """How long an address takes to answer."""
        began_s = time.monotonic()
        client = HTTPConnection(self._place, timeout=_LONGEST_S)
        try:
            client.request("GET", path)
            client.getresponse().read()
        except (OSError, HTTPException):
            # What is longer than a request may be ends its connection.
            pass
        finally:
            client.close()
        return time.monotonic() - began_s

    def memory_kb(self) -> int:
        """Of the process and its children."""
        own = self._process.pid
        children = [int(each) for each in Path(f"/proc/{own}/task/{own}/children").read_text().split()]
        return sum(_resident_kb(each) for each in (own, *children))

    def close(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait()


def costs_of_pages(folder: Path, seconds: float) -> Iterator[PageCost]:
    """Searches each address; seconds: how long."""
    for name in RECORDED:
        recorded(folder, name)
    hostile(folder)
    page, random = Page(folder), Random(23)
    try:
        for address, names in PAGES.items():
            yield _searched(page, random, address, names, seconds)
    finally:
        page.close()


def _searched(page: Page, random: Random, address: str, names: tuple[str, ...], seconds: float) -> PageCost:
    with _watched(page) as seen:
        costs: list[tuple[float, int]] = []
        ends_at = time.monotonic() + seconds
        while time.monotonic() < ends_at or len(costs) < _LEAST:
            path = _path(random, address, names)
            costs.append((page.ask(path), len(path)))
        longest_s, sent_bytes = max(costs)
    return PageCost(address, len(costs), sent_bytes, longest_s, seen.honest_s, seen.memory_kb / page.at_rest_kb)


def _path(random: Random, address: str, names: tuple[str, ...]) -> str:
    asked = {}
    for name in names:
        if name == "q":
            asked[name] = random.choice((*TOO_COSTLY.values(), *FIELDS["q"]))
        elif random.random() < 0.5:
            asked[name] = random.choice(_GROUPS if name == "group" else FIELDS[name])
    return f"{address}?{urlencode(asked, errors='replace')}"


class _Seen:
    honest_s = 0.0
    memory_kb = 0


@contextmanager
def _watched(page: Page) -> Iterator[_Seen]:
    """What somebody sees who asks for the first page again and again meanwhile."""
    seen, is_over = _Seen(), threading.Event()

    def look() -> None:
        while not is_over.wait(_LOOK_S):
            seen.honest_s = max(seen.honest_s, page.ask("/"))
            seen.memory_kb = max(seen.memory_kb, page.memory_kb())

    looking = threading.Thread(target=look)
    looking.start()
    try:
        yield seen
    finally:
        is_over.set()
        looking.join()


def _resident_kb(pid: int) -> int:
    try:
        found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if found is None else int(found[1])
