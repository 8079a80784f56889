"""A printed time: where it stands at the beginning of a text, and what it says.

Knows the forms that loggers and containers print. A time without a zone is read as UTC; `Clock` says which it was.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import NamedTuple

from app_logs.entries import Clock

_DATE = r"(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
_ZONE = r"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:]))?"
_FULL = re.compile(rf"\[?{_DATE}[T _]{_TIME}{_ZONE}\]?")
_WORDS = re.compile(rf"(?P<date>[A-Z][a-z]{{2,8}} \d\d?(?:st|nd|rd|th)?,? \d{{4}}),? (?:@ )?{_TIME}")
"""As Kibana prints it: `Mar 2, 2026 @ 16:05:11.123`."""
_EPOCH = re.compile(r"(?:%\d)?\|?(?P<seconds>\d{10})\.(?P<ms>\d{3})(?:\||(?= RDKAFKA-))")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_NAMED = re.compile(rf"\[?(?P<year>\d{{4}}) (?P<month>{'|'.join(_MONTHS)}) (?P<day>[ \d]\d) {_TIME}{_ZONE}\]?")
"""As a log shipper prints it: `2026 Mar  2 16:05:11`."""
_SPARK = re.compile(
    rf"(?P<year>\d\d)/(?P<month>\d\d)/(?P<day>\d\d) {_TIME}(?= (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) [A-Z]\w{{1,80}}: )"
)
"""As Spark's own settings print it, with a level and a class behind: `26/03/02 16:05:11 INFO AbstractCoordinator: `."""
_CLOCK = re.compile(rf"\[?(?:(?:{'|'.join(_MONTHS)}) [ \d]?\d )?{_TIME}\]?(?=[\s\]|])")
"""Beside a day without a year only the time of day is taken."""


EARLIEST_MS, LATEST_MS = -62_135_510_400_000, 253_402_214_399_999
"""From 0001-01-02 to 9999-12-30: a day of any calendar in every zone."""


def readable_ms(at_ms: float) -> int | None:
    """Return a time in whole ms, or None if no calendar has it in every zone."""
    return round(at_ms) if EARLIEST_MS <= at_ms <= LATEST_MS else None


class Stamp(NamedTuple):
    """A time, and how many characters it takes."""

    at_ms: int
    clock: Clock
    is_whole_seconds: bool
    length: int


def stamp_at(text: str) -> Stamp | None:
    """The time that a text begins with; None if it begins with none, or with one that cannot be."""
    epoch = _EPOCH.match(text)
    if epoch is not None:
        return Stamp(int(epoch["seconds"]) * 1000 + int(epoch["ms"]), Clock.UTC, False, epoch.end())
    found = _FULL.match(text) or _NAMED.match(text) or _SPARK.match(text)
    if found is None:
        return _in_words(text) or _time_of_day(text)
    try:
        at = datetime(
            _year(found["year"]),
            _month(found["month"]),
            int(found["day"]),
            int(found["hour"]),
            int(found["minute"]),
            int(found["second"]),
            tzinfo=UTC,
        )
    except ValueError:
        return None
    zone = found.groupdict().get("zone")
    at_ms = readable_ms(round(at.timestamp()) * 1000 + _ms(found["fraction"]) - _offset_ms(zone))
    clock = Clock.UTC if zone else Clock.LOCAL
    return None if at_ms is None else Stamp(at_ms, clock, found["fraction"] is None, found.end())


@lru_cache(maxsize=64)
def minute_ms(text: str) -> int | None:
    """`2026-03-01 03:12` in ms; None if there is no such minute."""
    stamp = stamp_at(f"{text}:00")
    return None if stamp is None else stamp.at_ms


def _in_words(text: str) -> Stamp | None:
    found = _WORDS.match(text)
    if found is None:
        return None
    date = re.sub(r"(?<=\d)(?:st|nd|rd|th)|,", "", found["date"])
    month, _, rest = date.partition(" ")
    try:
        day = datetime.strptime(f"{month[:3]} {rest}", "%b %d %Y").replace(tzinfo=UTC)
    except ValueError:
        return None
    at_ms = readable_ms(round(day.timestamp()) * 1000 + _since_midnight_ms(found))
    return None if at_ms is None else Stamp(at_ms, Clock.LOCAL, not found["fraction"], found.end())


def twelve_hours(text: str) -> Stamp | None:
    """`Mar 02, 2026 4:05:11 PM`; None if there is no such time."""
    try:
        at = datetime.strptime(text.replace(",", ""), "%b %d %Y %I:%M:%S %p").replace(tzinfo=UTC)
    except ValueError:
        return None
    at_ms = readable_ms(at.timestamp() * 1000)
    return None if at_ms is None else Stamp(at_ms, Clock.LOCAL, True, len(text))


def _time_of_day(text: str) -> Stamp | None:
    found = _CLOCK.match(text)
    if found is None:
        return None
    return Stamp(_since_midnight_ms(found), Clock.TIME_OF_DAY, found["fraction"] is None, found.end())


def _since_midnight_ms(found: re.Match[str]) -> int:
    since = timedelta(hours=int(found["hour"]), minutes=int(found["minute"]), seconds=int(found["second"]))
    return since // timedelta(milliseconds=1) + _ms(found["fraction"])


def _month(text: str) -> int:
    return _MONTHS.index(text) + 1 if text in _MONTHS else int(text)


def _year(text: str) -> int:
    return int(text) if len(text) == 4 else 2000 + int(text)


def _ms(fraction: str | None) -> int:
    return int((fraction or "0").ljust(3, "0")[:3])


def _offset_ms(zone: str | None) -> int:
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (minutes if zone[0] == "+" else -minutes) * 60_000
