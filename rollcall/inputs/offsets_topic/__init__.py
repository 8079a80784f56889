"""The history of a cluster's groups only from its `__consumer_offsets` topic.

    records/    a record's bytes, and the declared shape of each type
    dumps/      files that hold the topic's records, in the formats that Kafka's own tools write
    history/    one group's records in order, folded into the facts of its history

Knows Kafka's records and the effects that they prove or suggest; the rules stand in docs/offsets-topic.md. Must not
know Spark, a table, a clock or how a history is shown.
"""

from __future__ import annotations

import re

TOPIC = "__consumer_offsets"
SOURCE = "offsets-topic"
"""Its name as a source, in the quarantine."""


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
