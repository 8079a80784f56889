"""What an explanation says of a rebalance's cost, of the recorded incidents: for people, for programs, on the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jobs.home import Home
from jobs.why import explanation_of
from page.details import rebalance
from page.history import History
from tests.lag.homes import write_capture
from tests.request_log.truth import OF_LAG
from tests.views.story import write_effects
from tests.why.reading import capture
from why.sections import Line, lines_of

KILLED = (
    "699 records waited longer: the group was 298 records behind before, at most 997 records after, and had caught up "
    "12.969 s after the member fell silent"
)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder: Path = tmp_path_factory.mktemp("t-lag")
    write_capture(folder)
    return Home(folder)


@pytest.fixture(scope="module")
def history(home: Home) -> Iterator[History]:
    history = History(home.path)
    history.refresh()
    yield history
    history.close()


def cost(lines: list[Line]) -> list[Line]:
    return [line for line in lines if line.part == "cost"]


def test_a_killed_member_is_reported_with_what_it_cost(home: Home) -> None:
    said, *partitions = cost(lines_of(explanation_of(home, "clicks-agg", 3)))
    assert (said.text, said.duration_ms) == (KILLED, 12_969)
    assert [(line.topic, line.partition) for line in partitions][:2] == [("clicks", 5), ("clicks", 4)]


def test_the_page_says_the_same(home: Home, history: History) -> None:
    shown = rebalance(history, "clicks-agg", 3, None, None)
    assert shown is not None
    assert cost(lines_of(shown)) == cost(lines_of(explanation_of(home, "clicks-agg", 3)))


def test_a_home_that_knows_no_ends_says_nothing_of_a_cost(tmp_path: Path) -> None:
    write_effects(tmp_path, {"clicks-agg": capture(OF_LAG)["clicks-agg"]})
    assert cost(lines_of(explanation_of(Home(tmp_path), "clicks-agg", 3))) == []
    history = History(tmp_path)
    history.refresh()
    shown = rebalance(history, "clicks-agg", 3, None, None)
    history.close()
    assert shown is not None
    assert cost(lines_of(shown)) == []


def test_the_pages_lists_have_the_detectors_of_lag(history: History) -> None:
    history.make_lists()
    found = {row["group_id"] for row in history.all("select group_id from all_held_not_moving")}
    assert found == {"trades-risk", "trades-book"}
