"""Two replays of one log beside each other. Knows a home's tables; must not know who made them."""

from __future__ import annotations

from collections import Counter

from deltalake import DeltaTable

from rollcall.shown.replay_report import Replayed
from rollcall.tables.home import Home

WRITTEN_AT = "at_ms"
"""When a line was put into the quarantine is the clock's."""


def assert_same_tables(ours: Home, reported: Replayed, theirs: Home, also: Replayed) -> None:
    """Every row of every table, and all that is reported."""
    assert also.tally == reported.tally
    assert also.inferred == reported.inferred
    assert (also.parity.equal, also.parity.different) == (reported.parity.equal, reported.parity.different)
    for mine, other in ((ours.effects, theirs.effects), (ours.requests, theirs.requests)):
        assert rows_of(mine) == rows_of(other)
    assert rows_of(ours.quarantine, WRITTEN_AT) == rows_of(theirs.quarantine, WRITTEN_AT)
    for mine, other in ((ours.log_ends, theirs.log_ends), (ours.fetches, theirs.fetches)):
        assert DeltaTable.is_deltatable(mine) == DeltaTable.is_deltatable(other)
        assert not DeltaTable.is_deltatable(mine) or rows_of(mine) == rows_of(other) != Counter()


def rows_of(place: str, *left_out: str) -> Counter[tuple[object, ...]]:
    table = DeltaTable(place).to_pyarrow_table()
    columns = [table[name].to_pylist() for name in sorted(table.column_names) if name not in left_out]
    return Counter(zip(*columns, strict=True))
