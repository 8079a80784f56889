"""The fields of an address, read and checked: group, moment, span, generation, query.

Knows how each is written. Must not know how it is used.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from math import isfinite

from rollcall.answers.pictures.svg import WIDTH_PX
from rollcall.history.rebalances import Span
from rollcall.history.words import MINUTE_MS
from rollcall.programs.errors import UserError
from rollcall.programs.timestamps import MomentError, read_moment

LONGEST_GROUP_ID = 32_767
LONGEST_TYPED = 100
"""Maximum length of a moment."""
NARROWEST_PX, WIDEST_PX = 300, 4000
FIRST_MS, LAST_MS = 0, 253_370_764_800_000
"""The moments of a history: from 1970 to the year 9999, ms since the epoch."""
_LONGEST_YEAR, _EPOCH_SECONDS = 4, 10
"""How many digits they have."""
_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)


class FieldError(UserError):
    """A field is invalid; the text names it and its value."""


class Fields:
    """What an address asks for. Each property raises FieldError for a text that does not fit."""

    def __init__(self, params: Mapping[str, str], present_ms: Callable[[], int] | None = None) -> None:
        self._params = params
        self._present_ms = present_ms

    @property
    def group_id(self) -> str:
        return self._params.get("group", "")[:LONGEST_GROUP_ID]

    @property
    def at(self) -> str:
        """The chosen moment as it was written; one that counts from the present, with its date, so that it stays."""
        text = self._params.get("at", "")[:LONGEST_TYPED]
        try:
            return text if text[:1].isdecimal() and text[4:5] == "-" else read_moment(text, self._present_ms).text
        except MomentError:
            return text

    @property
    def until_ms(self) -> int | None:
        """The end of the chosen moment's first millisecond; None: the present."""
        return self._moment("at")

    @property
    def span(self) -> Span | None:
        """The span that was chosen on the strip; each end is a moment, or ms since the epoch."""
        from_ms, to_ms = self._moment("from"), self._moment("to")
        return None if from_ms is None or to_ms is None else Span(min(from_ms, to_ms), max(from_ms, to_ms))

    @property
    def generation_id(self) -> int | None:
        return self._whole("generation")

    @property
    def started_ms(self) -> int | None:
        """When the rebalance that is asked for began, ms since the epoch."""
        return self._moment_ms("started")

    @property
    def topic(self) -> str | None:
        return self._params.get("topic") or None

    @property
    def partition(self) -> int | None:
        return self._whole("partition")

    @property
    def width_px(self) -> int:
        """Return the width available to a picture."""
        return min(max(self._whole("width") or WIDTH_PX, NARROWEST_PX), WIDEST_PX)

    @property
    def query(self) -> str:
        return self._params.get("q", "")

    def minutes(self, default: float, longest: float) -> float:
        text = self._params.get("minutes", "")
        try:
            minutes = float(text) if text else default
        except ValueError:
            raise FieldError(f"minutes={text[:50]}: is not a number.") from None
        if not isfinite(minutes) or not 0 < minutes <= longest:
            raise FieldError(f"minutes={text[:50]}: is not between 0 and {longest:g}.")
        return minutes

    def zoomed(self, longest_minutes: float) -> Span | None:
        """Return the span chosen in a picture."""
        span = self.span
        if span is not None and span.to_ms - span.from_ms > longest_minutes * MINUTE_MS:
            raise FieldError(f"from, to: are more than {longest_minutes:g} minutes apart.")
        return span

    def _moment(self, name: str) -> int | None:
        text = self._params.get(name, "").strip()[:LONGEST_TYPED]
        if not text:
            return None
        if text.isdecimal() and len(text) > _LONGEST_YEAR and len(text) != _EPOCH_SECONDS:
            return self._moment_ms(name)
        try:
            at_ms = read_moment(text, self._present_ms).from_ms
        except MomentError as error:
            raise FieldError(f"{name}={text}: {error.reason}") from None
        return _in_history(name, text, at_ms)

    def _moment_ms(self, name: str) -> int | None:
        at_ms = self._whole(name)
        return None if at_ms is None else _in_history(name, self._params[name], at_ms)

    def _whole(self, name: str) -> int | None:
        text = self._params.get(name, "")
        if not text:
            return None
        if not _WHOLE.fullmatch(text):
            raise FieldError(f"{name}={text[:50]}: expected a whole number.")
        return int(text)


def _in_history(name: str, text: str, at_ms: int) -> int:
    if not FIRST_MS <= at_ms < LAST_MS:
        raise FieldError(f"{name}={text[:50]}: is not between 1970 and 9999.")
    return at_ms
