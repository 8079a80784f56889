"""The entries of one file in their order: oldest first, each once, with the days that their dates mean.

Knows entries. Must not know layouts, nor what lines say.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from rollcall.inputs.printed.lines.entries import DATED, Entry
from rollcall.inputs.printed.lines.wrappings import is_exception, joined, lacks_exception

DAYS_FIRST = "its dates do not say whether the day or the month comes first; they were read as day/month"
MONTHS_FIRST = "its dates do not say whether the day or the month comes first; they were read as month/day"
_DOUBLED = 3
"""A file with this number of different lines that each stand twice is doubled; times show it with fewer."""


def in_order(entries: Sequence[Entry]) -> tuple[list[Entry], list[str]]:
    """The entries of one file, oldest first and each once, with a sentence for each thing that was done to them."""
    notes: list[str] = []
    ordered = _with_their_days([*entries], notes)
    times = [entry.at_ms for entry in ordered if entry.at_ms is not None and not is_exception(entry.text)]
    falls = sum(after < before for before, after in itertools.pairwise(times))
    rises = sum(after > before for before, after in itertools.pairwise(times))
    if falls > 2 * rises:
        ordered.reverse()
        notes.append("its newest line comes first; it was read from its end")
    ordered = _with_their_exceptions(ordered)
    once = ordered[:1]
    pairs = itertools.pairwise(ordered)
    once += [one for before, one in pairs if before.at_ms != one.at_ms or before.text != one.text]
    if not times and len({entry.text for entry in once}) < _DOUBLED:
        once = ordered  # Without times a line may well be printed again.
    if len(once) <= len(ordered) * 0.6 and len(ordered) > 1:
        notes.append("nearly every line stands in it twice; each was read once")
        ordered = once
    return ordered, notes


def _with_their_exceptions(ordered: Sequence[Entry]) -> list[Entry]:
    """The entries, each exception that a shipper gave a time, or that stood first, behind the one that lacks it."""
    found: list[Entry] = []
    for entry in ordered:
        if found and lacks_exception(found[-1].text) and is_exception(entry.text):
            found[-1] = joined(found[-1]._replace(tail=(entry.text,)))
        else:
            found.append(entry)
    return found


def _with_their_days(entries: list[Entry], notes: list[str]) -> list[Entry]:
    """The entries, with day and month in the order in which their dates are nearer to each other."""
    dated = [(one.at_ms, one.month_first_ms) for one in entries if one.at_ms is not None and one.clock in DATED]
    if all(month_first_ms is None for _, month_first_ms in dated):
        return entries
    day_first = [at_ms for at_ms, _ in dated]
    month_first = [at_ms if other is None else other for at_ms, other in dated]
    is_month_first = max(month_first) - min(month_first) < max(day_first) - min(day_first)
    if all(month_first_ms is not None for _, month_first_ms in dated):
        notes.append(MONTHS_FIRST if is_month_first else DAYS_FIRST)
    if not is_month_first:
        return entries
    return [one if one.month_first_ms is None else one._replace(at_ms=one.month_first_ms) for one in entries]
