"""An effect with its evidence. Knows the shape; must not know a line, a record or a request."""

from __future__ import annotations

from typing import NamedTuple

from rollcall.schemas.effects import Effect


class ShownEffect(NamedTuple):
    """An effect, and what shows it."""

    effect: Effect
    shown_by: str
    """`server.log:12`, as the id of a request of a log, or `__consumer_offsets-7@1234`; empty if nothing does."""
