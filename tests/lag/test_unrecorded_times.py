"""What nobody recorded counts for nothing: a shadow was down, or a coordinator away."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.lag.homes import ends, group, write_home
from tests.views.story import Story
from tests.views.view_rows import Row, rows_of

Held = dict[str, list[tuple[int, int | None, int]]]
"""By group, from when to when a partition stood, and for how long."""
SESSION_MS = 60_000
USUAL = [(2000 * turn, 10 * turn) for turn in range(1, 8)]
LAST_MS, LAST_OFFSET = USUAL[-1]


def working(name: str, moves: Iterable[tuple[int, int | None]]) -> Story:
    """A group that commits now and then, as usual at first; without an offset it only sends a heartbeat."""
    story = group(name, name, *USUAL, session_timeout_ms=SESSION_MS)
    for at_ms, offset in moves:
        if offset is None:
            story.heartbeat(at_ms, "a")
        else:
            story.commit(at_ms, "a", {f"{name}-0": offset})
    return story


def beats(from_ms: int, to_ms: int) -> list[tuple[int, int | None]]:
    return [(at_ms, None) for at_ms in range(from_ms, to_ms, 3000)]


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


def rises(from_ms: int, count: int, begin: int) -> list[tuple[int, int | None]]:
    """Commits that are further behind each time, with heartbeats between."""
    moves: list[tuple[int, int | None]] = []
    for turn in range(count):
        at_ms = from_ms + 10_000 * turn
        moves += [(at_ms, begin + turn), (at_ms + 4000, None), (at_ms + 8000, None)]
    return moves


def falling(tmp_path: Path, *moves: tuple[int, int | None]) -> list[Row]:
    story = group("g", "t", session_timeout_ms=SESSION_MS)
    for at_ms, offset in moves:
        if offset is None:
            story.heartbeat(at_ms, "a")
        else:
            story.commit(at_ms, "a", {"t-0": offset})
    reported = ends(*((at_ms, 100 + at_ms // 100) for at_ms in range(1000, 200_000, 1000)))
    write_home(tmp_path, [story], reported)
    return rows_of(tmp_path, "falling_behind")


def test_a_group_does_not_fall_behind_across_a_time_that_nobody_recorded(tmp_path: Path) -> None:
    assert falling(tmp_path, *rises(10_000, 4, 10), *rises(100_000, 4, 20)) == []


def test_a_group_falls_behind_in_what_is_recorded(tmp_path: Path) -> None:
    (row,) = falling(tmp_path, *rises(10_000, 6, 10), *rises(110_000, 3, 20))
    assert (row.from_at, row.to_at, row.duration_ms) == (10_000, 60_000, 50_000)
