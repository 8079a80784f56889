"""Lines that a client may have written: an id or a reason with line breaks in it, which a broker prints as it is.

A broker ends each line with the class that printed it. A line that lacks this mark, whole lines behind it, and then a
rest without a time or level that has the mark: the rest ends the first line, and what stands between came out of an
id. None of it is believed. An id may have the mark in it as well, so that the first line seems whole: then nothing is
believed that ids of one line can have written before the rest. Knows entries. Must not know what they say.
"""

from __future__ import annotations

from collections.abc import Sequence

from app_logs.entries import Clock, Entry

OF_BROKERS = ".coordinator."
"""What the class of every line of a broker about groups has."""
IDS_BYTES = 3 * 32_767
"""How long the ids and the reason in one line can be, as the protocol has them."""


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
    return entry.clock is not Clock.NONE and not entry.logger


def _closes(entry: Entry) -> bool:
    """Whether a line is the end of an earlier one."""
    return entry.clock is Clock.NONE and not entry.level and bool(entry.logger)


def ends_alone(entries: Sequence[Entry]) -> int:
    """How many ends of a coordinator's lines stand alone in a line: a paste broke these lines."""
    return sum(_closes(entry) and OF_BROKERS in entry.logger for entry in entries)


def _within_reach(before: Sequence[Entry]) -> int:
    """The first entry that ids of one line may have written, if its rest comes behind the given ones."""
    reach = IDS_BYTES
    for place in range(len(before) - 1, -1, -1):
        reach -= len(before[place].text)
        if reach < 0:
            return place + 1
    return 0


def marked(entries: Sequence[Entry]) -> list[Entry]:
    """The entries in their order, those suspect that may be forged; a line broken in two parts is put together."""
    found: list[Entry] = []
    open_at: int | None = None
    for entry in entries:
        if not _closes(entry) or (open_at is None and OF_BROKERS not in entry.logger):
            if _opens(entry):
                open_at = len(found)
            found.append(entry)
            continue
        if open_at is not None and open_at == len(found) - 1:
            first = found[open_at]
            # Behind another line without its end this may be that one's, and what it closes be written by a client.
            is_suspect = open_at > 0 and _opens(found[open_at - 1])
            text = f"{first.text}{entry.text}"
            found[open_at] = first._replace(text=text, logger=entry.logger, is_suspect=is_suspect)
        else:
            open_at = _within_reach(found) if open_at is None else open_at
            found.append(entry)
            found[open_at:] = [one._replace(is_suspect=True) for one in found[open_at:]]
        open_at = None
    return found
