"""What is counted where a request log and the topic are merged into one history, and how it is reported.

Must not know by which rule facts are merged.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rollcall.inputs.offsets_topic.beside_log.choice import Difference

SHOWN_DIFFERENCES = 5


class BothMerged(msgspec.Struct):
    """Counts of the merged facts of both inputs."""

    log_facts: int = 0
    """Facts of the log in the history."""
    topic_facts: int = 0
    """Facts of the topic in the history."""
    left_out: int = 0
    """Facts that the log inferred and the topic's records replaced."""
    compared: int = 0
    """Details of generations that both inputs have."""
    disagreements: int = 0
    """Those that differ."""
    differences: list[tuple[str, Difference]] = []
    """The first of these, each with its group."""

    def note(self, group_id: str, compared: int, differences: Iterable[Difference]) -> None:
        """Counts the comparison of one group."""
        self.compared += compared
        for one in differences:
            self.disagreements += 1
            if len(self.differences) < SHOWN_DIFFERENCES:
                self.differences.append((group_id, one))

    def add(self, other: BothMerged) -> None:
        """Adds the counts of other groups."""
        self.log_facts += other.log_facts
        self.topic_facts += other.topic_facts
        self.left_out += other.left_out
        self.compared += other.compared
        self.disagreements += other.disagreements
        self.differences = [*self.differences, *other.differences][:SHOWN_DIFFERENCES]


def merging_lines(merged: BothMerged) -> Iterator[str]:
    """How many facts came from which input, and whether the two ever disagree."""
    yield (
        f"the history has {merged.log_facts} facts of the log and {merged.topic_facts} that only the topic has; "
        f"{merged.left_out} that the log inferred were replaced by records"
    )
    if not merged.disagreements:
        yield f"  both name {merged.compared} details of generations, and they never disagree"
        return
    yield f"  both name {merged.compared} details of generations, and they disagree in {merged.disagreements}:"
    for group_id, one in merged.differences:
        yield f"    {group_id}: {one.what}: {one.log} by the log, {one.topic} by the topic"


def lines_beside(merged: BothMerged) -> Iterator[str]:
    """What a printed log has added to the topic's history."""
    yield (
        f"the history has {merged.topic_facts} facts of the topic; the lines say of {merged.compared} of its "
        "generations when and why each began"
    )
