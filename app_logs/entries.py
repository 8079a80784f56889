"""One log entry without its wrapping: when, who, and the message alone.

Knows the shape; `app_logs.wrappings` makes entries of lines.
"""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple


class Clock(StrEnum):
    """What a printed time says."""

    UTC = "utc"
    """An absolute time: with a zone, or in seconds since 1970."""
    LOCAL = "local"
    """Date and time without a zone."""
    TIME_OF_DAY = "time_of_day"
    NONE = "none"


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
