"""Which moments are quiet, by the week's days and hours of a zone."""

from __future__ import annotations

from datetime import datetime

import pytest

from rollcall.serve.alerts.quiet import QuietTimes, Zone

BERLIN = Zone("Europe/Berlin")


@pytest.mark.parametrize(
    ("spans", "at", "is_quiet"),
    [
        ("22:00-06:00", "2026-03-04 22:00", True),
        ("22:00-06:00", "2026-03-04 21:59", False),
        ("22:00-06:00", "2026-03-05 05:59", True),
        ("22:00-06:00", "2026-03-05 06:00", False),
        ("Sat, Sun", "2026-03-07 00:00", True),
        ("Sat, Sun", "2026-03-09 00:00", False),
        # The night that begins on Friday ends on Saturday, and none begins on Saturday.
        ("Mon-Fri 22:00-06:00", "2026-03-07 05:00", True),
        ("Mon-Fri 22:00-06:00", "2026-03-07 23:00", False),
        ("Mon-Fri 22:00-06:00", "2026-03-09 05:00", False),
        ("Sat-Mon 10:00-11:00", "2026-03-08 10:30", True),
        ("Sat-Mon 10:00-11:00", "2026-03-10 10:30", False),
        ("00:00-24:00", "2026-03-10 23:59", True),
        ("", "2026-03-10 23:59", False),
    ],
)
def test_days_and_hours(spans: str, at: str, is_quiet: bool) -> None:
    at_ms = round(datetime.fromisoformat(at).replace(tzinfo=BERLIN).timestamp() * 1000)
    assert QuietTimes.from_text(spans).hold(at_ms, BERLIN) is is_quiet
