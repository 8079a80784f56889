"""Lines that a client may have written: an id or a reason with line breaks in it, which a broker prints as it is.

A broker ends each line with the class that printed it. A line that lacks this mark, whole lines behind it, and then a
rest without a time or level that has the mark: the rest ends the first line, and what stands between came out of an
id. None of it is believed. An id may have the mark in it as well, so that the first line seems whole: then nothing is
believed that ids of one line can have written before the rest. Where a line only lacks its end, what ids can have
written behind it may be forged. Knows entries. Must not know what they say.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate

from rollcall.inputs.printed.lines.entries import Clock, Entry

OF_BROKERS = ".coordinator."
"""What the class of every line of a broker about groups has."""
IDS_BYTES = 3 * 32_767
"""How long the ids and the reason in one line can be, as the protocol has them."""
Span = tuple[int, int]
"""The first entry, and the one behind the last."""


def still_open(entries: Sequence[Entry]) -> int | None:
    """The place of the entry whose end may still come behind the given ones; None: each has its end."""
    open_at: int | None = None
    for place, entry in enumerate(entries):
        if _opens(entry):
            open_at = place
        elif _closes(entry):
            open_at = None
    return open_at


def _opens(entry: Entry) -> bool:
    """Whether a line lacks its end, which may come in a later one."""
    return entry.clock is not Clock.NONE and not entry.logger and not entry.message


def _closes(entry: Entry) -> bool:
    """Whether a line is the end of an earlier one."""
    return entry.clock is Clock.NONE and not entry.level and bool(entry.logger) and not entry.message


def ends_alone(entries: Sequence[Entry]) -> int:
    """How many ends of a coordinator's lines have a line of their own: a paste broke these lines."""
    return sum(_closes(entry) and OF_BROKERS in entry.logger for entry in entries)


def marked(entries: Sequence[Entry]) -> list[Entry]:
    """The entries in their order, those suspect that may be forged; a line broken in two parts is put together."""
    found: list[Entry] = []
    suspect: list[Span] = []
    before = [0]
    """How many characters the entries before each one have."""
    open_at: int | None = None
    for entry in entries:
        place = len(found)
        if not _closes(entry) or (open_at is None and OF_BROKERS not in entry.logger):
            open_at = place if _opens(entry) else open_at
        elif open_at == place - 1:
            first = found.pop()
            before.pop()
            # Behind another line without its end this may be that one's, and what it closes be written by a client.
            if open_at > 0 and _opens(found[open_at - 1]):
                suspect.append((open_at, place))
            entry = first._replace(text=f"{first.text}{entry.text}", logger=entry.logger)
            open_at = None
        else:
            first_at = bisect_left(before, before[place] - IDS_BYTES) if open_at is None else open_at
            suspect.append((first_at, place + 1))
            open_at = None
        found.append(entry)
        before.append(before[-1] + len(entry.text))
    spans = [*_behind_open_lines(found, before)] if any(OF_BROKERS in entry.logger for entry in found) else []
    for place in within(suspect, len(found)):
        found[place] = found[place]._replace(is_suspect=True)
    for place in within(spans, len(found)):
        found[place] = found[place]._replace(may_be_forged=True)
    return found


def _behind_open_lines(entries: Sequence[Entry], before: Sequence[int]) -> Iterator[Span]:
    """What ids of one line can have written behind a line without its end."""
    for place, entry in enumerate(entries):
        if _opens(entry):
            yield place + 1, bisect_right(before, before[place + 1] + IDS_BYTES) - 1


def within(spans: Iterable[Span], length: int) -> Iterator[int]:
    """The places within any of the spans."""
    changes = [0] * (length + 1)
    for first, end in spans:
        changes[first] += 1
        changes[end] -= 1
    return (place for place, depth in enumerate(accumulate(changes[:-1])) if depth)
