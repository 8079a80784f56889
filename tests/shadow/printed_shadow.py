"""A shadow of a printed log as a test drives it: it is started on a home, steps with the log, and sees the log end."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.inputs.printed.growing_log import first_ms_of
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.jobs.log_config import shadow_config
from rollcall.jobs.shadow.printed_following import PrintedFollowing, PrintedKept, find_printed
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from tests.shadow.deaths import clock_of

UTC = ZoneInfo("UTC")
LONG_S = 60.0


def started(home: Home, path: Path, step_s: float = 0.1) -> PrintedFollowing:
    """A program that starts on a home, at its first start or after a kill."""
    home.path.mkdir(exist_ok=True)
    ticks = clock_of(step_s)
    kept = find_printed(home) or PrintedKept(str(path), "UTC")
    tail = LogTail(path, UTC, kept.position, first_ms_of)
    return PrintedFollowing(home, kept, tail, shadow_config({}), StatusWriter(home.path), lambda: next(ticks))


def finish(following: PrintedFollowing) -> None:
    """The log stands still for long."""
    ticks = clock_of(LONG_S)
    following._clock = lambda: 10_000 + next(ticks)
    for _ in range(10):
        following.step()
    following.finish()
