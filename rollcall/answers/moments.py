"""A moment that is asked about a home: also `03:12`, `-1h` and `now`, which count from the home's present.

Knows what a home's present is. Must not know how a moment is written.
"""

from __future__ import annotations

import time
from functools import cached_property

from rollcall.answers.sql.engine import ask
from rollcall.history.known_span import KNOWN_SPAN, KnownSpan, outside
from rollcall.programs.timestamps import Moment, read_moment
from rollcall.tables.home import Home


class Moments:
    """The moments that are asked about a home, whose history is looked at once, and only if it matters."""

    def __init__(self, home: Home) -> None:
        self._home = home

    def read(self, text: str) -> Moment:
        """Return the moment that a text names. Raises MomentError; HomeError of a home that cannot be read."""
        return read_moment(text, self._present_ms)

    def outside(self, moment: Moment) -> str:
        """Return where a moment is if it is before or after the history; empty: it is within."""
        return outside(moment.from_ms, self._span, is_written=self._is_written)

    def _present_ms(self) -> int:
        """Return the present time while a job works in a home, otherwise the time of its latest fact."""
        fact_ms = None if self._is_written else self._span.fact_ms
        return int(time.time() * 1000) if fact_ms is None else fact_ms

    @cached_property
    def _is_written(self) -> bool:
        return self._home.is_local and bool(self._home.worker())

    @cached_property
    def _span(self) -> KnownSpan:
        with self._home.read_here() as here:
            (found,) = ask(here.path, KNOWN_SPAN, is_duckdbs=True).rows
            return KnownSpan(*found)
