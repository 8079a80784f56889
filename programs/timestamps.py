"""A moment as a person writes it: `2026-03-01 03:12`, with or without seconds, a zone or the time of day.

Knows ISO 8601 as people shorten it. A moment without a zone is UTC. Must not know what is asked about it.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from programs.errors import UserError

_FORM = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})(?:[ T](?P<minute>\d{2}:\d{2})(?P<second>:\d{2})?(?P<fraction>\.\d{1,6})?)?"
    r"\s*(?P<zone>Z|UTC|[+-]\d{2}:?\d{2})?",
    re.IGNORECASE,
)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class MomentError(UserError):
    """A text that is no moment; the error's text shows how one is written."""


class Moment(NamedTuple):
    """A period of time from its first millisecond to its last one, since the epoch."""

    from_ms: int
    to_ms: int
    text: str
    """As it is shown, in UTC."""

    @property
    def shown(self) -> str:
        """Its first millisecond, in UTC."""
        at = _EPOCH + timedelta(milliseconds=self.from_ms)
        return f"{at.strftime('%Y-%m-%d %H:%M:%S.%f')[:-3]} UTC"


def read_moment(text: str) -> Moment:
    """The millisecond, second, minute or day that a text names. Raises MomentError."""
    found = _FORM.fullmatch(text.strip())
    if found is None or (found["fraction"] and not found["second"]):
        raise MomentError(
            f"AT={text}: is no moment; it is written 2026-03-01 03:12, 2026-03-01 03:12:05.250 or "
            "2026-03-01 03:12 +05:30 (UTC where no zone is named)."
        )
    zone = (found["zone"] or "Z").upper().replace("UTC", "Z")
    written = f"{found['date']}T{found['minute'] or '00:00'}{found['second'] or ':00'}{found['fraction'] or ''}{zone}"
    try:
        begins = datetime.fromisoformat(written)
        from_ms = (begins - _EPOCH) // timedelta(milliseconds=1)
        shown = begins.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise MomentError(f"AT={text}: is no moment: {error}.") from None
    return Moment(from_ms, from_ms + _length_ms(found) - 1, _shown(shown, found))


def iso_utc(at_s: float) -> str:
    """A moment, in seconds since the epoch, as ISO 8601 to the millisecond: 2026-03-01T03:12:00.000Z."""
    return datetime.fromtimestamp(at_s, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _length_ms(found: re.Match[str]) -> int:
    if found["fraction"]:
        return 1
    if found["second"]:
        return 1000
    return 60_000 if found["minute"] else 86_400_000


def _shown(at: datetime, found: re.Match[str]) -> str:
    form = "%Y-%m-%d %H:%M:%S.%f" if found["fraction"] else "%Y-%m-%d %H:%M:%S" if found["second"] else "%Y-%m-%d %H:%M"
    text = at.strftime(form)
    return f"{text[:-3] if found['fraction'] else text} UTC"
