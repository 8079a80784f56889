"""A printed time: where it stands at the beginning of a text, and what it says.

Knows the forms that loggers and containers print. A time without a zone is read as UTC; `Clock` says which it was.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, time
from functools import lru_cache
from typing import NamedTuple

from rollcall.inputs.printed.lines.entries import Clock

_DATE = r"(?P<year>\d{4})[-/.](?P<month>\d\d)[-/.](?P<day>\d\d)"
_TIME = r"(?P<hour>\d\d):(?P<minute>\d\d):(?P<second>\d\d)(?:[.,:](?P<fraction>\d{1,9}))?"
_HALF = _TIME.replace(r"\d\d)", r"\d\d?)", 1) + "(?: (?P<half>[AP]M))?"
"""A time of the day whose hour may have one digit, and be one of twelve."""
_NAMED_ZONES = r"[ECMPA][SD]T|[CEW]ES?T|AE[SD]T|NZ[SD]T|BST|IST|JST|KST|MSK|SGT|HKT"
_ZONE = rf"(?: ?(?P<zone>Z|UTC|GMT|[+-]\d\d:?\d\d)(?![\w:])| (?:{_NAMED_ZONES})(?!\w))?"
"""A name other than UTC or GMT belongs to several countries, or only to summer: its time is local."""
_FULL = re.compile(rf"\[?{_DATE}[T _]{_TIME}{_ZONE}\]?")
_COMPACT = re.compile(
    r"\[?(?P<year>\d{4})(?P<month>\d\d)(?P<day>\d\d)[T ]"
    rf"(?P<hour>\d\d):?(?P<minute>\d\d):?(?P<second>\d\d)(?:[.,](?P<fraction>\d{{1,9}}))?(?!\d){_ZONE}\]?"
)
_EPOCH = re.compile(r"(?:%\d)?\|?(?P<seconds>\d{10})\.(?P<ms>\d{3})(?:\||(?= RDKAFKA-))")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = rf"(?P<month>{'|'.join(_MONTHS)})"
_NAMED = re.compile(rf"\[?(?P<year>\d{{4}}) {_MONTH} (?P<day>[ \d]\d) {_TIME}{_ZONE}\]?")
"""As a log shipper prints it: `2026 Mar  2 16:05:11`."""
_WORDS = re.compile(rf"{_MONTH}[a-z]{{0,6}} (?P<day>\d\d?)(?:st|nd|rd|th)?,? (?P<year>\d{{4}}),? (?:@ )?{_HALF}")
"""As Kibana prints it: `Mar 2, 2026 @ 16:05:11.123`, and java.util.logging: `Mar 02, 2026 4:05:11 PM`."""
_DAY_FIRST = re.compile(
    rf"\[?(?:[A-Z][a-z]{{2}}, )?(?P<day>\d\d?)[ /-]{_MONTH}[ /-](?P<year>\d{{4}})[ :]{_TIME}{_ZONE}\]?"
)
"""As log4j's DATE has it, Tomcat and web servers: `02 Mar 2026 16:05:11,123`."""
_YEAR_LAST = re.compile(rf"\[?[A-Z][a-z]{{2}} {_MONTH} (?P<day>[ \d]\d) {_TIME}{_ZONE} (?P<year>\d{{4}})\]?")
"""As C's `ctime` has it: `Mon Mar  2 16:05:11 2026`."""
_SPARK = re.compile(
    rf"(?P<year>\d\d)/(?P<month>\d\d)/(?P<day>\d\d) {_TIME}"
    r"(?= (?:TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (?:\w{1,80}\.){0,9}[A-Z][\w$]{1,80}: )"
)
"""As Spark's own settings print it, with a level and a class behind: `26/03/02 16:05:11 INFO AbstractCoordinator: `."""
_NUMBERS = re.compile(
    rf"\[?(?P<day>\d\d?)(?P<mark>[/.-])(?P<month>\d\d?)(?P=mark)(?P<year>\d{{4}}),? {_HALF}{_ZONE}\]?"
)
"""A day and a month in either order: `19/09/2022 19:42:31`, `9/19/2022 7:42:31 PM`. Between dots the day is first."""
_OF_LIBERTY = re.compile(
    r"\[(?P<day>\d\d?)(?P<mark>[/.-])(?P<month>\d\d?)(?P=mark)(?P<year>\d\d),? "
    r"(?P<hour>\d\d?):(?P<minute>\d\d):(?P<second>\d\d):(?P<fraction>\d{3}) (?:(?P<zone>UTC|GMT)|[A-Z]{2,5})\]"
)
"""As Open Liberty and WebSphere print it, in the order of their locale: `[20/06/23 04:18:27:216 BST]`."""
_FORMS = (_FULL, _COMPACT, _NAMED, _SPARK, _WORDS, _DAY_FIRST, _YEAR_LAST, _NUMBERS, _OF_LIBERTY)
_CLOCK = re.compile(rf"\[?(?:(?:{'|'.join(_MONTHS)}) [ \d]?\d )?{_TIME}\]?(?=[\s\]|])")
"""Beside a day without a year only the time of day is taken."""
_CLOCK_BEFORE_LEVEL = re.compile(rf"\[{_TIME}(?= [A-Z]{{3}}\] )")
"""As Serilog's console has it: `[16:05:11 WRN] `."""
_GLOG = re.compile(rf"[IWEF]\d{{4}} {_TIME}(?= )")
"""A level and a day without a year, as glog and absl have it: `W0302 16:05:11.123456 `."""


_BEGINS = re.compile(rf"\[?(?:\d|[%|]|{'|'.join(_MONTHS)}|(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun),? |[IWEF]\d{{4}} )")
"""No form begins with another character: a first test before all of them."""


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
    month_first_ms: int | None = None
    """The time with the month before the day, where the numbers do not say which comes first; None: they do."""


def stamp_at(text: str) -> Stamp | None:
    """The time that a text begins with; None if it begins with none, or with one that cannot be."""
    if _BEGINS.match(text) is None:
        return None
    epoch = _EPOCH.match(text)
    if epoch is not None:
        return Stamp(int(epoch["seconds"]) * 1000 + int(epoch["ms"]), Clock.UTC, False, epoch.end())
    found = _FULL.match(text) or next(filter(None, (form.match(text) for form in _FORMS)), None)
    if found is None:
        return _time_of_day(text)
    fields = found.groupdict()
    day_first_ms = _at_ms(fields, fields["day"], fields["month"])
    month_first_ms = _at_ms(fields, fields["month"], fields["day"]) if fields.get("mark") in ("/", "-") else None
    at_ms = month_first_ms if day_first_ms is None else day_first_ms
    if at_ms is None:
        return None
    clock = Clock.UTC if fields.get("zone") else Clock.LOCAL
    or_ms = None if month_first_ms in (None, at_ms) else month_first_ms
    return Stamp(at_ms, clock, fields["fraction"] is None, found.end(), or_ms)


def _at_ms(fields: Mapping[str, str | None], day: str, month: str) -> int | None:
    """A date's and a time's ms since 1970; None if there is no such time."""
    try:
        year = fields["year"] or ""
        month_number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month)
        at = datetime(int(year) if len(year) == 4 else 2000 + int(year), month_number, int(day), tzinfo=UTC)
        since_ms = _since_midnight_ms(fields)
    except ValueError:
        return None
    return readable_ms(round(at.timestamp()) * 1000 + since_ms - _offset_ms(fields.get("zone")))


@lru_cache(maxsize=64)
def minute_ms(text: str) -> int | None:
    """`2026-03-01 03:12` in ms; None if there is no such minute."""
    stamp = stamp_at(f"{text}:00")
    return None if stamp is None else stamp.at_ms


def _time_of_day(text: str) -> Stamp | None:
    found = _CLOCK.match(text) or _CLOCK_BEFORE_LEVEL.match(text) or _GLOG.match(text)
    if found is None:
        return None
    try:
        at_ms = _since_midnight_ms(found.groupdict())
    except ValueError:
        return None
    return Stamp(at_ms, Clock.TIME_OF_DAY, found["fraction"] is None, found.end())


def _since_midnight_ms(fields: Mapping[str, str | None]) -> int:
    """A time of the day in ms. Raise ValueError if there is none such."""
    half = fields.get("half")
    hour = int(fields["hour"] or 0)
    if half and not 1 <= hour <= 12:
        raise ValueError(hour)
    hour = hour % 12 + 12 * (half == "PM") if half else hour
    at = time(hour, int(fields["minute"] or 0), int(fields["second"] or 0))
    ms = int((fields["fraction"] or "0").ljust(3, "0")[:3])
    return ((at.hour * 60 + at.minute) * 60 + at.second) * 1000 + ms


def _offset_ms(zone: str | None) -> int:
    if zone is None or zone in ("Z", "UTC", "GMT"):
        return 0
    digits = zone[1:].replace(":", "")
    minutes = int(digits[:2]) * 60 + int(digits[2:])
    return (minutes if zone[0] == "+" else -minutes) * 60_000
