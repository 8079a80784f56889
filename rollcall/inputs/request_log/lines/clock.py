"""The log's timestamps: local time of the broker without a zone, as milliseconds since the epoch.

Knows the layout of log4j's %d and the rules of a time zone; knows nothing of what a line says.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from rollcall.programs.errors import UserError

TIMESTAMP_LENGTH = 24
"""`[2026-03-01 10:15:30,123`: what a line must at least begin with."""
_FIRST_YEAR = 1971
"""Times since the epoch are positive, in any zone."""
_FOLD_MS = 30 * 60_000


class ZoneError(UserError):
    """A time zone that is not known; the text names it."""


def zone_of(name: str) -> ZoneInfo:
    """The zone by its IANA name, as `Asia/Kolkata`. Raises ZoneError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ZoneError(f"--zone {name}: is not a time zone's name; one is UTC, another Asia/Kolkata") from None


class LogClock:
    """Reads the timestamps of one file, top to bottom.

    Where clocks are put back an hour of local time comes twice; the second one is recognised by time running backwards.
    """

    def __init__(self, zone: ZoneInfo) -> None:
        self._zone = zone
        self._second_ms: dict[bytes, int] = {}
        self._last_ms = 0

    def read(self, line: bytes) -> int | None:
        """The line's timestamp in ms since the epoch; None if it does not begin with one."""
        base_ms = self._second_ms.get(line[1:20])
        if base_ms is None:
            base_ms = self._read_second(line)
            if base_ms is None:
                return None
        digits = line[21:24]
        if not digits.isdigit():
            return None
        at_ms = base_ms + int(digits)
        self._last_ms = at_ms
        return at_ms

    def is_ambiguous(self, line: bytes) -> bool:
        """Whether the line's timestamp means two moments or none, as clocks are put back or forward."""
        local = datetime.fromisoformat(line[1:20].decode("ascii"))
        return self._epoch_ms(local, fold=0) != self._epoch_ms(local, fold=1)

    def _read_second(self, line: bytes) -> int | None:
        if len(line) < TIMESTAMP_LENGTH or line[:1] != b"[" or line[20:21] not in (b",", b"."):
            return None
        try:
            local = datetime.fromisoformat(line[1:20].decode("ascii"))
        except (ValueError, UnicodeDecodeError):
            return None
        if local.year < _FIRST_YEAR:
            return None
        at_ms = self._epoch_ms(local, fold=0)
        if self._last_ms - at_ms > _FOLD_MS:
            at_ms = self._epoch_ms(local, fold=1)
        self._second_ms = {line[1:20]: at_ms}
        return at_ms

    def _epoch_ms(self, local: datetime, fold: int) -> int:
        aware = local.replace(tzinfo=self._zone, fold=fold)
        return (aware - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
