"""What the page says of trouble: what a detector carries is all it needs, and who is in trouble stands first."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from rollcall.answers.views.catalog import DETECTORS, VIEWS
from rollcall.history.words import filled
from rollcall.serve.page.details import cost_of
from rollcall.serve.page.shown import ago
from tests.lag.homes import write_capture
from tests.page.asking import asked, page
from tests.page.homes import recorded
from tests.views.histories import two_members
from tests.views.story import write_effects
from tests.views.troubles import (
    MINUTE_MS,
    deploy,
    orderly,
    slow_heart,
    static_restart,
    storm,
    stuck,
    with_members,
    zombie,
)
from tests.views.view_rows import Views


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    stays = with_members("stays", "a", "b", "c", session_timeout_ms=120 * MINUTE_MS)
    stands = with_members("stands still", "a")
    stands.join(5000, "a")
    stands.sync(8000, "a", {"a": ["t-0"]})
    stories = (
        stands,
        storm("storm", 10 * MINUTE_MS, 3),
        slow_heart(),
        deploy("deploy", "b", "c"),
        zombie(),
        orderly(),
        stays,
    )
    write_effects(folder, {story.group_id: story.rows for story in (*stories, two_members(), static_restart())})
    return folder


@pytest.fixture(scope="module")
def client(home: Path) -> Iterator[TestClient]:
    with asked(home) as client:
        yield client


def test_groups_in_trouble_stand_first_and_above_them_the_worst_are_named(client: TestClient) -> None:
    shown = page(client, "/")
    groups = [row["Group"] for row in shown.listed("groups")]
    harmed = {"storm", "deploy", "slow heart", "zombie", "stands still", "orderly"}
    assert set(groups[: len(harmed)]) == harmed
    assert set(groups[len(harmed) :]) == {"stays", "two", "static restart"}
    assert f"6 of {len(groups)} groups had trouble in this recording:" in shown.text
    assert "and 3 more groups" in shown.text
    assert list(shown.listed("groups")[0])[:3] == ["Group", "State", "Trouble, 24 h"]


def test_without_trouble_those_that_consumed_least_stand_first(tmp_path: Path) -> None:
    write_effects(tmp_path, {"calm": two_members().rows, "restarts": static_restart().rows})
    with asked(tmp_path) as client:
        shown = page(client, "/")
        assert "No trouble in this recording (2 groups)." in shown.text
        shares = [float((row["Not consuming, 1 h"] or "0").split()[0]) for row in shown.listed("groups")]
        assert shares == sorted(shares, reverse=True)
        assert shares[0] > shares[1]
        (restarts,) = [row for row in shown.listed("groups") if row["Group"] == "restarts"]
        assert restarts["Trouble, 24 h"] == "1 deploy"


def test_what_goes_on_now_stands_first_and_then_whom_nobody_consumes_for(tmp_path: Path) -> None:
    hour_ms, patient = 60 * MINUTE_MS, {"session_timeout_ms": 240 * MINUTE_MS}
    idle, emptied, calm = (with_members(name, "a", **patient) for name in ("an idle one", "emptied", "calm"))
    idle.leave(5000, "a")
    emptied.leave(2 * hour_ms - 6 * MINUTE_MS, "a")
    calm.heartbeat(2 * hour_ms, "a")
    stories = (idle, emptied, calm, stuck(), storm("storm", 30 * MINUTE_MS - 10_000, 3))
    write_effects(tmp_path, {story.group_id: story.rows for story in stories})
    with asked(tmp_path) as client:
        groups = page(client, "/").listed("groups")
        assert [row["Group"] for row in groups] == ["stuck", "emptied", "an idle one", "storm", "calm"]
        stood = {row["Group"]: row["Not consuming, 1 h"] for row in groups}
        assert stood == {"stuck": "100.0 %", "storm": "0.0 %", "emptied": "10.0 %", "an idle one": "", "calm": "0.0 %"}
        said = (
            "4 of 5 groups had trouble in the last hour of this recording:",
            "stuck: rebalancing for 1 h 59 min (CompletingRebalance), since 00:00:05 UTC",
            "emptied: no member for 6 min, since 01:54:00 UTC",
            "an idle one: no member for 1 h 59 min, since 00:00:05 UTC",
            "and 1 more group",
        )
        assert all(one in page(client, "/").text for one in said)
        in_span = page(client, "/?from=1970-01-01+00:29&to=1970-01-01+00:31")
        assert [row["Group"] for row in in_span.listed("groups")] == ["storm"]
        assert all(one in in_span.text for one in said)
        (reported,) = page(client, "/troubles").listed("list-standstills")
        assert reported == {
            "Group": "stuck",
            "What": "nobody held a partition for 1 h 59 min; ongoing",
            "Since": "1 h ago",
        }
        at = page(client, "/?at=1970-01-01+00:00:06.500")
        assert "No trouble in the last hour (5 groups)." in at.text


def test_only_what_somebody_noticed_is_listed_as_trouble(home: Path, client: TestClient) -> None:
    stood = [row.duration_ms for row in Views(home).rows("standstills")]
    reported = [row["What"] for row in page(client, "/troubles").listed("list-standstills")]
    assert reported == ["nobody held a partition for 3 s"]
    assert len(stood) > 5
    assert "Listed as trouble are those of at least 1 s" in page(client, "/troubles").text


def test_each_trouble_is_reported_in_words_and_with_its_plural(client: TestClient) -> None:
    shown = page(client, "/troubles")
    assert "Near misses: 2" in shown.text
    assert [row["What"] for row in shown.listed("list-near_misses")] == [
        "a was silent for 9 s of its session of 10 s",
        "a was silent for 7.500 s of its session of 10 s",
    ]
    assert [row["What"].partition("; rebalancing for ")[0] for row in shown.listed("list-storms")] == [
        "6 rebalances, 6 within an hour; the most frequent cause: joined, by b",
        "8 rebalances, 8 within an hour; the most frequent cause: left, by b",
    ]
    assert "misss" not in shown.text
    assert "None" not in shown.text.replace("None was found.", "")


def test_what_is_not_known_is_left_out_of_a_sentence() -> None:
    view = DETECTORS["flapping_members"]
    assert view.detector is not None
    row = {"client_id": "b", "memberships": 3, "period_ms": 1000, "end_cause": None, "matching": None}
    reported = filled(view.detector.sentence, {**row, "matching_setting": None})
    assert reported == "b came 3 times, every 1 s"
    known = {**row, "end_cause": "session_expired", "matching": "lasted_ms", "matching_setting": "session.timeout.ms"}
    assert filled(view.detector.sentence, known).endswith(
        "; how most of these memberships ended: session expired; its lasted_ms matches session.timeout.ms"
    )


def test_a_trouble_leads_to_its_group_as_it_was_when_it_was_over(client: TestClient) -> None:
    links = page(client, "/troubles").links
    assert "/group?group=zombie&at=1970-01-01+00%3A00%3A15.500&topic=t&partition=1" in links


def test_every_detector_names_columns_that_its_view_has() -> None:
    for view in VIEWS:
        if view.detector is None:
            continue
        columns = {column.name for column in view.columns}
        kind = view.detector
        assert {kind.since, kind.until, *kind.link} <= columns
        values = {"bigint": 1, "boolean": True}
        assert filled(kind.sentence, {column.name: values.get(column.type, "x") for column in view.columns})
    assert len(DETECTORS) == len([view for view in VIEWS if view.detector is not None]) > 5


def test_the_lists_of_a_recorded_incident_are_reported_without_a_null(tmp_path: Path) -> None:
    with asked(recorded(tmp_path, "j-busy-1")) as client:
        shown = page(client, "/troubles")
        reported = [row["What"] for name in DETECTORS for row in shown.listed(f"list-{name}")]
        assert len(reported) > 20
        assert [text for text in reported if "None" in text or "null" in text] == []


@pytest.mark.parametrize(
    ("earlier_ms", "text"),
    [(0, "just now"), (999, "just now"), (59_999, "59 s ago"), (4 * 60_000, "4 min ago"), (7_200_000, "2 h ago")],
)
def test_a_moment_is_shown_by_how_long_ago_it_was_with_itself_on_hover(earlier_ms: int, text: str) -> None:
    reported = str(ago(10_000_000 - earlier_ms, 10_000_000))
    assert f">{text}<" in reported
    assert 'title="1970-01-01 0' in reported


def test_a_group_begins_with_what_each_of_its_troubles_cost(client: TestClient, tmp_path: Path) -> None:
    stormy = page(client, "/group?group=storm").text
    assert re.search(r"within an hour; the most frequent cause: [a-z]+, by b; rebalancing for \d+ m?s in total", stormy)
    write_capture(tmp_path)
    with asked(tmp_path) as of_lag:
        assert re.search(
            r"was removed: session expired.*the rebalance took \d+ ms for 2 members and delayed [\d,]+ records",
            " ".join(page(of_lag, "/group?group=clicks-agg").text.split()),
        )
        assert "lost 4,168 records of metrics-2, removed" in page(of_lag, "/group?group=metrics-rollup").text


def test_the_cost_of_a_rebalance_leaves_out_what_is_not_known() -> None:
    row = {"duration_ms": None, "members_after": 2, "records_delayed": None}
    assert cost_of(row) == ""
    assert cost_of({**row, "records_delayed": 1}) == "delayed 1 record"
    assert cost_of({**row, "duration_ms": 2000, "members_after": 0, "records_delayed": 0}) == "took 2 s"
    assert cost_of({"duration_ms": 2000, "members_after": 1, "records_delayed": 13_658}) == (
        "took 2 s for 1 member and delayed 13,658 records"
    )


def test_under_each_kind_of_trouble_its_rule_is_folded(client: TestClient) -> None:
    html = client.get("/troubles").text
    assert html.count("<details") == len(DETECTORS)
    for view in DETECTORS.values():
        folded = html.partition(f'<details id="rule-{view.name}">')[2].partition("</details>")[0]
        assert f"One is {view.row.split('`')[0].split(chr(39))[0]}" in folded
        assert "Open since: " in folded
        assert "`" not in folded
    standstills = html.partition('id="rule-standstills"')[2].partition("</details>")[0]
    assert "Over: when a partition was given to somebody again." in standstills
    assert "<code>assignments</code>" in standstills


def test_a_partition_that_nobody_owns_is_told_by_the_page_as_by_sql_without_the_ends_of_logs(tmp_path: Path) -> None:
    write_effects(tmp_path, {story.group_id: story.rows for story in (stuck(), two_members())})
    found = {(row.group_id, f"{row.topic}-{row.partition}") for row in Views(tmp_path).rows("unconsumed")}
    assert found == {("stuck", "t-0"), ("stuck", "t-1")}
    with asked(tmp_path) as client:
        rows = page(client, "/troubles").listed("list-unconsumed")
        assert {(row["Group"], row["What"].split()[2].rstrip(",")) for row in rows} == found
        assert "nobody owns t-1" in page(client, "/group?group=stuck").text
