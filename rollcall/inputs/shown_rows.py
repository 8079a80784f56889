"""Effects of printed lines as rows of a home: each with its line.

Knows rows. Must not know lines.
"""

from __future__ import annotations

from collections.abc import Iterable

from rollcall.inputs.printed.logged_rebalances import ShownEffect
from rollcall.schemas.effect_rows import EffectRow, row_of


def rows_of(effects: Iterable[ShownEffect], first_seq: int) -> list[EffectRow]:
    """Return rows of effects, numbered in their order. A line stands where that of a request would."""
    rows = []
    for seq, (effect, shown_by) in enumerate(effects, first_seq):
        row = row_of(effect, seq)
        row.request_id = shown_by or None
        rows.append(row)
    return rows
