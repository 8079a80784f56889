"""A moment as a person writes it: `2026-03-01 03:12`, `03:12`, `-1h`, `now`, `yesterday 03:12`, or as a log prints it.

Knows ISO 8601 as people shorten it, log4j's comma, and the epoch in s and ms. A moment without a zone is UTC. Must not
know what is asked about it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from rollcall.programs.errors import UserError

_FORM = re.compile(
    r"(?:(?P<day>\d{4}-\d{2}-\d{2}|today|yesterday)(?:T|\s+|(?=$|[Z+-]|UTC)))?"
    r"(?:(?P<minute>\d{2}:\d{2})(?:(?P<second>:\d{2})(?P<fraction>[.,]\d{1,6})?)?)?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_EPOCH_TEXT = re.compile(r"(?P<second>\d{10})(?:[.,](?P<fraction>\d{1,3})\d*)?|(?P<millisecond>\d{13})")
_BEFORE = re.compile(
    r"-(?P<short>(?:\d{1,9}[dhms])+)|(?P<count>\d{1,9})\s+(?P<unit>day|hour|minute|second)s?\s+ago", re.IGNORECASE
)
_UNITS_MS = {"d": 86_400_000, "h": 3_600_000, "m": 60_000, "s": 1000}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
EXPECTED = (
    "expected 2026-03-01 03:12, 03:12:05.250, yesterday 03:12, -1h, now or epoch milliseconds (UTC without a zone)"
)


class MomentError(UserError):
    """A text that is not a moment. reason: the error without the option that it was given as."""

    def __init__(self, sentence: str, reason: str = "") -> None:
        super().__init__(sentence)
        self.reason = reason


class Moment(NamedTuple):
    """A period of time from its first millisecond to its last one, since the epoch."""

    from_ms: int
    to_ms: int
    text: str
    """As it is shown, in UTC."""

    @property
    def shown(self) -> str:
        """Its first millisecond, in UTC."""
        return f"{utc_text(self.from_ms)} UTC"


def read_moment(text: str, latest_ms: Callable[[], int] | None = None, option: str = "--at") -> Moment:
    """Return the millisecond, second, minute or day that a text names.

    latest_ms: the moment that texts without a date count from, ms since the epoch; None: they are refused. option: what
    the text was given as. Raises MomentError.
    """
    written = text.strip().strip("[]").strip()
    try:
        found = _in_epoch(written) or _relative(written, latest_ms) or _on_a_day(written, latest_ms)
    except (ValueError, OverflowError) as error:
        raise _refused(option, text, str(error)) from None
    if found is None:
        raise _refused(option, text, EXPECTED)
    return found


def _refused(option: str, text: str, why: str) -> MomentError:
    reason = f"invalid time; {why}."
    return MomentError(f"{option} {text}: {reason}", reason)


def _in_epoch(text: str) -> Moment | None:
    found = _EPOCH_TEXT.fullmatch(text)
    if found is None:
        return None
    if found["millisecond"]:
        return _moment(int(text), 1)
    at_ms = int(found["second"]) * 1000 + int((found["fraction"] or "").ljust(3, "0"))
    return _moment(at_ms, 1 if found["fraction"] else 1000)


def _relative(text: str, latest_ms: Callable[[], int] | None) -> Moment | None:
    """Raises ValueError: there is nothing that it counts from."""
    found = _BEFORE.fullmatch(text)
    if found is None and text.lower() != "now":
        return None
    before_ms = 0
    if found is not None:
        spans = re.findall(r"(\d+)([dhms])", (found["short"] or f"{found['count']}{found['unit'][0]}").lower())
        before_ms = sum(int(count) * _UNITS_MS[unit] for count, unit in spans)
    return _moment(_counted_from(latest_ms) - before_ms, 1)


def _on_a_day(text: str, latest_ms: Callable[[], int] | None) -> Moment | None:
    """A time of the day alone is the last one that is not after the latest moment. Raises ValueError, OverflowError."""
    found = _FORM.fullmatch(text)
    if found is None or not (found["day"] or found["minute"]):
        return None
    zone = (found["zone"] or "Z").upper().replace("UTC", "Z")
    clock = f"{found['minute'] or '00:00'}{found['second'] or ':00'}{(found['fraction'] or '').replace(',', '.')}{zone}"
    day = (found["day"] or "").lower()
    if day[:1].isdecimal():
        return _moment(_ms_of(datetime.fromisoformat(f"{day}T{clock}")), _length_ms(found))
    latest = _counted_from(latest_ms)
    today = (_EPOCH + timedelta(milliseconds=latest)).astimezone(datetime.fromisoformat(f"1970-01-01T{clock}").tzinfo)
    at_ms = _ms_of(datetime.fromisoformat(f"{today.date()}T{clock}"))
    if day == "yesterday" or (not day and at_ms > latest):
        at_ms -= _UNITS_MS["d"]
    return _moment(at_ms, _length_ms(found))


def _counted_from(latest_ms: Callable[[], int] | None) -> int:
    if latest_ms is None:
        raise ValueError("it needs a date here, as 2026-03-01 03:12")
    return latest_ms()


def _ms_of(at: datetime) -> int:
    return (at - _EPOCH) // timedelta(milliseconds=1)


def utc_text(at_ms: int) -> str:
    """Return `2026-03-01 03:12:00.500`. Raises OverflowError: no date has that moment."""
    return (_EPOCH + timedelta(milliseconds=at_ms)).isoformat(" ", "milliseconds")[:23]


def _moment(from_ms: int, length_ms: int) -> Moment:
    """Raises OverflowError: no date has that moment."""
    shown = utc_text(from_ms)[: {1: 23, 1000: 19}.get(length_ms, 16)]
    return Moment(from_ms, from_ms + length_ms - 1, f"{shown} UTC")


def iso_utc(at_s: float) -> str:
    """A moment, in seconds since the epoch, as ISO 8601 to the millisecond: 2026-03-01T03:12:00.000Z."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _length_ms(found: re.Match[str]) -> int:
    if found["fraction"]:
        return 1
    if found["second"]:
        return 1000
    return 60_000 if found["minute"] else 86_400_000
