"""The view `lag`, and what people read of it, where commits may be missing."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from random import Random

import pytest

from rollcall.cli.lag import answer_lag
from rollcall.serve.alerts.kinds import Found
from rollcall.serve.alerts.reason import reason_of
from rollcall.serve.page.history import History
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LogEnd
from tests.lag.homes import ends, write_home
from tests.lag.silences import GROWING, beats, random_life, two_partitions
from tests.page.asking import asked
from tests.views.view_rows import Row, rows_of


def lag_now(tmp_path: Path, *moves: tuple[int, int | None], log_end: int = 400) -> Row:
    """Of partition 0, whose log ends at log_end at 150 s and was at 300 for a minute; committed at 30 s: 300."""
    reported = [*ends((5000, 0), (60_000, 310), (150_000, log_end)), LogEnd("t", 0, 150_000, 350, None, None, "sample")]
    write_home(tmp_path, [two_partitions(*moves)], reported)
    (row,) = [row for row in rows_of(tmp_path, "lag") if row.partition == 0]
    return row


def test_whether_a_group_moves_is_not_known_while_nobody_records(tmp_path: Path) -> None:
    assert lag_now(tmp_path).is_moving is None


def test_nor_up_to_when_it_has_caught_up_and_how_old_its_lag_is(tmp_path: Path) -> None:
    row = lag_now(tmp_path)
    assert (row.caught_up_at, row.lag_ms, row.records_lost) == (None, None, None)
    assert (row.committed_offset, row.lag_records) == (300, 50)


def test_nor_is_any_of_it_known_afterwards_until_the_next_commit(tmp_path: Path) -> None:
    row = lag_now(tmp_path, *beats(81_000, 149_000))
    assert (row.is_moving, row.caught_up_at, row.lag_ms) == (None, None, None)


def test_all_of_it_is_known_again_with_the_next_commit(tmp_path: Path) -> None:
    row = lag_now(tmp_path, *beats(81_000, 146_000), (146_000, 355))
    assert (row.is_moving, row.lag_records, row.records_lost) == (True, 45, 0)
    assert row.lag_ms == 150_000 - 60_000 - 90_000 * 45 // 90


def test_all_of_it_is_known_of_a_member_that_is_heard_of_all_the_time(tmp_path: Path) -> None:
    row = lag_now(tmp_path, *beats(40_000, 149_000))
    assert (row.is_moving, row.lag_records, row.records_lost) == (False, 50, 50)
    assert row.caught_up_at is not None


# ---------------------------------------------------------------- what people read of it


@pytest.fixture(params=["silent", "heard"])
def behind(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, bool]:
    """A home whose group is 50 records behind, and whether that is an upper bound."""
    is_silent = request.param == "silent"
    lag_now(tmp_path, *(() if is_silent else beats(40_000, 149_000)))
    return tmp_path, is_silent


def test_the_table_says_that_a_lag_is_an_upper_bound(behind: tuple[Path, bool]) -> None:
    home, is_upper_bound = behind
    out = StringIO()
    answer_lag(Home(home), "g", "", "table", watches=False, out=out)
    (line,) = [line for line in out.getvalue().splitlines() if line.split()[:3] == ["g", "t", "0"]]
    assert ("  at most 50  " in line) == is_upper_bound
    assert " 50  " in line


def test_the_page_says_so_of_a_group_and_of_a_partition(behind: tuple[Path, bool]) -> None:
    home, is_upper_bound = behind
    with asked(home) as client:
        overview, of_group = client.get("/").text, client.get("/group?group=g").text
    assert [">at most 50<" in shown for shown in (overview, of_group)] == [is_upper_bound] * 2
    assert ("at most 50 records" in of_group) == is_upper_bound
    assert "50 records" in of_group


def test_an_alarm_says_so(behind: tuple[Path, bool]) -> None:
    home, is_upper_bound = behind
    history = History(home)
    history.refresh()
    history.make_lists()
    cost = reason_of(history, Found("g", "held_not_moving", 0, 0, True, "", rebalance=None)).cost
    history.close()
    # Of the other partition the lag is not known.
    at_most = "the group is at most 50 records behind where its lag is known"
    assert cost == at_most if is_upper_bound else cost.startswith("the group is 50 records behind, the oldest of them")


# ---------------------------------------------------------------- the view `lag` reads less, and finds the same


@pytest.mark.parametrize("seed", range(3))
def test_lag_is_an_upper_bound_where_the_last_known_commit_of_partition_lag_may_be_missing(
    tmp_path: Path, seed: int
) -> None:
    chance = Random(seed)
    write_home(tmp_path, [random_life(chance, f"g{number}") for number in range(40)], GROWING)
    until_ms = 155_000
    of_moments = {
        (row.group_id, row.partition): row.is_recorded
        for row in sorted(rows_of(tmp_path, "partition_lag", until_ms), key=lambda row: row.at)
        if row.lag_records
    }
    rows = [row for row in rows_of(tmp_path, "lag", until_ms) if row.lag_records]
    found = {(row.group_id, row.partition): not row.is_upper_bound for row in rows}
    assert found == {key: of_moments[key] for key in found}
    assert {True, False} == set(found.values())
    assert all((row.is_moving is None) == row.is_upper_bound for row in rows)
