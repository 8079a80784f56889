"""Limits the rate of each kind of log line; how many were left out is logged later.

Knows log records; knows nothing that is logged.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

LINES = 20
"""The most lines of one kind that are written in a period."""
PERIOD_S = 10.0
KINDS_MAX = 1000
"""The most kinds that are counted apart at a time."""
_KIND_CHARACTERS = 60


class RateLimitedLog(logging.Filter):
    """Passes at most LINES records of a kind per period; the next period's first record has the number left out.

    A kind is the beginning of the text of the call, before its values are put in: asyncio's have values further on.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}
        """For each kind: when its period began, and how many records came since."""

    def filter(self, record: logging.LogRecord) -> bool:
        now, kind = self._clock(), str(record.msg).partition("\n")[0][:_KIND_CHARACTERS]
        began, count = self._kinds.get(kind, (now, 0))
        if now - began >= PERIOD_S:
            left_out = count - LINES
            began, count = now, 0
            if left_out > 0:
                record.msg = f"{record.msg} (and {left_out} more such lines before)"
        if len(self._kinds) >= KINDS_MAX:
            self._kinds.clear()
        self._kinds[kind] = (began, count + 1)
        return count < LINES
