"""What nobody recorded counts for nothing: a shadow was down, or a coordinator away."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from math import isnan
from pathlib import Path

import pytest

from rollcall.answers.pictures.lag import with_lag
from rollcall.answers.pictures.scene import Curve, Lanes
from rollcall.answers.sql.engine import ask
from rollcall.answers.views.falling_behind import FALLING_BEHIND
from rollcall.answers.views.held_not_moving import HELD_NOT_MOVING
from rollcall.answers.views.records_lost import RECORDS_LOST
from rollcall.answers.why.cost import Asked, cost_of
from rollcall.history.words import filled
from rollcall.tables.lag.rows import LogEnd
from tests.lag.homes import ends, group, write_home
from tests.lag.silences import GROWING, SESSION_MS, beats, two_partitions
from tests.views.story import Story
from tests.views.view_rows import Row, rows_of

Held = dict[str, list[tuple[int, int | None, int]]]
"""By group, from when to when a partition stood, and for how long."""
USUAL = [(2000 * turn, 10 * turn) for turn in range(1, 8)]
LAST_MS, LAST_OFFSET = USUAL[-1]


def working(name: str, moves: Iterable[tuple[int, int | None]]) -> Story:
    """A group that commits now and then, as usual at first."""
    return working_on(name, name, *USUAL, *moves)


def working_on(name: str, topic: str, *moves: tuple[int, int | None]) -> Story:
    """A group that commits an offset, or only sends a heartbeat without one."""
    story = group(name, topic, session_timeout_ms=SESSION_MS)
    for at_ms, offset in moves:
        if offset is None:
            story.heartbeat(at_ms, "a")
        else:
            story.commit(at_ms, "a", {f"{topic}-0": offset})
    return story


UNTIL_MS = 300_000
STORIES: dict[str, list[tuple[int, int | None]]] = {
    # A session is longer than the time without a recording, so that the member is there before and after.
    "nothing-between": [(55_000, 90), (57_000, 100)],
    "a-beat-before-the-next-commit": [(14_500, None), (54_900, None), (55_000, 90)],
    "recorded": [*beats(15_000, 55_000), (55_000, 90)],
    "before-and-after": [*beats(15_000, 40_000), *beats(95_000, 120_000), (120_000, 90)],
    "never-again": beats(15_000, 40_000),
    "from-nothing-on": [(15_000, 110), *beats(16_000, 20_000), *beats(70_000, 110_000)],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("unrecorded")
    reported = [
        row
        for name in STORIES
        for row in ends(*((at_ms, 7 * at_ms // 1000 + 20) for at_ms in range(1000, UNTIL_MS, 1000)), topic=name)
    ]
    write_home(path, [working(name, moves) for name, moves in STORIES.items()], reported)
    return path


@pytest.fixture(scope="module")
def held(home: Path) -> Held:
    found: Held = {name: [] for name in STORIES}
    for row in sorted(rows_of(home, "held_not_moving"), key=lambda row: row.from_at):
        found[row.group_id].append((row.from_at, row.to_at, row.duration_ms))
    return found


@pytest.mark.parametrize("name", ["nothing-between", "a-beat-before-the-next-commit"])
def test_a_partition_does_not_stand_still_while_nobody_records(held: Held, name: str) -> None:
    assert [one for one in held[name] if one[0] < 55_000] == []


def test_a_group_of_which_no_heartbeat_is_known_is_judged_by_its_membership(held: Held) -> None:
    assert held["nothing-between"] == [(57_000, None, UNTIL_MS - 1000 - 57_000)]


def test_a_member_that_is_heard_of_all_the_time_holds_what_stands_still(
    held: Held,
) -> None:
    assert held["recorded"] == [(LAST_MS, 55_000, 41_000)]


def test_a_stand_ends_where_the_recording_does_and_another_begins_with_it(
    held: Held,
) -> None:
    assert held["before-and-after"] == [(LAST_MS, 39_000, 25_000), (95_000, 120_000, 25_000)]


def test_what_goes_on_lasts_as_long_as_a_request_may_be_awaited(
    held: Held,
) -> None:
    assert held["never-again"] == [(LAST_MS, None, 39_000 + SESSION_MS // 2 - LAST_MS)]


def test_the_lag_at_its_beginning_is_that_of_the_recorded_part(home: Path) -> None:
    (row,) = (row for row in rows_of(home, "held_not_moving") if row.group_id == "from-nothing-on")
    assert (row.from_at, row.lag_from) == (70_000, 7 * 70 + 20 - 110)


def test_that_lag_is_at_most_so_high_where_a_commit_may_be_missing(home: Path) -> None:
    rows = {(row.group_id, row.from_at): row for row in rows_of(home, "held_not_moving")}
    detector = HELD_NOT_MOVING.detector
    assert detector is not None
    bound, known = rows["from-nothing-on", 70_000], rows["recorded", LAST_MS]
    assert (bound.is_upper_bound, known.is_upper_bound) == (True, False)
    assert f"at most {bound.lag_to} records behind" in filled(detector.sentence, bound)
    assert "at most" not in filled(detector.sentence, known)


def test_a_partition_does_not_stand_still_if_all_may_be_read_since(tmp_path: Path) -> None:
    """What was there when the recording went on may have been committed before."""
    story = working("g", [*beats(16_000, 20_000), *beats(70_000, 110_000)])
    write_home(tmp_path, [story], ends((1000, 20), (40_000, 300), (75_000, 300), (110_000, 300), topic="g"))
    assert [row for row in rows_of(tmp_path, "held_not_moving") if row.from_at > 20_000] == []


def rises(from_ms: int, count: int, begin: int) -> list[tuple[int, int | None]]:
    """Commits that are further behind each time, with heartbeats between."""
    moves: list[tuple[int, int | None]] = []
    for turn in range(count):
        at_ms = from_ms + 10_000 * turn
        moves += [(at_ms, begin + turn), (at_ms + 4000, None), (at_ms + 8000, None)]
    return moves


def falling(tmp_path: Path, *moves: tuple[int, int | None]) -> list[Row]:
    story = working_on("g", "t", *moves)
    reported = ends(*((at_ms, 100 + at_ms // 100) for at_ms in range(1000, 200_000, 1000)))
    write_home(tmp_path, [story], reported)
    return rows_of(tmp_path, "falling_behind")


def test_a_group_does_not_fall_behind_across_a_time_that_nobody_recorded(tmp_path: Path) -> None:
    assert falling(tmp_path, *rises(10_000, 4, 10), *rises(100_000, 4, 20)) == []


def test_a_group_falls_behind_in_what_is_recorded(tmp_path: Path) -> None:
    (row,) = falling(tmp_path, *rises(10_000, 6, 10), *rises(110_000, 3, 20))
    assert (row.from_at, row.to_at, row.duration_ms, row.is_upper_bound) == (10_000, 60_000, 50_000, False)


def test_its_lag_is_at_most_so_high_while_a_partition_is_not_committed_again(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000), *rises(90_000, 7, 900))
    write_home(tmp_path, [story], GROWING)
    (row,) = [row for row in rows_of(tmp_path, "falling_behind") if row.from_at == 100_000]
    detector = FALLING_BEHIND.detector
    assert detector is not None
    assert row.is_upper_bound
    assert f"falls behind, from at most {row.lag_from:,} to {row.lag_to:,} records" in filled(detector.sentence, row)


# ---------------------------------------------------------------- records that are lost


def lost(tmp_path: Path, starts: list[tuple[int, int]], *moves: tuple[int, int | None]) -> list[tuple[object, ...]]:
    """The losses of a group that commits 100 at 10 s and is silent from 20 s to 70 s; starts: (at_ms, log's start)."""
    story = working_on("g", "t", (10_000, 100), *beats(13_000, 20_000), *moves)
    reported = [LogEnd("t", 0, at_ms, start, 1000, 1000, "sample") for at_ms, start in starts]
    write_home(tmp_path, [story], reported)
    rows = sorted(rows_of(tmp_path, "records_lost"), key=lambda row: row.from_at)
    return [(row.from_at, row.to_at, row.records_lost, row.expected_at) for row in rows]


def test_no_record_is_lost_by_a_commit_that_nobody_recorded(tmp_path: Path) -> None:
    starts = [(5000, 0), (15_000, 0), (60_000, 300), (75_000, 400), (90_000, 400)]
    assert lost(tmp_path, starts, *beats(70_000, 80_000), (80_000, 900)) == []


def test_before_the_next_commit_nothing_is_inferred(tmp_path: Path) -> None:
    starts = [(5000, 0), (15_000, 50), (60_000, 300), (75_000, 400)]
    assert lost(tmp_path, starts, *beats(70_000, 80_000)) == []


def test_a_commit_after_that_time_that_is_below_the_start_has_lost_records(tmp_path: Path) -> None:
    starts = [(5000, 0), (60_000, 300), (75_000, 400)]
    assert lost(tmp_path, starts, *beats(70_000, 80_000), (80_000, 150)) == [(80_000, None, 250, None)]


def test_a_loss_lasts_until_a_commit_is_known_beyond_the_start(tmp_path: Path) -> None:
    starts = [(5000, 0), (15_000, 130), (60_000, 300), (75_000, 400)]
    (loss,) = lost(tmp_path, starts, *beats(70_000, 80_000), (80_000, 900))
    assert loss == (15_000, 80_000, 30, None)


def test_what_a_silent_member_has_not_read_is_lost(tmp_path: Path) -> None:
    """Its session expired: it did not commit meanwhile."""
    story = working_on("g", "t", (10_000, 100), *beats(13_000, 20_000))
    story.let_time_pass(19_000 + SESSION_MS)
    reported = [LogEnd("t", 0, at_ms, start, 1000, 1000, "sample") for at_ms, start in [(5000, 0), (60_000, 300)]]
    write_home(tmp_path, [story], reported)
    assert [(row.from_at, row.records_lost) for row in rows_of(tmp_path, "records_lost")] == [(60_000, 200)]


@pytest.mark.parametrize(
    ("lost", "expected_at", "said"),
    [
        (1, None, "lost 1 record of t-0, removed before the group committed them"),
        (
            0,
            datetime(2026, 11, 21, 5, 38),
            "is expected to lose records of t-0 at about 2026-11-21 05:38:00 UTC, unless it catches up",
        ),
    ],
)
def test_a_loss_that_is_only_expected_says_when(lost: int, expected_at: datetime | None, said: str) -> None:
    row = {"records_lost": lost, "topic": "t", "partition": 0, "expected_at": expected_at}
    assert RECORDS_LOST.detector is not None
    assert filled(RECORDS_LOST.detector.sentence, row) == said


# ---------------------------------------------------------------- lag over time, and what a rebalance cost


def history_of(tmp_path: Path, story: Story) -> list[tuple[int, int | None, int, int]]:
    write_home(tmp_path, [story], GROWING)
    rows = rows_of(tmp_path, "lag_history")
    return sorted((row.from_at, row.lag_records, row.peak_lag_records, row.peak_at) for row in rows)


def test_no_row_claims_a_lag_while_nobody_records(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000))
    story.commit(90_000, "a", {"t-0": 900, "t-1": 900})
    rows = history_of(tmp_path, story)
    assert rows[2] == (30_000, None, 300, 30_000)
    assert rows[3] == (90_000, 200, 200, 95_000)


def test_the_lag_is_known_again_when_the_partitions_are_committed_again(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000), (90_000, 900))
    story.commit(102_000, "a", {"t-1": 1020})
    story.commit(103_000, "a", {"t-0": 1030})
    rows = history_of(tmp_path, story)
    assert [row[0] for row in rows if row[0] > 30_000][:2] == [100_000, 110_000]


def test_a_partition_that_nobody_commits_any_more_counts_from_its_last_known_commit(tmp_path: Path) -> None:
    rows = history_of(tmp_path, two_partitions(*beats(81_000, 90_000), (90_000, 900)))
    assert rows[3] == (90_000, 100 + 700, 100 + 700, 95_000)


def test_where_nothing_is_to_be_read_even_from_the_last_known_commit_the_lag_is_0(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000))
    story.commit(90_000, "a", {"t-0": 350, "t-1": 350})
    write_home(tmp_path, [story], [end for part in (0, 1) for end in ends((5000, 0), (9000, 300), partition=part)])
    rows = rows_of(tmp_path, "lag_history")
    assert max((row.from_at, row.lag_records) for row in rows) == (90_000, 0)
    assert None not in [row.lag_records for row in rows]


def curve_of(tmp_path: Path, again: dict[str, int]) -> Curve:
    """Of the topic, where these offsets were committed after a time that nobody recorded."""
    story = two_partitions(*beats(81_000, 90_000))
    story.commit(90_000, "a", again)
    write_home(tmp_path, [story], GROWING)
    scene = with_lag(
        Lanes("g", 0, 160_000, [], {}, []), Asked(lambda sql: ask(tmp_path, sql, None).rows_by_column(), "")
    )
    assert scene.below is not None
    (curve,) = scene.below.curves
    return curve


def test_a_curve_breaks_where_nobody_recorded(tmp_path: Path) -> None:
    curve = curve_of(tmp_path, {"t-0": 900, "t-1": 900})
    assert curve.name == "t"
    place = next(number for number, (_, height) in enumerate(curve.points) if isnan(height))
    assert (curve.points[place - 1], curve.points[place + 1]) == ((30_000, 300), (95_000, 200))


def test_a_curve_says_that_it_is_at_most_where_a_partition_was_not_committed_again(tmp_path: Path) -> None:
    assert curve_of(tmp_path, {"t-0": 900}).name == "t (at most)"


def costs(tmp_path: Path, *between: tuple[int, int | None]) -> list[Row]:
    """b joins at 92 s, and a's partitions are committed before and after."""
    story = two_partitions(*between)
    story.commit(90_000, "a", {"t-0": 900, "t-1": 900})
    story.join(92_000, "b", session_timeout_ms=SESSION_MS)
    story.join(93_000, "a", session_timeout_ms=SESSION_MS)
    story.sync(93_100, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(93_100, "b")
    story.commit(97_000, "a", {"t-0": 1000, "t-1": 1000})
    write_home(tmp_path, [story], GROWING)
    return [row for row in rows_of(tmp_path, "rebalance_costs") if row.started_at == 92_000]


def test_a_rebalance_has_a_cost_where_all_is_recorded(tmp_path: Path) -> None:
    (row,) = costs(tmp_path, *beats(40_000, 90_000))
    assert row.lag_before > 100


def test_a_rebalance_soon_after_a_time_that_nobody_recorded_has_no_cost(tmp_path: Path) -> None:
    assert costs(tmp_path, *beats(81_000, 90_000)) == []


def test_a_rebalance_before_it_has_none_if_the_group_had_not_caught_up(tmp_path: Path) -> None:
    story = two_partitions()
    story.join(40_000, "b", session_timeout_ms=SESSION_MS)
    story.join(40_100, "a", session_timeout_ms=SESSION_MS)
    story.sync(40_200, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(40_200, "b")
    story.heartbeat(85_000, "a", "b")
    story.commit(90_000, "a", {"t-0": 900, "t-1": 900})
    write_home(tmp_path, [story], GROWING)
    assert [row for row in rows_of(tmp_path, "rebalance_costs") if row.started_at == 40_000] == []


def test_a_partition_that_is_not_committed_again_is_said_to_be_less_behind_perhaps(tmp_path: Path) -> None:
    """b joins at 142 s, when partition 0 has been committed again for a while, and partition 1 never was."""
    story = two_partitions(*beats(81_000, 90_000))
    for at_ms in range(90_000, 142_000, 3000):
        story.commit(at_ms, "a", {"t-0": at_ms // 100})
    story.join(142_000, "b", session_timeout_ms=SESSION_MS)
    story.join(143_000, "a", session_timeout_ms=SESSION_MS)
    story.sync(143_100, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(143_100, "b")
    story.commit(147_000, "a", {"t-0": 1490})
    write_home(tmp_path, [story], GROWING)
    asked = Asked(lambda sql: ask(tmp_path, sql, None).rows_by_column(), "")
    cost = cost_of(asked, 142_000, 1)
    assert cost is not None
    assert [(peak.partition, peak.is_upper_bound) for peak in cost.peaks] == [(1, True), (0, False)]


# ---------------------------------------------------------------- what counts from a commit before such a time


def bounds_of(tmp_path: Path, story: Story) -> dict[int, bool]:
    write_home(tmp_path, [story], [*GROWING, *ends((165_000, 1700))])
    return {row.from_at: row.is_upper_bound for row in rows_of(tmp_path, "lag_history")}


def test_lag_over_time_is_an_upper_bound_until_the_last_partition_is_committed_again(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000), (90_000, 900), *beats(91_000, 151_000))
    story.commit(151_000, "a", {"t-1": 1510})
    story.heartbeat(157_000, "a")
    found = bounds_of(tmp_path, story)
    assert [found[from_ms] for from_ms in (20_000, 30_000)] == [False, False]
    assert [found[from_ms] for from_ms in (90_000, 140_000, 150_000, 160_000)] == [True, True, True, False]


def test_where_all_partitions_are_committed_again_no_lag_is_an_upper_bound(tmp_path: Path) -> None:
    story = two_partitions(*beats(81_000, 90_000))
    story.commit(90_000, "a", {"t-0": 900, "t-1": 900})
    assert set(bounds_of(tmp_path, story).values()) == {False}


def test_a_lag_that_grows_from_0_is_an_upper_bound_as_soon_as_it_is_above(tmp_path: Path) -> None:
    """Partition 1 may all be read when the recording goes on, and is not committed any more."""
    story = two_partitions(*beats(81_000, 90_000))
    for at_ms in (90_000, 92_000, 94_000):
        story.commit(at_ms, "a", {"t-0": at_ms // 100})
    still = ends((5000, 0), (9000, 300), (91_000, 300), (99_000, 380), partition=1)
    write_home(tmp_path, [story], [*(row for row in GROWING if row.partition == 0), *still])
    (row,) = [row for row in rows_of(tmp_path, "lag_history") if row.from_at == 90_000]
    assert row.is_upper_bound


def costs_of_a_join(tmp_path: Path, *, again_ms: int | None) -> list[Row]:
    """b joins at 162 s. Partition 0 is committed all the time since 90 s; partition 1 from again_ms on, or never."""
    story = two_partitions(*beats(81_000, 90_000))

    def commit(at_ms: int, place: int) -> None:
        both = again_ms is not None and at_ms >= again_ms
        story.commit(at_ms, "a", {"t-0": place, "t-1": place} if both else {"t-0": place})

    for at_ms in range(90_000, 162_000, 3000):
        commit(at_ms, at_ms // 100)
    story.join(162_000, "b", session_timeout_ms=SESSION_MS)
    story.join(163_000, "a", session_timeout_ms=SESSION_MS)
    story.sync(163_100, "a", {"a": ["t-0"], "b": ["t-1"]})
    story.sync(163_100, "b")
    for at_ms in (168_000, 171_000):
        commit(at_ms, at_ms // 100 - 10)
    later = [row._replace(at_ms=row.at_ms + 155_000, end_offset=(row.end_offset or 0) + 1550) for row in GROWING[:4]]
    later += [row._replace(partition=1) for row in later]
    write_home(tmp_path, [story], [*GROWING, *later])
    return [row for row in rows_of(tmp_path, "rebalance_costs") if row.started_at == 162_000]


def test_a_cost_is_in_lags_that_are_at_most_so_high_where_a_partition_is_not_committed_again(tmp_path: Path) -> None:
    (row,) = costs_of_a_join(tmp_path, again_ms=None)
    assert row.is_upper_bound
    assert row.lag_before > 1000


def test_a_cost_is_not_so_where_all_was_committed_again_before_it(tmp_path: Path) -> None:
    (row,) = costs_of_a_join(tmp_path, again_ms=120_000)
    assert not row.is_upper_bound


def test_a_group_has_not_caught_up_because_an_older_commit_becomes_known(tmp_path: Path) -> None:
    """Partition 1 was perhaps committed long before: how much of the fall is the group's work is not known."""
    assert costs_of_a_join(tmp_path, again_ms=168_000) == []
