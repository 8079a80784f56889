"""What is kept of reported ends and fetches: literal moments and offsets, and what holds for any order of news."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rollcall.tables.lag.kept import FETCHED_EVERY_MS, LATE_MS, KeptEnds, KeptFetches
from rollcall.tables.lag.rows import Fetched, LogEnd


def end(at_ms: int, end_offset: int | None, start: int | None = 0, stable: int | None = None) -> LogEnd:
    stable = end_offset if stable is None else stable
    return LogEnd("t", 0, at_ms, start, end_offset, stable, "fetch")


def fetched(at_ms: int, offset: int) -> Fetched:
    return Fetched("c", "/10.0.0.1", "t", 0, at_ms, offset, "read_committed")


def test_what_changed_is_a_row() -> None:
    kept = KeptEnds()
    assert kept.take(end(1000, 10)) == [end(1000, 10)]
    assert kept.take(end(2000, 12)) == [end(2000, 12)]
    assert kept.rest() == []


def test_a_time_without_a_change_keeps_its_last_moment() -> None:
    kept = KeptEnds()
    kept.take(end(1000, 10))
    assert kept.take(end(2000, 10)) == []
    assert kept.take(end(3000, 10)) == []
    assert kept.take(end(4000, 11)) == [end(3000, 10), end(4000, 11)]


def test_a_partition_that_an_answer_leaves_out_stood_where_it_was_reported() -> None:
    kept = KeptEnds()
    kept.confirm("t", 0, 500)
    kept.take(end(1000, 10))
    kept.confirm("t", 0, 2500)
    assert kept.rest() == [end(2500, 10)]
    assert kept.rest() == []


def test_an_end_below_a_younger_one_is_late_news() -> None:
    kept = KeptEnds()
    kept.take(end(1000, 10))
    assert kept.take(end(1000 + LATE_MS - 1, 9)) == []
    assert kept.take(end(900, 11)) == [end(1000, 11)]


def test_a_topic_made_again_begins_anew() -> None:
    kept = KeptEnds()
    kept.take(end(1000, 10, start=4))
    assert kept.take(end(1000 + LATE_MS, 2, start=0)) == [end(1000 + LATE_MS, 2, start=0)]
    assert kept.take(end(9000, 3, start=0)) == [end(9000, 3, start=0)]


def test_a_log_start_may_be_reported_alone_and_moves_on_only() -> None:
    kept = KeptEnds()
    assert kept.take(end(1000, None, start=5)) == [end(1000, None, start=5)]
    assert kept.take(end(1100, None, start=5)) == []
    assert kept.take(end(1200, 20, start=None)) == [end(1200, 20, start=5)]
    assert kept.take(end(1300, 20, start=3)) == []


def test_a_transaction_that_ends_is_a_change() -> None:
    kept = KeptEnds()
    kept.take(end(1000, 10, stable=4))
    assert kept.take(end(2000, 10, stable=10)) == [end(2000, 10, stable=10)]
    assert kept.take(end(2100, 10, stable=8)) == []


@given(st.lists(st.tuples(st.integers(1, 3000), st.integers(0, 50)), min_size=1))
def test_the_rows_tell_every_end_that_was_reported(news: list[tuple[int, int]]) -> None:
    kept, rows, at_ms, top, reported = KeptEnds(), list[LogEnd](), 0, 0, dict[int, int]()
    for step_ms, grown in news:
        at_ms, top = at_ms + step_ms, top + grown
        reported[at_ms] = top
        rows += kept.take(end(at_ms, top))
    rows += kept.rest()
    assert [row.at_ms for row in rows] == sorted(row.at_ms for row in rows)
    for at, offset in reported.items():
        before = [row.end_offset for row in rows if row.at_ms <= at][-1]
        after = next(row.end_offset for row in rows if row.at_ms >= at)
        assert before == offset or after == offset
        assert not (before != offset and after != offset)


def test_a_fetched_offset_is_kept_once_a_second_and_its_last_one_too() -> None:
    kept = KeptFetches()
    assert kept.take(fetched(1000, 5)) == [fetched(1000, 5)]
    assert kept.take(fetched(1400, 6)) == []
    assert kept.take(fetched(1000 + FETCHED_EVERY_MS, 7)) == [fetched(2000, 7)]
    assert kept.take(fetched(3000, 7)) == []
    assert kept.take(fetched(2500, 8)) == []
    assert kept.rest() == [fetched(2500, 8)]
    assert kept.rest() == []


def test_what_was_held_back_before_a_silence_is_kept() -> None:
    kept = KeptFetches()
    kept.take(fetched(1000, 5))
    kept.take(fetched(1400, 6))
    assert kept.take(fetched(41_400, 7)) == [fetched(1400, 6), fetched(41_400, 7)]


def test_an_end_reported_alone_says_nothing_of_the_last_stable_offset_unless_a_transaction_is_open() -> None:
    kept = KeptEnds()
    kept.take(LogEnd("t", 0, 1000, 0, 10, 10, "fetch"))
    (row,) = kept.take(LogEnd("t", 0, 2000, None, 20, None, "list_offsets"))
    assert (row.end_offset, row.last_stable_offset) == (20, None)
    kept.take(LogEnd("t", 0, 3000, 0, 30, 25, "fetch"))
    (row,) = kept.take(LogEnd("t", 0, 4000, None, 40, None, "list_offsets"))
    assert (row.end_offset, row.last_stable_offset) == (40, 25)


def of_topic(topic_id: str | None, at_ms: int, end_offset: int) -> LogEnd:
    return end(at_ms, end_offset)._replace(topic_id=topic_id)


def test_another_id_is_another_log_whatever_its_end() -> None:
    kept = KeptEnds()
    kept.take(of_topic("A", 1000, 10))
    assert kept.take(of_topic("B", 1100, 3)) == [of_topic("B", 1100, 3)]
    assert kept.take(of_topic("A", 1200, 11)) == []
    kept.confirm("t", 0, 1300, "A")
    assert kept.rest() == []
    assert kept.take(of_topic("B", 9000, 2)) == [of_topic("B", 9000, 2)]


def test_a_report_without_an_id_does_not_have_the_one_before() -> None:
    kept = KeptEnds()
    kept.take(of_topic("A", 1000, 10))
    assert kept.take(of_topic(None, 2000, 12)) == [of_topic(None, 2000, 12)]
    assert kept.take(of_topic("A", 3000, 12)) == []
    assert kept.take(of_topic("B", 4000, 12)) == [of_topic("A", 3000, 12), of_topic("B", 4000, 12)]
