"""What costs of rebalances are held to on a real broker: ends known at some moments, of a producer's own records."""

from __future__ import annotations

from tests.peers_lag.known_ends import ANSWER_WITHIN_MS, KnownEnds
from tests.peers_lag.own_records import OwnRecords

PLACE = ("t", 0)
BURST_MS = 1_900


def records() -> OwnRecords:
    """A record at 1000, and ten at once."""
    own = OwnRecords()
    own.add_appends(f"t 0 {offset} {at_ms}" for offset, at_ms in enumerate([1_000, *[BURST_MS] * 10]))
    own.add_progress("g", [{"sent_ms": 1_000, "at_ms": 1_000, "offsets": {"t/0": 1}}])
    return own


def test_a_burst_between_two_reports_counts_as_growth_all_the_time() -> None:
    own = records()
    known = KnownEnds(own, [(PLACE, 1_000, 1), (PLACE, 2_000, 11)])
    assert [own.lag("g", at_ms) for at_ms in (1_500, 2_000)] == [0, 10]
    assert [own.lag("g", at_ms, ends=known) for at_ms in (1_500, 2_000)] == [5, 10]
    assert own.highest_lag("g", 1_000, 1_500, known) == (5, 5)


def test_a_report_counts_as_far_as_the_log_stood_so_about_then() -> None:
    late, early = BURST_MS + ANSWER_WITHIN_MS, BURST_MS - ANSWER_WITHIN_MS
    for at_ms, reported, counts in [
        (late - 1, 1, 1),
        (late, 1, 11),
        (early, 99, 11),
        (early - 1, 99, 1),
        (late, 7, 11),
    ]:
        assert KnownEnds(records(), [(PLACE, at_ms, reported)]).end(PLACE, at_ms) == counts, at_ms
