"""What each rebalance cost a group, beside what its producer and its consumers recorded themselves."""

from __future__ import annotations

from rollcall.answers.views.rebalance_costs import BEFORE_MS
from tests.peers_lag.conftest import REBALANCED, Played
from tests.peers_lag.play import RECORDS_PER_S
from tests.views.view_rows import Row

WITHIN, WITHIN_MS = 0.05, 30
"""A part of the lag, and the time that a broker takes to answer."""


def test_the_cost_of_each_rebalance_is_what_producer_and_consumers_recorded(played: Played) -> None:
    compared = dict.fromkeys(REBALANCED, 0)
    for row in costs(played):
        from_ms = row.started_at if row.silent_since is None else row.silent_since
        assert row.caught_up_at is not None, row
        near(row.lag_before, highest_lag(played, row.group_id, row.started_at - BEFORE_MS, row.started_at), row)
        near(row.lag_peak, highest_lag(played, row.group_id, from_ms, row.caught_up_at), row)
        compared[row.group_id] += 1
    assert min(compared.values()) > 0


def highest_lag(played: Played, group: str, from_ms: int, to_ms: int) -> tuple[float, float]:
    """At least and at most: by what was appended, or by ends that are known at the moments of their reports only.

    A producer that waited and then caught up between two reports makes the difference.
    """
    true = played.own.highest_lag(group, from_ms, to_ms)
    known = played.own.highest_lag(group, from_ms, to_ms, played.known)
    return min(true[0], known[0]), max(true[1], known[1])


def near(found: int, bounds: tuple[float, float], row: Row) -> None:
    """Within 5 % of what it was at least and at most, and what is produced while a broker answers."""
    (least, most), slack = bounds, RECORDS_PER_S * WITHIN_MS / 1000
    assert (1 - WITHIN) * least - slack <= found <= (1 + WITHIN) * most + slack, (found, bounds, row)


def costs(played: Played) -> list[Row]:
    """Of the rebalances since anything was done to the groups."""
    return [row for row in played.views.rows("rebalance_costs") if row.started_at >= played.acted_ms]
