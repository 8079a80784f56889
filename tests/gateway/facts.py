"""Effects of the core as the facts that a gateway reads of them. Knows the columns; must not know who reads."""

from __future__ import annotations

from collections.abc import Iterable

from gateway.tables.effects_table import KINDS, Fact
from schemas.effect_rows import row_of
from schemas.effects import Effect


def facts_of(group_id: str, effects: Iterable[Effect], first_seq: int = 0) -> list[Fact]:
    """The facts that a gateway reads, numbered in their order from first_seq."""
    found = []
    for seq, effect in enumerate(effects, first_seq):
        row = row_of(effect, seq)
        if row.effect in KINDS:
            kind = next(name for name in KINDS if name == row.effect)
            found.append(Fact(group_id, kind, effect.at_ms, seq, row.request_id, row.cause, row.detail, row.member_id))
    return found
