"""The commits of a group that a request log has, so that the topic's are left out.

Knows the rule for commits of docs/two-inputs.md. Must not know members.
"""

from __future__ import annotations

import msgspec

from rollcall.history.facts import Fact
from rollcall.inputs.tolerances import IN_TRANSACTION_WITHIN_MS, SAME_FACT_WITHIN_MS
from rollcall.schemas.effects import OffsetsCommitted


class LoggedCommits(msgspec.Struct):
    """A group's stored offsets by the log, as far back as commits of the topic may still need them."""

    offsets: dict[str, list[int]] = {}
    """By the offset and its partition, when it was committed."""

    def note(self, fact: Fact) -> None:
        """A commit by the log."""
        for key in _offsets_of(fact):
            self.offsets.setdefault(key, []).append(fact.at_ms)

    def has(self, fact: Fact) -> bool:
        """Whether the log also has an offset of a commit in the topic."""
        near = range(fact.at_ms - IN_TRANSACTION_WITHIN_MS, fact.at_ms + SAME_FACT_WITHIN_MS + 1)
        return any(at_ms in near for key in _offsets_of(fact) for at_ms in self.offsets.get(key, ()))

    def forget(self, before_ms: int) -> None:
        """Forgets commits before a moment: none of the topic comes from before it."""
        from_ms = before_ms - IN_TRANSACTION_WITHIN_MS
        kept = {key: [at_ms for at_ms in times if at_ms >= from_ms] for key, times in self.offsets.items()}
        self.offsets = {key: times for key, times in kept.items() if times}


def _offsets_of(fact: Fact) -> list[str]:
    assert isinstance(fact.content, OffsetsCommitted)
    return [f"{one.committed_offset} of {one.topic}-{one.partition}" for one in fact.content.offsets]
