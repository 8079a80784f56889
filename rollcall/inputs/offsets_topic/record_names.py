"""The names of the topic's records, as evidence has them: `__consumer_offsets-7@1234`, the partition and the offset.

Knows this form. Must not know what a record says.
"""

from __future__ import annotations

import re

from rollcall.inputs.offsets_topic import TOPIC

_RECORD = re.compile(rf"{TOPIC}-\d+@\d+(?=\Z|, )")


def name_of_record(partition: int, offset: int) -> str:
    return f"{TOPIC}-{partition}@{offset}"


def shown_by_both(recorded: str, line: str) -> str:
    """Return what shows a fact that a printed line knows better than its record; either may be empty."""
    return ", ".join(filter(None, (recorded, line)))


def record_in(shown_by: str) -> str:
    """Return the record in what shows a fact, where a line may follow it; empty if no record shows it."""
    found = _RECORD.match(shown_by)
    return found[0] if found else ""
