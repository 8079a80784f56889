"""What a writer reports about a batch. Knows no table."""

from __future__ import annotations

from typing import NamedTuple


class BatchResult(NamedTuple):
    """How many rows a batch has."""

    batch_id: int
    effects: int
    """Rows for the effects table, also where a run before this one wrote them."""
    quarantined: int
    """Rows for the quarantine, likewise."""
    put_off: tuple[str, ...] = ()
    """The groups whose turn had cost what a turn may, so that the rest of it goes on in the next batch."""


class BatchTooLarge(ValueError):
    """A batch with more effects than the writer takes; the text says what to do."""
