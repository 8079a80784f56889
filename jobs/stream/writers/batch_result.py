"""A writer's result for a batch. Knows no table."""

from __future__ import annotations

from typing import NamedTuple

from rollcall.schemas.effect_rows import Wait


class BatchResult(NamedTuple):
    """How many rows a batch has."""

    batch_id: int
    effects: int
    """Rows for the effects table, also if an earlier run of this batch wrote them."""
    quarantined: int
    """Rows for the quarantine, in the same way."""
    put_off: tuple[str, ...] = ()
    """The groups whose turn reached its limit, so that their other requests go to the next batch."""
    waits: tuple[Wait, ...] = ()
    """Until when the groups of the batch wait, if the workers say it."""


class BatchTooLarge(ValueError):
    """A batch with more effects than the writer takes; the text says what to do."""
