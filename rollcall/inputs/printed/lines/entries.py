"""One log entry without its wrapping: when, who, and the bare message.

Knows the shape; `rollcall.inputs.printed.lines.wrappings` makes entries of lines.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum, StrEnum
from types import MappingProxyType
from typing import Any, NamedTuple

_NOTHING: Mapping[str, Any] = MappingProxyType({})


class Clock(StrEnum):
    """What a printed time says."""

    UTC = "utc"
    """An absolute time: with a zone, or in seconds since 1970."""
    LOCAL = "local"
    """Date and time without a zone."""
    TIME_OF_DAY = "time_of_day"
    NONE = "none"


DATED = (Clock.UTC, Clock.LOCAL)
"""The clocks that say which day it is."""


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


_LONGEST_REASON = 200
"""Characters."""


def reason_of(error: Exception) -> str:
    """Return why a line could not be read, in a short text."""
    return f"{type(error).__name__}: {error}"[:_LONGEST_REASON]


class Entry(NamedTuple):
    """One entry of a log, which may take several lines."""

    file: str
    """As the user named it."""
    line_number: int
    """Of its first line, from 1."""
    text: str
    """The message alone. The prefix that a program gives itself stays, as `[GroupCoordinator 0]: `."""
    at_ms: int | None = None
    """The time as printed, in ms since 1970, as if in UTC where it has no zone; since midnight if it has no date."""
    clock: Clock = Clock.NONE
    is_whole_seconds: bool = False
    level: str = ""
    logger: str = ""
    """The class or facility, as printed."""
    source: str = ""
    """The container, pod or service that a wrapping names."""
    tail: tuple[str, ...] = ()
    """The lines that follow and belong to it."""
    is_whole: bool = True
    """False: it was cut, so its end is not certain."""
    is_suspect: bool = False
    """True: a client may have written this line, by line breaks in an id that a broker prints."""
    may_be_forged: bool = False
    """True: it stands behind a line that lacks its end, so that a client's id or reason may have written it."""
    unread: str = ""
    """Why no layout could be read; empty: one was."""
    message: str = ""
    """For a line of JSON: only its message."""
    fields: Mapping[str, Any] = _NOTHING
    """Of a line of JSON: what stands in it beside message, time, level, logger and source."""
    month_first_ms: int | None = None
    """The time with the month before the day, where its numbers may be read in both orders."""

    @property
    def printed(self) -> str:
        """What was printed alone: a line of JSON has its other fields behind it in `text`."""
        return self.message or self.text
