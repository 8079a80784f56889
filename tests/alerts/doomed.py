"""Who sends a home's alarms, each to be run in a process that a test kills. Must not know a trouble."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Event

import rollcall.serve.alerts.watching  # noqa: F401  It takes long to load, and is there before the first start.
from rollcall.jobs.config import JobConfig
from rollcall.jobs.job_monitor import ShadowMetrics, serve_metrics
from rollcall.serve.alerts.__main__ import main
from rollcall.serve.page import kept_lists
from rollcall.tables.home import Home

# A list that rests would be waited for.
kept_lists.REST_FACTOR = kept_lists.BEAT_REST_FACTOR = kept_lists.LAG_REST_FACTOR = 0


def beside_a_home(home: Path, settings: dict[str, str]) -> None:
    """`rollcall alerts`."""
    main(["--home", str(home), *(word for name, text in settings.items() for word in ("--set", f"{name}={text}"))])


def in_a_job(home: Path, settings: dict[str, str]) -> None:
    """As a shadow, until it is killed."""
    with closing(serve_metrics(Home(str(home)), JobConfig.from_pairs(settings), ShadowMetrics())):
        Event().wait()
