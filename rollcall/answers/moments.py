"""A moment that is asked about a home: also `03:12`, `-1h` and `now`, which count from the home's present.

Knows what a home's present is. Must not know how a moment is written.
"""

from __future__ import annotations

import time

from rollcall.answers.queries import check_home
from rollcall.answers.sql.engine import ask
from rollcall.history.words import moment as shown
from rollcall.programs.timestamps import Moment, read_moment
from rollcall.tables.home import Home


def moment_of(home: Home, text: str) -> Moment:
    """Return the moment that a text names. Raises MomentError; HomeError of a home that cannot be read."""
    return read_moment(text, lambda: present_ms(home))


def outside(home: Home, moment: Moment) -> str:
    """Return that a moment is before or after a home's history; empty: it is within, or a job still writes it."""
    of_each = " union all ".join(f"select min(at_ms) a, max(at_ms) z from {table}" for table in ("effects", "log_ends"))
    with home.read_here() as here:
        ((first_ms, last_ms),) = ask(here.path, f"select min(a), max(z) from ({of_each})", is_duckdbs=True).rows
    if first_ms is not None and moment.to_ms < first_ms:
        return f"before this history, which begins at {shown(first_ms)} UTC"
    if last_ms is not None and moment.from_ms > last_ms and not (home.is_local and home.worker()):
        return f"after this history, which ends at {shown(last_ms)} UTC"
    return ""


def present_ms(home: Home) -> int:
    """Return the present time while a job works in a home, else the time of its latest fact, ms since the epoch."""
    now_ms = int(time.time() * 1000)
    if home.is_local and home.worker():
        return now_ms
    with home.read_here() as here:
        check_home(here)
        latest_ms = latest_fact_ms(here)
    return now_ms if latest_ms is None else latest_ms


def latest_fact_ms(here: Home) -> int | None:
    """Return the time of the latest fact of a home on this machine, ms since the epoch; None: it has none."""
    ((latest_ms,),) = ask(here.path, "select max(at_ms) from effects", is_duckdbs=True).rows
    return None if latest_ms is None else int(latest_ms)
