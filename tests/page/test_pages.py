"""What the pages show is what the views and `make why` say, now and as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from duck_sql.engine import ask
from page.history import ms_of
from schemas.causes import name_of
from tests.page.asking import Page, asked
from tests.page.homes import recorded
from tests.views.histories import one_expires, two_members
from tests.views.story import write_effects
from tests.waiting import until
from tests.why.reading import capture, reader_of
from views.catalog import DETECTORS
from why.explanation import explain
from why.telling import headline, stopped, title
from why.words import duration, moment

INCIDENTS = ("d-kill", "g-coop-vs-range")
OVERVIEW = ("Group", "State", "Generation", "Members")

Incident = tuple[str, Path, TestClient]


@pytest.fixture(scope="module", params=INCIDENTS)
def incident(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incident]:
    home = recorded(tmp_path_factory.mktemp("home"), request.param)
    with asked(home) as client:
        yield request.param, home, client


def rows(home: Path, query: str, until_ms: int | None = None) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query, until_ms).rows]


def overview(client: TestClient, path: str = "/") -> list[list[str]]:
    """The columns OVERVIEW of the list of groups, by group."""
    return sorted([row[name] for name in OVERVIEW] for row in page(client, path).listed("groups"))


def page(client: TestClient, path: str) -> Page:
    answer = client.get(path)
    assert answer.status_code == 200, answer.text[:500]
    return Page(answer.text)


def test_the_overview_lists_every_group_as_the_view_groups_has_it(incident: Incident) -> None:
    _, home, client = incident
    view = rows(home, "select group_id, state, generation_id, member_count from groups order by group_id")
    assert overview(client) == [[str(value) for value in row] for row in view]


def test_the_overview_counts_the_last_hours_rebalances(incident: Incident) -> None:
    _, home, client = incident
    listed = {row["Group"]: int(row["Rebalances, last hour"]) for row in page(client, "/").listed("groups")}
    counted = dict(rows(home, "select group_id, count(*) from rebalances group by group_id"))
    assert listed == counted


def test_a_span_leaves_the_groups_that_rebalanced_in_it(incident: Incident) -> None:
    _, home, client = incident
    first = rows(home, "select started_at from rebalances order by started_at limit 1")[0][0]
    from_ms = ms_of(first)
    listed = page(client, f"/?from={from_ms}&to={from_ms}").listed("groups")
    began = rows(
        home,
        f"select group_id, count(*) from rebalances where started_at = timestamp_millis({from_ms}) group by group_id",
    )
    assert {row["Group"]: row["in the span"] for row in listed} == {group_id: str(count) for group_id, count in began}
    assert page(client, "/?from=1970-01-01&to=1970-01-02").tables["groups"][1:] == []


def test_a_group_shows_its_members_rebalances_and_offsets(incident: Incident) -> None:
    name, home, client = incident
    for group_id in capture(name):
        found, own = page(client, f"/group?group={quote(group_id)}"), f"group_id = '{group_id}'"
        members = rows(
            home,
            f"select client_id, client_host from members where group_id = '{group_id}' order by client_id, member_id",
        )
        assert [tuple(row[:2]) for row in found.tables["members"][1:]] == members
        rebalances = rows(
            home,
            f"select started_at, cause, duration_ms, outcome from rebalances where {own} order by started_at desc",
        )
        listed = [[row[0], row[1].removesuffix(" inferred"), row[4], row[7]] for row in found.tables["rebalances"][1:]]
        assert listed == [
            [moment(ms_of(at)), name_of(cause), duration(length_ms), outcome]
            for at, cause, length_ms, outcome in rebalances
        ]
        offsets = rows(
            home,
            f"select topic, partition, committed_offset from offsets where {own} order by topic, partition",
        )
        assert [row[:3] for row in found.tables["offsets"][1:]] == [[str(value) for value in row] for row in offsets]


def test_a_rebalance_is_told_as_make_why_tells_it(incident: Incident) -> None:
    name, _, client = incident
    for group_id, facts in capture(name).items():
        for generation_id in (1, 2):
            told = explain(group_id, reader_of(facts), generation_id)
            shown = page(client, f"/rebalance?group={quote(group_id)}&generation={generation_id}").text
            assert title(told) in shown
            assert headline(told) in shown
            assert all(sentence in shown for sentence in stopped(told))


def test_the_rebalances_before_and_after_are_linked(incident: Incident) -> None:
    name, _, client = incident
    group_id = next(iter(capture(name)))
    links = page(client, f"/rebalance?group={quote(group_id)}&generation=2").links
    assert f"/rebalance?group={quote(group_id)}&generation=1" in links
    assert f"/rebalance?group={quote(group_id)}&generation=3" in links


def test_who_owned_a_partition_is_what_assignments_says(incident: Incident) -> None:
    _, home, client = incident
    owned = rows(home, "select group_id, topic, partition, client_id, from_at from assignments")
    for group_id, topic, partition, client_id, from_at in owned[:20]:
        at = moment(ms_of(from_at))
        shown = page(client, f"/group?group={quote(str(group_id))}&topic={topic}&partition={partition}&at={quote(at)}")
        assert f"{client_id} owned {topic}-{partition} from" in " ".join(shown.text.split())


def test_a_chosen_moment_shows_everything_as_it_was(incident: Incident) -> None:
    _, home, client = incident
    moments = [ms_of(row[0]) for row in rows(home, "select started_at from rebalances order by started_at")]
    for at_ms in moments[:: max(1, len(moments) // 4)]:
        at = quote(moment(at_ms))
        listed = overview(client, f"/?at={at}")
        view = rows(home, "select group_id, state, generation_id, member_count from groups order by group_id", at_ms)
        assert listed == [[str(value) for value in row] for row in view]
        for group_id in [row[0] for row in listed]:
            found = page(client, f"/group?group={quote(group_id)}&at={at}").tables["members"][1:]
            own = f"group_id = '{group_id}'"
            members = rows(home, f"select client_id from members where {own} order by client_id, member_id", at_ms)
            assert [(row[0],) for row in found] == members


def test_every_trouble_that_the_views_find_is_listed_with_its_rule(incident: Incident) -> None:
    _, home, client = incident
    found = page(client, "/troubles")
    for name, view in DETECTORS.items():
        assert view.detector is not None
        count = rows(home, f"select count(*) from {name} where {view.detector.worth_telling}")[0][0]
        assert len(found.tables.get(f"list-{name}", [[]])) - 1 == count
        assert f"{view.detector.plural.capitalize()}: {count}" in found.text
    assert "A rebalance belongs to a storm if" in found.text


def test_pictures_are_the_scenes_of_make_pictures(incident: Incident) -> None:
    name, _, client = incident
    group_id = next(iter(capture(name)))
    for picture in ("timeline", "ownership", "slack"):
        drawn = client.get(f"/pictures/{picture}.json", params={"group": group_id}).json()
        assert drawn["data"]
    lanes = client.get("/pictures/ownership.json", params={"group": group_id}).json()["layout"]["yaxis"]["ticktext"]
    assert lanes == sorted(set(lanes), key=lanes.index)
    assert client.get("/rebalance.json", params={"group": group_id, "generation": 2}).json()["data"]


def test_the_strip_counts_every_rebalance_once(incident: Incident) -> None:
    _, home, client = incident
    drawn = client.get("/strip.json").json()
    by_cause = {bars["name"]: sum(bars["y"]) for bars in drawn["data"]}
    counted = rows(home, "select cause, count(*) from rebalances group by cause")
    assert by_cause == {name_of(cause): count for cause, count in counted}


def test_what_a_job_commits_is_shown(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    with asked(tmp_path) as client:
        assert [row["Group"] for row in page(client, "/").listed("groups")] == ["two"]
        write_effects(tmp_path, {"expired": one_expires().rows})

        def is_shown() -> bool:
            return {row["Group"] for row in page(client, "/").listed("groups")} == {"expired", "two"}

        until(is_shown, "the new group in the list", within_s=10)
        assert page(client, "/group?group=expired").tables["sessions"][1:]


def test_what_there_is_not_is_said_in_a_sentence(incident: Incident) -> None:
    _, _, client = incident
    assert client.get("/group?group=nobody").status_code == 404
    assert "knows no group nobody" in client.get("/group?group=nobody").text
    assert client.get("/rebalance?group=nobody&generation=7").status_code == 404
    for path, told in (
        ("/?at=yesterday", "at=yesterday: is no moment"),
        ("/?from=a&to=b", "from=a: is no moment"),
        ("/group?group=x&minutes=nan", "minutes=nan: is not between"),
        ("/rebalance?group=x&generation=two", "generation=two: is not a whole number."),
        ("/pictures/nothing.json?group=x", "No picture is named"),
        ("/pictures/timeline.json?group=nobody", "GROUP=nobody: had no members then."),
    ):
        answer = client.get(path)
        assert answer.status_code in (400, 404)
        assert told in answer.text
