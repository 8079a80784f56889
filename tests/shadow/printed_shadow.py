"""A shadow of a printed log as a test drives it: it is started on a home, and steps with the log."""

from __future__ import annotations

from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.inputs.following.following import Following
from rollcall.inputs.following.printed_source import PrintedKept, PrintedSource, find_printed
from rollcall.inputs.printed.growing_log import first_ms_of
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.tables.home import Home
from rollcall.tables.job_status import StatusWriter
from tests.shadow.ticks import Stepped, Ticks

UTC = ZoneInfo("UTC")


def started(home: Home, path: Path, step_s: float = 0.1) -> Following:
    """A program that starts on a home, at its first start or after a kill."""
    home.path.mkdir(exist_ok=True)
    kept = find_printed(home) or PrintedKept(str(path), "UTC")
    tail, ticks = LogTail(path, UTC, kept.position, first_ms_of), Ticks(step_s)
    return Stepped(home, PrintedSource(kept, tail, ticks), StatusWriter(home.path), ticks)
