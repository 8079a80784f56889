"""Lag on the page is what the views say, now and as it was, and grows for a group that is heard of no more."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollcall.answers.pictures.scene import Curves
from rollcall.answers.sql.engine import ask
from rollcall.cli.lag import lag_of
from rollcall.cli.pictures import rebalance_scenes
from rollcall.history.words import duration, ms_of
from rollcall.serve.page.lists import TICKS
from rollcall.serve.page.shown import lag_path
from rollcall.tables.home import Home
from rollcall.tables.lag.rows import LagRows
from rollcall.tables.lag_rows import append_lag
from tests.lag.homes import ends, group, write_capture, write_home
from tests.page.asking import asked, page
from tests.pictures.drawn import drawn, hints, lanes, written
from tests.views.story import Story
from tests.waiting import until


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_capture(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with asked(home) as client:
        yield client


def reported(home: Path, until_ms: int | None = None) -> dict[str, tuple[int, int]]:
    """By group, its lag in records and how many more than a minute before, 0 where one partition does not tell."""
    found: dict[str, tuple[int, int]] = {}
    unknown = set[str]()
    for row in lag_of(Home(home), "", until_ms):
        lag, trend = found.get(row["group_id"], (0, 0))
        found[row["group_id"]] = lag + (row["lag_records"] or 0), trend + (row["trend_records"] or 0)
        if row["lag_records"] is not None and row["trend_records"] is None:
            unknown.add(row["group_id"])
    return {group_id: (lag, 0 if group_id in unknown else trend) for group_id, (lag, trend) in found.items()}


def overview(client: TestClient, path: str = "/") -> dict[str, tuple[int, int]]:
    def number(text: str) -> int:
        return int(text.partition(" (")[0].replace(",", "") or 0)

    listed = page(client, path).listed("groups")
    return {row["Group"]: (number(row["Lag"]), number(row["Lag growth, 1 min"])) for row in listed}


def test_the_overview_has_the_lag_of_each_group_and_its_trend(home: Path, client: TestClient) -> None:
    assert overview(client) == reported(home)
    assert overview(client)["metrics-rollup"][0] > 10_000
    at_ms = ms_of(next(iter(ask(home, "select max(at) - interval 60 seconds as earlier from effects").rows))[0])
    assert overview(client, f"/?at={at_ms}") == reported(home, at_ms) != reported(home)


def test_a_group_has_its_lag_by_partition_and_under_its_timeline(home: Path, client: TestClient) -> None:
    query = (
        "select topic, partition, end_offset, lag_records, lag_ms, client_id from lag where group_id = 'trades-book'"
    )
    shown = page(client, "/group?group=trades-book").listed("offsets")
    columns = ("Topic", "Partition", "Log end", "Lag", "Lag in time", "Owner")
    assert sorted(tuple(row[name] for name in columns) for row in shown) == sorted(
        (topic, str(partition), str(end), str(lag), duration(lag_ms), owner)
        for topic, partition, end, lag, lag_ms, owner in ask(home, query).rows
    )
    drawing = client.get("/pictures/timeline.svg", params={"group": "trades-book", "width": 900}).text
    assert "lag, records" in written(drawing)
    assert len(lanes(drawing)) >= 2
    peak = "select max(peak_lag_records) as peak from lag_history where group_id = 'trades-book'"
    heights = [int(one.split()[1].replace(",", "")) for one in hints(drawing) if one.startswith("trades: ")]
    assert max(heights) == next(iter(ask(home, peak).rows))[0]


def test_the_lag_around_a_rebalance_is_drawn_until_the_group_had_caught_up(home: Path, client: TestClient) -> None:
    (generation,) = next(
        row[:1]
        for row in ask(
            home, "select to_generation_id, cause from rebalances where group_id = 'clicks-agg' order by started_at"
        ).rows
        if row[1] == "session_expired"
    )
    fields = {"group": "clicks-agg", "generation": str(generation)}
    assert "Lag around it" in client.get("/rebalance", params=fields).text
    drawing = client.get("/rebalance-lag.svg", params=fields).text
    scene = rebalance_scenes(home, "clicks-agg", generation)["lag"]
    assert isinstance(scene, Curves)
    assert scene.curves[0].name == "clicks"
    assert len(scene.curves) == 4
    cost = "select caught_up_at, lag_peak, started_at from rebalance_costs where group_id = 'clicks-agg'"
    caught_up_at, peak, _ = next(row for row in ask(home, f"{cost} and to_generation_id = {generation}").rows)
    assert peak in {y for _, y in scene.curves[0].points}
    assert int(drawn(drawing)[0][1]["data-to"]) > ms_of(caught_up_at)


def test_a_group_of_whose_ends_nothing_new_is_known_has_no_trend(home: Path, client: TestClient) -> None:
    """It was away for a minute, and no line says that its log grew by 3,588 records: +0 would be a guess."""
    at_ms = 1_795_421_528_000
    listed = {row["Group"]: row for row in page(client, f"/?at={at_ms}").listed("groups")}
    assert (listed["emails-send"]["Lag"], listed["emails-send"]["Lag growth, 1 min"]) == ("55 (1 min ago)", "")


def test_a_lag_is_dated_by_the_oldest_news_of_an_end(client: TestClient) -> None:
    """In the minute in which it was away, a group was at last 3,200 records behind: the log has no line of that."""
    at_ms = 1_795_421_520_000
    listed = {row["Group"]: row for row in page(client, f"/?at={at_ms}").listed("groups")}
    assert (listed["emails-send"]["Lag"], listed["clicks-live"]["Lag"]) == ("55 (52 s ago)", "312")
    shown = page(client, f"/group?group=emails-send&at={at_ms}")
    assert "55 records, 1.002 s, known 52 s ago" in shown.text
    assert {row["End known"] for row in shown.listed("offsets")} == {"52 s ago"}


def test_groups_are_listed_by_trouble_and_then_by_lag(client: TestClient) -> None:
    order = [row["Group"] for row in page(client, "/").listed("groups")]
    lost_a_member = ["clicks-live", "clicks-agg"]
    others = [name for name in order if name.startswith(("clicks", "flags", "views"))]
    assert others == [*lost_a_member, "views-manual", "views-auto", "flags-watch"]


def test_a_partition_that_is_owned_and_was_never_committed_is_listed(tmp_path: Path) -> None:
    write_home(tmp_path, [group("new", "t")], ends((1000, 0), (3000, 20)))
    with asked(tmp_path) as client:
        (shown,) = page(client, "/group?group=new").listed("offsets")
    assert {name: shown[name] for name in ("Topic", "Partition", "Offset", "Log end", "Lag", "Owner", "Committed")} == {
        **{"Topic": "t", "Partition": "0", "Offset": "", "Log end": "20", "Lag": "", "Owner": "a", "Committed": ""}
    }


def test_a_stopped_groups_lag_grows_on_the_page_though_nothing_is_heard_of_it(tmp_path: Path) -> None:
    story = Story("stopped")
    story.commit(2000, "x", {"t-0": 10}, generation_id=-1)
    write_home(tmp_path, [story], ends((1000, 0), (3000, 20)))
    with asked(tmp_path) as client:
        assert overview(client) == {"stopped": (10, 0)}
        append_lag(tmp_path, LagRows(ends((70_000, 500))))
        until(lambda: overview(client) == {"stopped": (490, 480)}, "the new end")


def test_a_group_s_page_has_what_it_lost_and_says_so_first(client: TestClient) -> None:
    shown = page(client, "/group?group=metrics-rollup")
    assert [row["Lost"] for row in shown.listed("offsets")] == ["2490", "2480", "4168", ""]
    assert shown.text.index("lost 4,168 records of metrics-2, removed") < shown.text.index("The last 30 minutes")


def test_the_overview_draws_the_lag_of_each_group_on_one_axis_where_it_is_known(home: Path, client: TestClient) -> None:
    html = client.get("/").text
    shown = {
        name: [None if not lag else int(lag) for lag in lags.split(",")]
        for name, lags in re.findall(r'group=([\w-]+)">.*?</th>.*?data-lags="([^"]*)"', html, re.DOTALL)
    }
    assert {len(lags) for lags in shown.values()} == {TICKS}
    highest = max(lag for lags in shown.values() for lag in lags if lag is not None)
    assert f"in every row from 0 to {highest:,} records" in " ".join(html.split())
    latest = {name: records for name, (records, _) in reported(home).items()}
    assert shown["metrics-rollup"][-1] == latest["metrics-rollup"] == highest
    past = client.get("/?at=2026-11-23+08:11:00").text
    assert 'class="lag"' in past
    assert f"{highest:,} records in every row" not in past


def test_a_lag_keeps_its_height_until_it_changes_and_its_line_is_broken_where_it_is_unknown() -> None:
    assert lag_path([0, 10, None, None, 5], 10, 20) == "M0 20H1L1 0H2M4 10H5"
    assert lag_path([None, 0], 0, 20) == "M1 20H2"
    assert lag_path([None], 7, 20) == ""
