"""An alarm of several partitions says of each what became of it: lost is what was lost, expected what may be."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from rollcall.serve.alerts.kinds import found_in
from rollcall.serve.alerts.settings import AlertSettings
from rollcall.serve.page.history import History
from rollcall.tables.lag.rows import LogEnd
from tests.lag.homes import group, write_home

FIRST_MS, LAST_MS = 1000, 601_000
LOST = "lost 5 records of t-{}, removed before the group committed them"


def sentence(home: Path, commits: dict[int, int]) -> str:
    """What an alarm says of a group with these commits, by partition, in logs whose first ten records are removed."""
    story = group("g", "t", session_timeout_ms=1_800_000)
    story.commit(500, "a", {f"t-{partition}": offset for partition, offset in commits.items()})
    starts = [(FIRST_MS, 0), (LAST_MS, 10)]
    log_ends = [LogEnd("t", one, at_ms, start, 100, 100, "sample") for one in commits for at_ms, start in starts]
    write_home(home, [story], log_ends)
    with closing(History(home)) as history:
        history.refresh()
        history.make_lists()
        (found,) = found_in(history, AlertSettings(kinds=("records_lost",)), LAST_MS + 1000)
    return found.sentence


@pytest.mark.parametrize(
    ("commits", "says"),
    [
        ({0: 5}, LOST.format(0)),
        ({0: 5, 1: 15, 2: 15}, f"{LOST.format(0)}; 2 more partitions may lose records"),
        ({0: 15, 1: 5}, f"{LOST.format(1)}; 1 more partition may lose records"),
        ({0: 5, 1: 5, 2: 15}, f"{LOST.format(0)}; 1 more like it; 1 more partition may lose records"),
    ],
)
def test_what_is_expected_is_not_said_to_be_lost(tmp_path: Path, commits: dict[int, int], says: str) -> None:
    assert sentence(tmp_path, commits) == says


def test_what_is_expected_alone_is_like_the_first(tmp_path: Path) -> None:
    said = sentence(tmp_path, {0: 15, 1: 15, 2: 15})
    assert said.startswith("is expected to lose records of t-0 at about ")
    assert said.endswith("; 2 more like it")
