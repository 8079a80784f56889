"""Texts of the page: moments, durations, shares, and links that a colleague can open.

Clients' names are text: the templates escape them, and control and direction characters are shown by their code. Knows
texts and addresses; must not know what they are about.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from rollcall.answers.why.sections import At, Cell, Named
from rollcall.history.words import duration, moment, ms_of
from rollcall.programs.visible import visible
from rollcall.schemas.causes import name_of, row_of

LONGEST_SENTENCE = 1000
LONGEST_WHOLE_ID, _ID_END = 24, 8
LONGEST_TEXT = 200
"""Maximum length of a client's text; the SQL box shows the whole of it."""
CAUSES_KEPT = 4096


def shortened(text: Any, longest: int = LONGEST_TEXT) -> str:
    """Return a client's text for one line, with control characters escaped and a long text cut."""
    if text is None:
        return ""
    whole = str(text)
    shown = visible(whole[:longest])
    rest = len(whole) - longest
    return shown if rest <= 0 else f"{shown}... and {rest} more characters"


def key(*parts: Any) -> str:
    """Return a short key for a table row; equal parts give equal keys."""
    return hashlib.blake2b(repr(parts).encode(errors="surrogatepass"), digest_size=9).hexdigest()


def id_of(member_id: str | None) -> Markup | str:
    """Return an id, cut in its middle if it is long; hovering and copying give the whole."""
    whole = shortened(member_id)
    if len(whole) <= LONGEST_WHOLE_ID:
        return whole
    markup = Markup('<span title="{}"><span class="cut">{}</span>{}</span>')
    return markup.format(whole, whole[:-_ID_END], whole[-_ID_END:])


def time_of(at: datetime | int | None) -> Markup | str:
    """Return a moment in UTC; a script shows the local time on hover."""
    if at is None:
        return ""
    text = moment(at)
    return Markup('<time datetime="{}Z">{}</time>').format(text.replace(" ", "T"), text)


def ago(at: datetime | int | None, now_ms: int) -> Markup | str:
    """How long before a moment another was, `4 min ago`; the moment itself is seen on hover."""
    if at is None:
        return ""
    at_ms = at if isinstance(at, int) else ms_of(at)
    text = moment(at_ms)
    return Markup(f'<time datetime="{text.replace(" ", "T")}Z" title="{text} UTC">{age(at_ms, now_ms)}</time>')


def age(at_ms: int, now_ms: int) -> str:
    """`4 min ago`."""
    seconds = max(now_ms - at_ms, 0) // 1000
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60), ("s", 1)):
        if seconds >= length:
            return f"{seconds // length} {unit} ago"
    return "just now"


@lru_cache(maxsize=CAUSES_KEPT)
def cause_of(cause: str | None) -> Markup | str:
    """Return a cause's name, with its SQL key on hover."""
    return "" if cause is None else section_cell(Named(name_of(cause), cause))


def section_cell(cell: Cell) -> Markup | str:
    """Return a cell of an explanation's section."""
    match cell:
        case At(ms):
            return time_of(ms)
        case Named(words, key):
            text = shortened(words, LONGEST_SENTENCE)
            return Markup('<span title="{}">{}</span>').format(shortened(key), text) if key else text
        case _:
            return shortened(cell, LONGEST_SENTENCE)


def with_code(text: str) -> Markup:
    """A text of ours, in which names between backticks are code."""
    parts = enumerate(text.split("`"))
    return Markup().join(Markup("<code>{}</code>").format(part) if place % 2 else part for place, part in parts)


def swatch(colour: str | None) -> Markup | str:
    """A small field of a member's colour; nothing for None."""
    svg = '<svg class="swatch" viewBox="0 0 1 1" aria-hidden="true"><rect width="1" height="1" fill="{}"/></svg> '
    return "" if colour is None else Markup(svg).format(colour)


def ticks_of(places: Sequence[int] | None, causes: Sequence[str] | None) -> Markup:
    """The bars of a small picture of the hour, by place and cause."""
    return Markup("").join(map(_tick, places or (), causes or ()))


@lru_cache(maxsize=CAUSES_KEPT)
def _tick(place: int, cause: str) -> Markup:
    bar = Markup('<rect x="{}" width="1" height="21" fill="{}" data-cause="{}"/>')
    return bar.format(place, row_of(cause).colour, name_of(cause))


def lag_path(lags: list[int | None], highest: int, height: int) -> str:
    """Return a path of SVG with a step of width 1 for each lag, as high as the highest; broken where none is known."""
    parts = []
    for place, lag in enumerate(lags):
        if lag is not None:
            y = round(height * (1 - lag / max(highest, 1)), 2)
            is_begun = place > 0 and lags[place - 1] is not None
            parts.append(f"{'L' if is_begun else 'M'}{place} {y:g}H{place + 1}")
    return "".join(parts)


def length_of(ms: int | float | None) -> str:
    """Return a duration; empty for None."""
    return "" if ms is None else duration(int(ms))


def share_of(share: float | None) -> str:
    """Return `12.5 %`; empty for None."""
    return "" if share is None else f"{100 * share:.1f} %"


def link(path: str, **fields: Any) -> str:
    """Return an address within the page, without fields that are None or empty."""
    given = {name: value for name, value in fields.items() if value not in (None, "")}
    return f"{path}?{urlencode(given)}" if given else path


def cell(value: Any, write: Callable[[Any], str]) -> Markup | str:
    """A value of an SQL answer as a table's cell. write: what makes it text."""
    if value is None:
        return Markup('<span class="null">null</span>')
    return time_of(value) if isinstance(value, datetime) else shortened(write(value))
