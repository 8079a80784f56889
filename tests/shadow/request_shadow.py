"""A shadow of a request log as a test drives it: it is started on a home, and steps with the log."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from zoneinfo import ZoneInfo

from rollcall.inputs.following.following import Following
from rollcall.inputs.following.request_source import RequestSource, find_kept, new_kept
from rollcall.inputs.request_log.broker_settings import SettingsSeen
from rollcall.inputs.request_log.lines.tail import LogTail
from rollcall.tables.home import Home
from rollcall.tables.home_tables import open_requests
from rollcall.tables.job_status import StatusWriter
from tests.shadow.ticks import Stepped, Ticks


def started(
    home: Home,
    path: Path,
    settings: dict[str, str] | None = None,
    say: Callable[[str], None] = lambda line: None,
    step_s: float = 0.3,
) -> Following:
    """A program that starts on a home, at its first start or after a kill."""
    home.path.mkdir(exist_ok=True)
    kept = find_kept(home) or new_kept(str(path), "UTC", settings or {}, SettingsSeen())
    tail, ticks = LogTail(path, ZoneInfo("UTC"), kept.position), Ticks(step_s)
    source = RequestSource(home, open_requests(home), kept, tail, say, ticks)
    return Stepped(home, source, StatusWriter(home.path), ticks)
