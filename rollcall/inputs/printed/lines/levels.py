"""The levels of log lines, by the names that loggers print for them.

Knows only names.
"""

from __future__ import annotations

from enum import IntEnum


class Level(IntEnum):
    """How much a line matters: a logger that prints one level prints those above it."""

    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


_NAMES = {
    Level.DEBUG: "TRACE DEBUG DBG VRB VERBOSE FINEST FINER FINE CONFIG",
    Level.INFO: "INFO INF INFORMATION NOTICE SUCCESS",
    Level.WARN: "WARN WARNING WRN",
    Level.ERROR: "ERROR ERR SEVERE CRITICAL FATAL FTL",
}
_BY_NAME = {name: level for level, names in _NAMES.items() for name in names.split()}


def level_of(printed: str) -> Level | None:
    """Return the level that a line prints, or None for none that is known."""
    return _BY_NAME.get(printed) or _BY_NAME.get(printed.upper())
