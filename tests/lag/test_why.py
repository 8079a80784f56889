"""What an explanation says of a rebalance's cost, of the recorded incidents: for people, for programs, on the page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rollcall.answers.why.sections import NO_LAG, Line, account_of, lines_of
from rollcall.answers.why.telling import cost_in_a_sentence
from rollcall.cli.why import explanation_of
from rollcall.serve.page.details import rebalance
from rollcall.serve.page.history import History
from rollcall.tables.home import Home
from tests.lag.homes import write_capture
from tests.request_log.truth import OF_LAG
from tests.views.story import write_effects
from tests.why.reading import capture

KILLED = (
    "699 records waited longer: the group was 298 records behind before and 997 at its peak, furthest in clicks-5 "
    "(kafka-python-3.0.12@127.0.1.14 -> kafka-python-3.0.12@127.0.1.13), and had caught up 12.969 s after the member "
    "fell silent"
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
    assert partitions[0].text == (
        "clicks-5 was 423 records behind at its peak; "
        "its owner: kafka-python-3.0.12@127.0.1.14 -> kafka-python-3.0.12@127.0.1.13"
    )


def test_a_partition_that_stayed_has_one_owner(home: Home) -> None:
    by_partition = {line.partition: line.text for line in cost(lines_of(explanation_of(home, "clicks-live", 5)))}
    assert by_partition[5] == "clicks-5 was 103 records behind at its peak; its owner: clicks-live-2"


def test_a_group_that_fell_no_further_behind_did_not_catch_up(home: Home) -> None:
    said = cost(lines_of(explanation_of(home, "orders-eager", 2)))[0]
    assert said.text == (
        "no record waited longer: the group was 161 records behind before and 91 at its peak after that"
    )


def test_a_group_that_has_not_caught_up_is_said_not_to_as_far_as_is_known(home: Home) -> None:
    e = explanation_of(home, "clicks-agg", 3)
    assert e.cost is not None
    bound = cost_in_a_sentence(e, replace(e.cost, is_upper_bound=True))
    assert "was at most 298 records behind before and at most 997 at its peak" in bound
    later = replace(e.cost, caught_up_ms=None, caught_up_after_ms=None)
    assert cost_in_a_sentence(e, later).endswith("and has not caught up, as far as the hour after it is known")
    so_far = replace(later, records_delayed=0)
    assert cost_in_a_sentence(e, so_far).startswith("no record waited longer so far: ")


def test_a_partition_whose_commits_may_be_missing_was_behind_by_so_many_at_most(home: Home) -> None:
    e = explanation_of(home, "clicks-agg", 3)
    assert e.cost is not None
    unsure = replace(e.cost, peaks=[e.cost.peaks[0]._replace(is_upper_bound=True)])
    _, line = cost(lines_of(replace(e, cost=unsure)))
    assert line.text.startswith(
        "clicks-5 was at most 423 records behind at its peak, since later commits of it may be missing; "
    )


def test_whose_a_partition_was_is_left_out_where_owners_are_not_known(home: Home) -> None:
    e = replace(explanation_of(home, "clicks-agg", 3), are_owners_known=False)
    said, *partitions = cost(lines_of(e))
    assert "furthest in clicks-5, and had" in said.text
    assert partitions[0].text == "clicks-5 was 423 records behind at its peak"


def test_the_page_says_the_same(home: Home, history: History) -> None:
    shown = rebalance(history, "clicks-agg", 3, None, None)
    assert shown is not None
    assert cost(lines_of(shown)) == cost(lines_of(explanation_of(home, "clicks-agg", 3)))


def test_a_cost_that_is_not_known_is_said_to_be_not_known_where_lag_is_known_at_other_times(home: Home) -> None:
    sections = account_of(explanation_of(home, "clicks-agg", 1)).sections
    (unknown,) = (section for section in sections if section.key == "cost")
    assert (unknown.rows, unknown.if_none) == ([], NO_LAG)


def test_a_home_that_knows_no_ends_says_nothing_of_a_cost(tmp_path: Path) -> None:
    write_effects(tmp_path, {"clicks-agg": capture(OF_LAG)["clicks-agg"]})
    e = explanation_of(Home(tmp_path), "clicks-agg", 3)
    assert "cost" not in {section.key for section in account_of(e).sections}
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
