"""The page over a long history of many groups: how long until it is there, and each of its pages by the wall clock.

Knows the page's addresses. Must not know how a page is made.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from urllib.request import urlopen

import psutil

from benchmarks.figures import Figure, at_most, bench
from benchmarks.groups import GROUP_ID
from benchmarks.long_history import FIRST_MS, write_history
from benchmarks.processes import folder, started

EFFECT_COUNT = 1_000_000
GROUP_COUNT = 2000
ASKED = 40
"""So often each page is asked for, of another group each time."""
_PATHS = {
    "overview": "/",
    "group": "/group?group={}",
    "rebalance": "/rebalance?group={}&generation=2",
    "troubles": "/troubles",
    "strip": "/strip.svg",
}
_MOMENT = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(FIRST_MS / 1000 + 90))


@bench
def the_page_of_a_million_effects() -> Iterator[Figure]:
    """Each page's slow end, the process's memory after all of them, and the first look at another moment."""
    with folder() as home:
        write_history(home, EFFECT_COUNT, GROUP_COUNT, members=5)
        began = time.monotonic()
        words = ("page", "--home", str(home), "--page", "127.0.0.1:0")
        with started("jobs.rollcall", *words, says="http://") as (pid, said):
            address = f"http://{said.split()[0].rstrip('/;')}"
            _ms(f"{address}/health")
            yield Figure("page_first_answer", time.monotonic() - began, "s", at_most(2))
            while f"{GROUP_ID}-1".encode() not in urlopen(address).read():
                time.sleep(0.2)
            for name, path in _PATHS.items():
                took = sorted(_ms(address + path.format(f"{GROUP_ID}-{number}")) for number in range(ASKED))
                yield Figure(f"page_{name}_p95", took[int(0.95 * ASKED)], "ms", at_most(300))
            past = f"{address}/?at={_MOMENT}"
            yield Figure("page_first_look_at_a_moment", _ms(past) / 1000, "s")
            yield Figure("page_next_look_at_it", _ms(past), "ms", at_most(300))
            yield Figure("page_memory", psutil.Process(pid).memory_info().rss / 2**20, "MB", at_most(500))


def _ms(url: str) -> float:
    began = time.monotonic()
    urlopen(url).read()
    return 1000 * (time.monotonic() - began)
