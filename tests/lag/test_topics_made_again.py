"""What is said of the lag of a topic that was deleted and made again: nothing of the topic before counts."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.tables.lag.rows import Fetched, LogEnd
from tests.lag.homes import ends, group, write_home
from tests.views.view_rows import Views, rows_of

BEFORE = ends((1000, 0), (3000, 100), topic="again")
AFTER = ends((11_000, 5), (13_000, 60), topic="again")


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Views:
    home = tmp_path_factory.mktemp("again")
    stories = [
        group("committed before", "again", (2000, 40)),
        group("committed between", "again", (2000, 40), (10_000, 3)),
        group("committed since", "again", (2000, 40), (12_000, 3)),
        group("decided", "decided again", (2000, 40), (12_000, 3), client="c"),
        group("grown beyond", "by id", (2000, 40)),
        group("known again", "by id", (2000, 40), (12_000, 103)),
        group("unknown start", "other start", (2000, 40), (12_000, 3)),
    ]
    decided = [LogEnd("decided again", 0, 1000, 0, 95, 90, "fetch")]
    decided += [row._replace(topic="decided again", last_stable_offset=None) for row in AFTER]
    started = [
        LogEnd("other start", 0, 1000, 30, 100, 90, "fetch"),
        LogEnd("other start", 0, 11_000, None, 50, None, "list_offsets"),
    ]
    ids = [LogEnd("by id", 0, 3000, 0, 100, None, "fetch", "A"), LogEnd("by id", 0, 3500, 0, 100, None, "list_offsets")]
    ids.append(LogEnd("by id", 0, 11_000, 0, 105, None, "fetch", "B"))
    fetches = [Fetched("c", "/10.0.0.1", "decided again", 0, 1500, 40, "read_committed")]
    write_home(home, stories, [*BEFORE, *AFTER, *decided, *started, *ids], fetches)
    return Views(home)


def lag_now(ask: Views, group_id: str) -> tuple[int | None, int | None]:
    """What `lag` and the last moment of `partition_lag` say."""
    (row,) = ask.about("lag", group_id)
    return row.lag_records, max(ask.about("partition_lag", group_id), key=lambda one: one.at).lag_records


def test_a_commit_of_before_is_not_held_to_the_new_end(ask: Views) -> None:
    assert lag_now(ask, "committed before") == (None, None)
    (row,) = ask.about("lag", "committed before")
    assert (row.lag_ms, row.records_lost, row.is_moving, row.caught_up_at) == (None, None, None, None)


def test_which_topic_a_commit_is_of_that_came_before_its_first_known_end_is_not_known(ask: Views) -> None:
    assert lag_now(ask, "committed between") == (None, None)


def test_a_commit_since_then_counts(ask: Views) -> None:
    assert lag_now(ask, "committed since") == (57, 57)


def test_a_moment_of_the_log_before_does_not_date_an_offset_of_the_new_one(ask: Views) -> None:
    """The log ended at 3 before its first known end: how old the record is is not known."""
    (row,) = ask.about("lag", "committed since")
    assert (row.lag_ms, row.caught_up_at) == (None, None)


def test_a_last_stable_offset_of_before_is_none_of_the_new_log(ask: Views) -> None:
    assert lag_now(ask, "decided") == (None, None)


def test_a_log_start_of_before_is_none_of_the_new_log(ask: Views) -> None:
    (row,) = ask.about("lag", "unknown start")
    assert (row.log_start_offset, row.records_lost) == (None, None)
    assert lag_now(ask, "unknown start") == (47, 47)


def test_just_before_the_new_log_is_known_the_lag_is_that_of_the_log_before(ask: Views) -> None:
    (row,) = [one for one in ask.about("partition_lag", "committed before") if one.at == 11_000]
    assert (row.lag_before_records, row.lag_records, row.end_offset, row.committed_offset) == (60, None, 5, None)


def test_no_record_is_lost_by_a_commit_of_which_it_is_not_known_whose_it_is(tmp_path: Path) -> None:
    """It came after the last known end of the log before, which began at 50, and may be of the new one."""
    reported = [LogEnd("t", 0, 1000, 50, 90, None, "sample"), LogEnd("t", 0, 3000, 50, 100, None, "sample")]
    reported += [LogEnd("t", 0, 13_000, 0, 40, None, "sample")]
    write_home(tmp_path, [group("g", "t", (2000, 80), (7000, 20))], reported)
    assert rows_of(tmp_path, "records_lost") == []
    found = {row.at: (row.committed_offset, row.lag_records) for row in rows_of(tmp_path, "partition_lag")}
    assert found == {1000: (None, None), 2000: (80, 15), 3000: (80, 20), 7000: (None, None), 13_000: (None, None)}


def test_another_id_is_another_log_although_its_end_is_no_lower(ask: Views) -> None:
    assert lag_now(ask, "grown beyond") == (None, None)
    assert lag_now(ask, "known again") == (2, 2)


def test_a_log_of_another_id_dates_nothing_though_an_end_between_has_none(tmp_path: Path) -> None:
    """The end of 4 s is of either log: where the commit is may be a record of the first."""
    reported = [LogEnd("t", 0, 3000, 0, 90, None, "sample", "A"), LogEnd("t", 0, 4000, 0, 95, None, "list_offsets")]
    reported += [
        LogEnd("t", 0, 11_000, 0, 105, None, "sample", "B"),
        LogEnd("t", 0, 13_000, 0, 140, None, "sample", "B"),
    ]
    write_home(tmp_path, [group("g", "t", (2000, 40), (12_000, 100))], reported)
    (row,) = rows_of(tmp_path, "lag")
    assert (row.lag_records, row.lag_ms, row.caught_up_at, row.records_lost) == (40, None, None, 0)
