"""Quiet times, in which alarms that can wait are not sent. Knows days and hours; must not know an alarm."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Self
from zoneinfo import ZoneInfo

_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_DAY_MINUTES = 24 * 60
_PART = re.compile(rf"(?:({'|'.join(_DAYS)})(?:-({'|'.join(_DAYS)}))?)?(?:(?:^|\s+)(\d\d?):(\d\d)-(\d\d?):(\d\d))?")


class Zone(ZoneInfo):
    """A zone by its name in the tz database."""

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Parse a time zone's name. Raises ValueError: it is unknown."""
        try:
            return cls(text)
        except (KeyError, OSError, ValueError):
            raise ValueError("is not a zone that is known here, as Europe/Berlin is") from None


class QuietTimes(str):
    """Spans of the week: `Mon-Fri 22:00-06:00, Sat, Sun`. One over midnight belongs to the day on which it begins."""

    _spans: list[tuple[frozenset[int], int, int]]

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises ValueError: it is of another form."""
        made = cls(text)
        made._spans = [_span(part.strip()) for part in text.split(",") if part.strip()]
        return made

    def hold(self, at_ms: int, zone: ZoneInfo) -> bool:
        """Whether a moment is in one of them."""
        at = datetime.fromtimestamp(at_ms / 1000, UTC).astimezone(zone)
        minute, day = at.hour * 60 + at.minute, at.weekday()
        return any(
            (day in days and first <= minute < last) or ((day - 1) % 7 in days and minute < last - _DAY_MINUTES)
            for days, first, last in self._spans
        )


def _span(part: str) -> tuple[frozenset[int], int, int]:
    """Its days, and from which to which minute: beyond the day's last where it goes over midnight."""
    found = _PART.fullmatch(part)
    if found is None:
        raise ValueError(f"{part!r} is not of the form Mon-Fri 22:00-06:00")
    first_day, last_day, *clock = found.groups()
    days = range(7)
    if first_day:
        first = _DAYS.index(first_day)
        days = range(first, first + (_DAYS.index(last_day or first_day) - first) % 7 + 1)
    if clock[0] is None:
        return frozenset(day % 7 for day in days), 0, _DAY_MINUTES
    from_hour, from_minute, to_hour, to_minute = map(int, clock)
    if max(from_hour, to_hour) > 24 or max(from_minute, to_minute) > 59:
        raise ValueError(f"{part!r} has no times between 00:00 and 24:00")
    begins, ends = from_hour * 60 + from_minute, to_hour * 60 + to_minute
    return frozenset(day % 7 for day in days), begins, ends if ends > begins else ends + _DAY_MINUTES
