"""A moment is read as people write it, and as logs print it."""

from __future__ import annotations

import re

import pytest

from rollcall.programs.timestamps import MomentError, read_moment

LATEST_MS = 86_400_000 + 3_723_500
"""1970-01-02 01:02:03.500"""


@pytest.mark.parametrize(
    ("text", "from_ms", "length_ms", "shown"),
    [
        ("1970-01-02", 86_400_000, 86_400_000, "1970-01-02 00:00 UTC"),
        ("1970-01-02 +01:00", 82_800_000, 86_400_000, "1970-01-01 23:00 UTC"),
        ("1970-01-01 00:01", 60_000, 60_000, "1970-01-01 00:01 UTC"),
        ("1970-01-01T00:01:02", 62_000, 1000, "1970-01-01 00:01:02 UTC"),
        ("1970-01-01 00:00:01.5", 1500, 1, "1970-01-01 00:00:01.500 UTC"),
        ("[1970-01-01 00:00:01,250]", 1250, 1, "1970-01-01 00:00:01.250 UTC"),
        ("1970-01-01 05:31 +05:30", 60_000, 60_000, "1970-01-01 00:01 UTC"),
        ("1970-01-01 00:01:02.250Z", 62_250, 1, "1970-01-01 00:01:02.250 UTC"),
        ("1970-01-01 00:01 utc", 60_000, 60_000, "1970-01-01 00:01 UTC"),
        ("1000000000", 1_000_000_000_000, 1000, "2001-09-09 01:46:40 UTC"),
        ("1000000000.25", 1_000_000_000_250, 1, "2001-09-09 01:46:40.250 UTC"),
        ("1000000000250", 1_000_000_000_250, 1, "2001-09-09 01:46:40.250 UTC"),
        ("now", LATEST_MS, 1, "1970-01-02 01:02:03.500 UTC"),
        ("-1h2m", LATEST_MS - 3_720_000, 1, "1970-01-02 00:00:03.500 UTC"),
        ("5 Minutes ago", LATEST_MS - 300_000, 1, "1970-01-02 00:57:03.500 UTC"),
        ("today", 86_400_000, 86_400_000, "1970-01-02 00:00 UTC"),
        ("yesterday 03:12", 11_520_000, 60_000, "1970-01-01 03:12 UTC"),
        ("01:02", 86_400_000 + 3_720_000, 60_000, "1970-01-02 01:02 UTC"),
        ("01:02:03,5", LATEST_MS, 1, "1970-01-02 01:02:03.500 UTC"),
        ("01:03", 3_780_000, 60_000, "1970-01-01 01:03 UTC"),
        ("02:00 +01:00", 86_400_000 + 3_600_000, 60_000, "1970-01-02 01:00 UTC"),
    ],
)
def test_a_moment_is_as_long_as_it_is_vague_and_in_utc_without_a_zone(
    text: str, from_ms: int, length_ms: int, shown: str
) -> None:
    assert read_moment(text, lambda: LATEST_MS) == (from_ms, from_ms + length_ms - 1, shown)


@pytest.mark.parametrize(
    "text", ["noon", "2026-02-30", "2026-03-01 25:00", "2026-03-01 03:12.5", "2026-03-0103:12", "-99999999d", "-1", ""]
)
def test_what_is_no_moment_is_refused_by_its_text(text: str) -> None:
    with pytest.raises(MomentError, match=f"^--since {re.escape(text)}: invalid time; "):
        read_moment(text, lambda: LATEST_MS, option="--since")
    with pytest.raises(MomentError, match=f"^--at {re.escape(text)}: invalid time; "):
        read_moment(text, lambda: LATEST_MS)


@pytest.mark.parametrize("text", ["now", "-1h", "03:12", "today"])
def test_without_a_history_a_moment_needs_its_date(text: str) -> None:
    with pytest.raises(MomentError, match=f"^--at {re.escape(text)}: invalid time; it needs a date here"):
        read_moment(text)
