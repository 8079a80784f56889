"""What a writer tells of a batch."""

from __future__ import annotations

from typing import NamedTuple


class BatchResult(NamedTuple):
    """What a batch wrote; zeros also where it was in the tables already."""

    batch_id: int
    effects: int
    quarantined: int


class BatchTooLarge(ValueError):
    """A batch with more effects than the writer takes; the text says what to do."""
