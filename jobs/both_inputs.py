"""What a replay and a shadow of both inputs share: the rows of a request log and of the topic in one effects table.

Knows the effects table's columns and what is said of a merging. Must not know by which rule facts are merged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from offsets_topic.beside_log.facts import Difference
from offsets_topic.topic_names import ID_AS_TOPIC, named

SHOWN_DIFFERENCES = 5
AFTER_THE_LOGS = 1 << 40
"""Facts of one moment: those of the topic come after those of the log."""
NamesOf = Callable[[Iterable[str]], Mapping[str, str]]
"""Gives names by topic id, of those ids that it knows."""
_Rows = TypeVar("_Rows", pa.Table, pa.RecordBatch)


class BothMerged(msgspec.Struct):
    """What became of the facts of both inputs."""

    log_facts: int = 0
    """How many facts of the log's are in the history."""
    topic_facts: int = 0
    """How many of the topic's are."""
    left_out: int = 0
    """Facts that the log has concluded, in whose place the topic's stand."""
    compared: int = 0
    """How many things both tell."""
    disagreements: int = 0
    """In how many of them they differ."""
    differences: list[tuple[str, Difference]] = []
    """The first of these, each with its group."""

    def note(self, group_id: str, compared: int, differences: Iterable[Difference]) -> None:
        """What both tell of a group."""
        self.compared += compared
        for one in differences:
            self.disagreements += 1
            if len(self.differences) < SHOWN_DIFFERENCES:
                self.differences.append((group_id, one))


def lines_told(merged: BothMerged) -> Iterator[str]:
    """How many facts came from which input, and whether the two ever disagree."""
    yield (
        f"the history has {merged.log_facts} facts of the log and {merged.topic_facts} that the topic alone tells; "
        f"{merged.left_out} that the log concluded gave way to records"
    )
    if not merged.disagreements:
        yield f"  both tell {merged.compared} things, and they never disagree"
        return
    yield f"  both tell {merged.compared} things, and they disagree in {merged.disagreements}:"
    for group_id, one in merged.differences:
        yield f"    {group_id}: {one.what}: {one.log} by the log, {one.topic} by the topic"


def after_the_logs(facts: _Rows) -> _Rows:
    """Facts of the topic, numbered so that they come after those of the log of the same moment."""
    return facts.set_column(facts.schema.get_field_index("seq"), "seq", pc.add(facts["seq"], AFTER_THE_LOGS))


def with_names(facts: _Rows, names: NamesOf) -> _Rows:
    """Facts of the log, which has ids of some topics alone, with the names that others give them."""
    column = facts.schema.get_field_index("detail")
    if not pc.any(pc.match_substring_regex(facts["detail"], ID_AS_TOPIC)).as_py():
        return facts
    texts = facts["detail"].to_pylist()
    found = names(sorted({topic_id for text in texts for topic_id in re.findall(ID_AS_TOPIC, text or "")}))
    details = [text and named(text, found) for text in texts]
    return facts.set_column(column, "detail", pa.array(details, facts.schema.field(column).type))
