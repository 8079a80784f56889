"""`rollcall lag`: what is printed of a small home, as text and as JSON."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from rollcall.answers.no_such_group import NoSuchGroup
from rollcall.answers.sql.engine import Answer, ask
from rollcall.cli import lag
from rollcall.cli.lag import answer_lag, lag_of
from rollcall.tables.home import Home
from tests.lag.homes import ends, write_home
from tests.views.story import Story


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Home:
    folder: Path = tmp_path_factory.mktemp("lag")
    story = Story("orders")
    story.join(100, "a", topics=("t",), session_timeout_ms=300_000, rebalance_timeout_ms=300_000)
    story.let_time_pass(100)
    story.sync(100, "a", {"a": ["t-0", "t-1"]})
    story.commit(2000, "a", {"t-0": 10})
    other = Story("nobody's")
    other.commit(2000, "x", {"t-0": 0}, generation_id=-1)
    write_home(folder, [story, other], ends((1000, 0), (3000, 20), (65_000, 50)))
    return Home(folder)


def printed(home: Home, group_id: str = "", form: str = "text", at: str = "") -> list[str]:
    out = io.StringIO()
    answer_lag(home, group_id, at, form, watches=False, out=out)
    return out.getvalue().splitlines()


def test_a_group_is_reported_partition_by_partition_with_its_owner(home: Home) -> None:
    head, first, second = (line.split() for line in printed(home, "orders"))
    assert head[:8] == ["GROUP", "TOPIC", "PARTITION", "CURRENT-OFFSET", "LOG-END-OFFSET", "LAG", "TIME-LAG", "TREND"]
    assert first[:8] == ["orders", "t", "0", "10", "50", "40", "63.0s", "+30"]
    # The day tells the ends of a log that nobody has followed since yesterday from those of now.
    assert first[9:] == ["/10.0.0.1", "a", "0", "1970-01-01", "00:01:05"]
    assert second[:8] == ["orders", "t", "1", "-", "-", "-", "-", "-"]


def test_all_groups_are_reported_the_furthest_behind_first(home: Home) -> None:
    assert [line.split("  ")[0] for line in printed(home)[1:]] == ["nobody's", "orders", "orders"]


def test_a_group_whose_name_has_a_quote_is_reported_alone(home: Home) -> None:
    assert len(printed(home, "nobody's")) == 2


def test_json_has_null_for_what_is_not_known(home: Home) -> None:
    rows = [json.loads(line) for line in printed(home, "orders", "json")]
    assert (rows[0]["lag_records"], rows[0]["trend_records"], rows[0]["end_known_at"]) == (
        40,
        30,
        "1970-01-01T00:01:05.000Z",
    )
    assert rows[1]["lag_records"] is None


def test_a_group_without_ends_beside_one_with_them_is_not_said_to_be_of_a_home_without(tmp_path: Path) -> None:
    unknown = Story("unknown")
    unknown.commit(2000, "x", {"other-0": 10}, generation_id=-1)
    write_home(tmp_path, [unknown], ends((1000, 0)))
    note, head, row = printed(Home(tmp_path), "unknown")
    assert note == "Where these logs end is not known: no FETCH or LIST_OFFSETS line and no broker's answer says it."
    assert (head.split()[0], row.split()[:7]) == ("GROUP", ["unknown", "other", "0", "10", "-", "-", "-"])


def test_a_moment_before_is_shown_as_it_was(home: Home) -> None:
    assert printed(home, "orders", at="1970-01-01 00:00:04")[1].split()[3:7] == ["10", "20", "10", "1.0s"]


def test_a_moment_outside_the_history_is_named_as_such(home: Home) -> None:
    before, heads = printed(home, at="1970-01-01 00:00:00.000")
    assert before.startswith(
        "1970-01-01 00:00:00.000 UTC is before this history, which begins at 1970-01-01 00:00:00.1"
    )
    # All is shown as it was at the first millisecond of the minute.
    assert printed(home, at="1970-01-01 00:00")[0] == before
    after, *rows = printed(home, at="1970-01-02")
    assert after == "1970-01-02 00:00:00.000 UTC is after this history, which ends at 1970-01-01 00:01:05.000 UTC."
    assert heads.split()[0] == rows[0].split()[0] == "GROUP"
    assert len(rows) == 4


def test_an_end_without_news_for_a_minute_has_no_trend(tmp_path: Path) -> None:
    """Its log may have grown meanwhile, so a trend of 0 would be a guess."""
    away = Story("away")
    away.commit(2000, "x", {"t-0": 10}, generation_id=-1)
    other = Story("other")
    other.commit(2000, "x", {"other-0": 10}, generation_id=-1)
    write_home(tmp_path, [away, other], [*ends((1000, 0), (3000, 20)), *ends((1000, 0), (90_000, 20), topic="other")])
    by_group = {row["group_id"]: row for row in lag_of(Home(tmp_path))}
    assert (by_group["away"]["lag_records"], by_group["away"]["trend_records"]) == (10, None)


def test_of_logs_that_were_never_cut_the_history_of_commits_is_not_read(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To ask what was lost took 27 s for a day of 200 groups, and nothing can be lost of them."""
    asked: list[str] = []

    def recorded(place: Path, query: str, *words: Any, **named: Any) -> Answer:
        asked.append(query)
        return ask(place, query, *words, **named)

    monkeypatch.setattr(lag, "ask", recorded)
    assert [row["records_lost"] for row in lag_of(home, "orders")] == [0, None]
    assert asked
    assert not [query for query in asked if "FROM records_lost" in query or "from records_lost" in query]


def test_a_moment_at_which_a_group_had_nothing_yet_is_named(home: Home) -> None:
    with pytest.raises(NoSuchGroup, match="group orders owned or had committed at 1970-01-01 00:00"):
        printed(home, "orders", at="1970-01-01 00:00:00.050")


def test_a_group_that_is_not_known_is_named(home: Home) -> None:
    with pytest.raises(NoSuchGroup, match="payments: no such group in the home; known groups: nobody's, orders"):
        printed(home, "payments")
