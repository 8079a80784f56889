"""How moments, durations and partitions are written, and how long a sentence may be that people read.

Knows formats alone. Times are UTC, and the caller shows that.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from rollcall.schemas.causes import name_of
from rollcall.schemas.connect_protocol import CONNECTOR_ITSELF

MINUTE_MS = 60_000
HOUR_MS = 3_600_000
SHOWN = 8
"""Names in a sentence; it counts the others."""
_ROUNDED_UP_MS = 50
"""What lacks no more than this to a minute is said as that minute."""
LONGEST_SENTENCE = 300
"""Characters of a sentence."""
_LIST = 200
"""Characters of a list within one."""
_WORD = 100
"""Characters of a word, as a client id of 63 with the UUID of a member."""
_BEGIN, _END = 56, 41
"""What stays of a longer word: the end has a whole UUID and punctuation."""
_LONG_WORD = re.compile(rf"\S{{{_WORD + 1},}}")


def moment(at: int | datetime) -> str:
    """`2026-03-01 03:12:00.500`. at: ms since the epoch, or a timestamp of an answer."""
    at_ms = ms_of(at) if isinstance(at, datetime) else at
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%Y-%m-%d %H:%M:%S.%f")[:-3]


def second(at: int | datetime) -> str:
    """`2026-03-01 03:12:00`."""
    return moment(at)[:19]


def ms_of(at: datetime) -> int:
    """A timestamp of an answer, UTC without a zone, in ms since the epoch."""
    return round(at.replace(tzinfo=UTC).timestamp() * 1000)


def clock(at_ms: int) -> str:
    """`03:12:00.500`."""
    return moment(at_ms)[11:]


def duration(length_ms: int) -> str:
    """`13 ms`, `2.006 s`, `5 min 0.1 s`, `3 h 12 min`."""
    if length_ms < 1000:
        return f"{length_ms} ms"
    if length_ms < MINUTE_MS:
        return f"{length_ms / 1000:.3f} s".replace(".000 s", " s")
    if length_ms < HOUR_MS:
        minutes, rest_ms = divmod(length_ms, MINUTE_MS)
        if rest_ms >= MINUTE_MS - _ROUNDED_UP_MS:
            minutes, rest_ms = minutes + 1, 0
        return f"{minutes} min {rest_ms / 1000:.1f} s".replace(" 0.0 s", "")
    hours, rest_ms = divmod(length_ms, HOUR_MS)
    return f"{hours} h {rest_ms // MINUTE_MS} min".replace(" h 0 min", " h")


def at_most(figure: str, is_upper_bound: bool | None) -> str:
    """`12 records`, `at most 12 records`."""
    return f"at most {figure}" if is_upper_bound else figure


def count(number: int, what: str) -> str:
    """`1 member`, `3 members`."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def amount(number: int, what: str) -> str:
    """`1 record`, `13,658 records`."""
    return f"{number:,} {what}{'s' * (number != 1)}"


def ended(end_cause: str | None, is_inferred: bool) -> str:
    """How a membership ended: `session expired`, or `session expired, inferred` where nobody said so."""
    return name_of(end_cause) + (", inferred" if is_inferred and end_cause != "unknown" else "")


def filled(sentence: str, values: Mapping[str, Any]) -> str:
    """A detector's or a cause's sentence with values by name: see `rollcall.answers.views.view.Detector`."""

    def said(part: re.Match[str]) -> str:
        return part[2] or "" if None in _values(part[1], values) else part[1]

    kept = re.sub(r"\[([^\]|]*)(?:\|([^\]]*))?\]", said, sentence)
    return _FIELD.sub(lambda field: _shown(field[1], field[2], values[field[1]]), kept)


_FIELD = re.compile(r"\{(\w+)(?::([\w ]+))?\}")


def _values(text: str, values: Mapping[str, Any]) -> list[Any]:
    return [values[name] for name, _ in _FIELD.findall(text)]


def _shown(column: str, counted: str | None, value: Any) -> str:
    if isinstance(value, bool):
        return counted if counted and value else ""
    if counted:
        return amount(value, counted)
    if column.endswith("_ms"):
        return duration(value or 0)
    if column.startswith("lag_"):
        return f"{value:,}"
    if isinstance(value, datetime):
        return f"{second(value)} UTC"
    return name_of(value) if column in ("cause", "end_cause") else str(value)


def some(names: Iterable[str], shown: int = SHOWN) -> str:
    """`a, b and 3 more`."""
    listed = list(names)
    if len(listed) <= shown:
        return ", ".join(listed)
    return f"{', '.join(listed[:shown])} and {len(listed) - shown} more"


def with_short_ids(text: str) -> str:
    """Return a text in which the middle of each long word is `...`."""
    return _LONG_WORD.sub(lambda word: f"{word[0][:_BEGIN]}...{word[0][-_END:]}", text)


def short(sentence: str, longest: int = LONGEST_SENTENCE) -> str:
    """Return a sentence of at most this length; `...` stands where something is left out."""
    text = with_short_ids(sentence)
    return text if len(text) <= longest else f"{text[: longest - 3].rpartition(' ')[0] or text[: longest - 3]}..."


def some_that_fit(names: Iterable[str]) -> str:
    """Return `a, b and 3 more`: as many names as a sentence has room for, at least one."""
    listed = list(names)
    shown, length = 0, 0
    for name in listed:
        length += len(with_short_ids(name)) + 2
        if shown and length > _LIST:
            break
        shown += 1
    return some(listed, shown)


def partitions(found: Iterable[tuple[str, int]]) -> str:
    """`orders 0-3, 7; payments 2`."""
    topics = groupby(sorted(set(found)), key=lambda partition: partition[0])
    return "; ".join(f"{topic} {_numbers([number for _, number in some])}" for topic, some in topics)


def _numbers(numbers: list[int]) -> str:
    if numbers[0] == CONNECTOR_ITSELF:
        return f"(the connector itself), {_numbers(numbers[1:])}" if numbers[1:] else "(the connector itself)"
    runs = [[number for _, number in run] for _, run in groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])]
    return ", ".join(str(run[0]) if len(run) == 1 else f"{run[0]}-{run[-1]}" for run in runs)
