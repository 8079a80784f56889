"""What a rebalance cost, of one group whose member expired, in literal numbers."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rollcall.tables.lag.rows import LagRows
from rollcall.tables.lag_rows import append_lag
from tests.lag.homes import ends
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.views.view_rows import Row, rows_of


def cost_of_an_expiry(home: Path, session_timeout_ms: int) -> Row:
    """b was a member from 3 s on and expired at 13.1 s, as a session of 10 s does. A record comes each 100 ms."""
    story = two_members("expired")
    story.commit(3200, "a", {"t-0": 30})
    for at_ms in (6000, 9000, 12_000):
        story.heartbeat(at_ms, "a")
    story.let_time_pass(13_100)
    story.join(14_000, "a")
    story.sync(14_100, "a", {"a": ["t-0", "t-1"]})
    story.commit(15_000, "a", {"t-0": 150})
    reported = f'"session_timeout_ms":{session_timeout_ms}'
    rows = [
        msgspec.structs.replace(row, detail=row.detail and row.detail.replace('"session_timeout_ms":10000', reported))
        for row in story.rows
    ]
    write_effects(home, {"expired": rows})
    append_lag(home, LagRows(ends((1000, 10), (16_000, 160))))
    return next(row for row in rows_of(home, "rebalance_costs") if row.to_generation_id == 3)


def test_the_cost_of_an_expiry_counts_from_when_the_member_fell_silent(tmp_path: Path) -> None:
    row = cost_of_an_expiry(tmp_path, 10_000)
    assert (row.silent_since, row.started_at, row.caught_up_after_ms) == (3100, 13_100, 11_900)


def test_no_member_was_silent_before_it_joined(tmp_path: Path) -> None:
    """The offsets topic does not hold a consumer group's session timeout: it is taken to be as brokers are shipped."""
    row = cost_of_an_expiry(tmp_path, 45_000)
    assert (row.silent_since, row.lag_before_silence, row.started_at) == (None, None, 13_100)
