"""Effects of the core as the facts that a gateway reads of them. Knows the columns; must not know who reads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import duckdb
import pyarrow as pa

from rollcall.schemas.effect_names import LASTING
from rollcall.schemas.effect_rows import row_of
from rollcall.schemas.effects import Effect
from rollcall.serve.gateway.tables.effects_table import KINDS
from rollcall.tables.lasting_facts import QUERY, Fact


def facts_of(group_id: str, effects: Iterable[Effect], first_seq: int = 0) -> list[Fact]:
    """The facts that a gateway reads, numbered in their order from first_seq."""
    found = []
    for seq, effect in enumerate(effects, first_seq):
        row = row_of(effect, seq)
        if row.effect in KINDS:
            kind = next(name for name in KINDS if name == row.effect)
            found.append(Fact(group_id, kind, effect.at_ms, seq, row.member_id, row.detail, row.request_id, row.cause))
    return found


def lasting(facts: Sequence[Fact]) -> list[Fact]:
    """Those that say how things are now, as a home that has only these, in any order of its files, gives them."""
    columns = {name: [getattr(fact, name) for fact in facts] for name in Fact._fields[:6]}
    with duckdb.connect() as database:
        database.register("given", pa.table(columns))
        names = tuple(str(name) for name in LASTING)
        asked = QUERY.format(facts=f"SELECT * FROM given WHERE effect IN {names}")
        found = [Fact(*row) for row in database.execute(asked).fetchall()]
    return sorted(found, key=lambda fact: (fact.at_ms, fact.seq))
