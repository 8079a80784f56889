"""What the pages show is what the views and `make why` say, now and as it was."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from rollcall.answers.sql.engine import ask
from rollcall.answers.views.catalog import DETECTORS
from rollcall.answers.why.explanation import explain
from rollcall.answers.why.telling import headline, stopped, title
from rollcall.history.words import duration, moment, ms_of
from rollcall.schemas.causes import name_of
from rollcall.schemas.consumer_protocol import TopicPartition
from rollcall.schemas.effect_rows import EffectRow
from rollcall.serve.page import details
from tests.offsets_topic.homes import home_of
from tests.page.asking import Page, asked, page
from tests.page.homes import recorded
from tests.pictures.drawn import drawn, hints, lanes
from tests.requests import commit
from tests.views.histories import one_expires, two_members
from tests.views.story import write_effects
from tests.waiting import until
from tests.why.reading import reader_of
from tests.why.reading import recorded as rows_of

INCIDENTS = (
    pytest.param(("log", "d-kill"), id="log d-kill"),
    pytest.param(("topic", "n-classic-mixed"), id="topic n-classic-mixed", marks=pytest.mark.nightly),
    pytest.param(("log", "o-consumer-protocol"), id="log o-consumer-protocol", marks=pytest.mark.nightly),
    pytest.param(("topic", "q-consumer-slow"), id="topic q-consumer-slow"),
)
"""Two of classic groups, two of consumer groups; one of either input each, and each input with each commit."""
OVERVIEW = ("Group", "State", "Generation or epoch", "Members")

Incident = tuple[dict[str, list[EffectRow]], Path, TestClient]
"""Its facts by group, its home, and a client of its page."""


@pytest.fixture(scope="module", params=INCIDENTS)
def incident(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Incident]:
    source, name = request.param
    home = tmp_path_factory.mktemp("home")
    home = home_of(home, name) if source == "topic" else recorded(home, name)
    with asked(home) as client:
        yield rows_of(source, name), home, client


def rows(home: Path, query: str, until_ms: int | None = None) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in ask(home, query, until_ms).rows]


def overview(client: TestClient, path: str = "/") -> list[list[str]]:
    """The columns OVERVIEW of the list of groups, by group."""
    return sorted([row[name] for name in OVERVIEW] for row in page(client, path).listed("groups"))


def test_the_overview_lists_every_group_as_the_view_groups_has_it(incident: Incident) -> None:
    _, home, client = incident
    view = rows(home, "select group_id, state, generation_id, member_count from groups order by group_id")
    assert overview(client) == [[str(value) for value in row] for row in view]


def test_the_overview_counts_the_last_hours_rebalances(incident: Incident) -> None:
    _, home, client = incident
    listed = {row["Group"]: int(row["Rebalances, 1 h"]) for row in page(client, "/").listed("groups")}
    counted = "select g.group_id, count(r.cause) from groups g left join rebalances r using (group_id) group by all"
    assert listed == dict(rows(home, counted))
    assert sum(listed.values()) > 5


def test_a_span_leaves_the_groups_that_rebalanced_in_it(incident: Incident) -> None:
    _, home, client = incident
    first = rows(home, "select known_from from rebalances order by known_from limit 1")[0][0]
    from_ms = ms_of(first)
    listed = page(client, f"/?from={from_ms}&to={from_ms}").listed("groups")
    began = rows(
        home,
        f"select group_id, count(*) from rebalances where known_from = timestamp_millis({from_ms}) group by group_id",
    )
    assert {row["Group"]: row["in the span"] for row in listed} == {group_id: str(count) for group_id, count in began}
    assert page(client, "/?from=1970-01-01&to=1970-01-02").tables["groups"][1:] == []


def test_a_group_shows_its_members_rebalances_and_offsets(incident: Incident) -> None:
    facts, home, client = incident
    for group_id in facts:
        found, own = page(client, f"/group?group={quote(group_id)}"), f"group_id = '{group_id}'"
        members = rows(
            home,
            f"select client_id, client_host from members where group_id = '{group_id}' order by client_id, member_id",
        )
        assert [tuple(row[:2]) for row in found.tables["members"][1:]] == members
        rebalances = rows(
            home,
            f"select known_from, cause, duration_ms, outcome from rebalances where {own} order by known_from desc",
        )
        listed = [
            [row["Began"][:23], row["Cause"].removesuffix("inferred").strip(), row["Lasted"], row["Outcome"]]
            for row in found.listed("rebalances")
        ]
        assert [[at, cause.split(":")[0], *rest] for at, cause, *rest in listed] == [
            [moment(ms_of(at)), name_of(cause), "" if length_ms is None else duration(length_ms), outcome]
            for at, cause, length_ms, outcome in rebalances
        ]
        offsets = rows(
            home,
            f"select topic, partition, committed_offset from offsets where {own} order by topic, partition",
        )
        assert [row[:3] for row in found.tables["offsets"][1:]] == [[str(value) for value in row] for row in offsets]


def test_a_rebalance_is_shown_as_make_why_prints_it(incident: Incident) -> None:
    facts, home, client = incident
    completed = "select group_id, to_generation_id from rebalances where outcome = 'completed' order by 1, 2 limit 8"
    generations = rows(home, completed)
    assert len(generations) == 8
    for group_id, generation_id in generations:
        reported = explain(group_id, reader_of(facts[group_id]), generation_id)
        shown = page(client, f"/rebalance?group={quote(group_id)}&generation={generation_id}").text
        assert title(reported) in shown
        assert headline(reported) in shown
        assert all(sentence in shown for sentence in stopped(reported))


def test_the_rebalances_before_and_after_are_linked(incident: Incident) -> None:
    _, home, client = incident
    generations = (
        "select group_id, sort_array(collect_list(to_generation_id)) as ids from rebalances group by 1 order by 1"
    )
    group_id, (before, generation_id, after, *_) = next(row for row in rows(home, generations) if len(row[1]) > 2)
    links = page(client, f"/rebalance?group={quote(group_id)}&generation={generation_id}").links
    assert f"/rebalance?group={quote(group_id)}&generation={before}" in links
    assert f"/rebalance?group={quote(group_id)}&generation={after}" in links


def test_who_owned_a_partition_is_what_assignments_says(incident: Incident) -> None:
    _, home, client = incident
    owned = rows(home, "select group_id, topic, partition, client_id, from_at from assignments order by all limit 4")
    assert len(owned) == 4
    for group_id, topic, partition, client_id, from_at in owned:
        at = moment(ms_of(from_at))
        shown = page(client, f"/group?group={quote(str(group_id))}&topic={topic}&partition={partition}&at={quote(at)}")
        assert f"{client_id} owned {topic}-{partition} from" in " ".join(shown.text.split())


def test_a_chosen_moment_shows_everything_as_it_was(incident: Incident) -> None:
    _, home, client = incident
    moments = [ms_of(row[0]) for row in rows(home, "select known_from from rebalances order by known_from")]
    for at_ms in (moments[1], moments[len(moments) // 2], moments[-1]):
        at = quote(moment(at_ms))
        listed = overview(client, f"/?at={at}")
        view = rows(home, "select group_id, state, generation_id, member_count from groups order by group_id", at_ms)
        assert listed == [[str(value) for value in row] for row in view]
        for group_id in [row[0] for row in listed][:2]:
            found = page(client, f"/group?group={quote(group_id)}&at={at}").tables["members"][1:]
            own = f"group_id = '{group_id}'"
            members = rows(home, f"select client_id from members where {own} order by client_id, member_id", at_ms)
            assert [(row[0],) for row in found] == members


@pytest.mark.parametrize(
    ("at", "says"),
    [
        ("2020-01-01", ", before this history, which begins at 2026-"),
        ("2036-01-01", ", after this history, which ends at"),
    ],
)
def test_a_moment_outside_the_history_is_named_as_such(incident: Incident, at: str, says: str) -> None:
    _, _, client = incident
    assert f"as it was at {at} 00:00:00.000 UTC{says}" in " ".join(page(client, f"/?at={at}").text.split())


def test_every_trouble_that_the_views_find_is_listed_with_its_rule(incident: Incident) -> None:
    _, home, client = incident
    found = page(client, "/troubles")
    for name, view in DETECTORS.items():
        assert view.detector is not None
        count = rows(home, f"select count(*) from {name} where {view.detector.worth_telling}")[0][0]
        assert len(found.tables.get(f"list-{name}", [[]])) - 1 == count
        assert (f"{view.detector.plural.capitalize()}: {count}" in found.text) == (count > 0)
        assert view.detector.plural.capitalize() in found.text
    assert "A rebalance belongs to a storm if" in found.text


def test_a_group_s_page_begins_with_its_troubles(incident: Incident) -> None:
    facts, _, client = incident
    of_all = page(client, "/troubles")
    for group_id in facts:
        shown = page(client, f"/group?group={quote(group_id)}")
        (title,) = re.findall(r"Trouble(?=\s+(?:ended|ongoing))|No trouble is known", shown.text)
        listed = [row for name in DETECTORS for row in of_all.listed(f"list-{name}") if row["Group"] == group_id]
        assert (title == "Trouble") == bool(listed)
        for row in listed:
            assert row["What"].removesuffix("; ongoing") in shown.text


def test_each_group_leads_to_its_latest_rebalance(incident: Incident) -> None:
    _, home, client = incident
    shown = page(client, "/")
    latest = "select group_id, max_by(cause, known_from), max(to_generation_id) from rebalances group by group_id"
    causes = {row["Group"]: row["Latest rebalance"].partition(",")[0] for row in shown.listed("groups")}
    for group_id, cause, generation_id in rows(home, latest):
        assert causes[group_id] == name_of(cause)
        assert f"/rebalance?group={quote(group_id)}&generation={generation_id}" in shown.links


def test_who_owns_a_partition_stands_beside_it_where_no_lag_is_known(incident: Incident) -> None:
    facts, home, client = incident
    owners = {
        f"{group_id}/{partition}": client_id
        for group_id, client_id, partitions in rows(
            home, "select group_id, client_id, assigned_partitions from members"
        )
        for partition in partitions
    }
    assert owners
    for group_id in facts:
        for row in page(client, f"/group?group={quote(group_id)}").listed("offsets"):
            assert row["Owner"] == owners.get(f"{group_id}/{row['Topic']}-{row['Partition']}", "")


def test_pictures_of_a_group_share_their_time_and_end_at_the_chosen_moment(incident: Incident) -> None:
    _, home, client = incident
    group_id, at = rows(home, "select group_id, max(known_from) from rebalances group by group_id order by group_id")[0]
    for chosen in ({}, {"at": moment(ms_of(at))}):
        asked = {"group": group_id, "width": 1000, **chosen}
        answers = [client.get(f"/pictures/{name}.svg", params=asked) for name in ("timeline", "ownership", "slack")]
        drawings = [drawn(answer.text)[0][1] for answer in answers if answer.status_code == 200]
        places = {tuple(one[name] for name in ("data-left", "data-from", "data-to")) for one in drawings}
        assert len(places) == 1
        assert chosen == {} or [to for _, _, to in places] == [str(ms_of(at))]


def test_pictures_are_the_scenes_of_make_pictures(incident: Incident) -> None:
    _, home, client = incident
    rebalances = "select group_id, max(to_generation_id) from rebalances group by group_id order by group_id"
    group_id, generation_id = rows(home, rebalances)[0]
    are_heartbeats_known = rows(home, "select count(slack_ms) from heartbeat_slack")[0][0] > 0
    for picture in ("timeline", "ownership", "slack"):
        answer = client.get(f"/pictures/{picture}.svg", params={"group": group_id, "width": 700})
        if picture == "slack" and not are_heartbeats_known:
            assert (answer.status_code, answer.text) == (400, "No heartbeats are known of that time.\n")
        else:
            assert answer.headers["content-type"] == "image/svg+xml"
            assert drawn(answer.text)[0][1]["width"] == "700"
            assert len(hints(answer.text)) > 3
    asked = {"group": group_id, "generation": generation_id}
    whole = client.get("/rebalance.svg", params=asked).text
    assert lanes(client.get("/pictures/ownership.svg", params={"group": group_id}).text)
    from_ms, to_ms = (int(drawn(whole)[0][1][name]) for name in ("data-from", "data-to"))
    span = {"from": str(from_ms + 10), "to": str(to_ms - 10)}
    part = drawn(client.get("/rebalance.svg", params={**asked, **span}).text)[0][1]
    assert (part["data-from"], part["data-to"]) == (span["from"], span["to"])
    span = {"from": "100000", "to": str(to_ms)}
    assert "are more than 1440 minutes apart" in client.get("/rebalance.svg", params={**asked, **span}).text


def test_the_strip_counts_every_rebalance_once(incident: Incident) -> None:
    _, home, client = incident
    by_cause: Counter[str] = Counter()
    strip = client.get("/strip.svg").text
    for hint in hints(strip):
        cause, count = re.match(r"(.*): (\d+) rebalances? of \d+ groups? from ", hint).groups()  # type: ignore[union-attr]
        by_cause[cause] += int(count)
    counted = rows(home, "select cause, count(*) from rebalances group by cause")
    assert by_cause == {name_of(cause): count for cause, count in counted}
    links = [one["href"] for tag, one in drawn(strip) if tag.endswith("a")]
    assert len(links) == len(hints(strip))
    assert page(client, links[0]).listed("groups")
    span = dict(zip(("from", "to"), re.findall(r"=(\d+)", links[0]), strict=True))
    chosen = [one for _, one in drawn(client.get("/strip.svg", params=span).text) if one.get("class") == "chosen"]
    assert len(chosen) == 1


def test_what_a_job_commits_is_shown(tmp_path: Path) -> None:
    write_effects(tmp_path, {"two": two_members().rows})
    with asked(tmp_path) as client:
        assert [row["Group"] for row in page(client, "/").listed("groups")] == ["two"]
        write_effects(tmp_path, {"expired": one_expires().rows})

        def is_shown() -> bool:
            return {row["Group"] for row in page(client, "/").listed("groups")} == {"expired", "two"}

        until(is_shown, "the new group in the list")
        assert page(client, "/group?group=expired").tables["sessions"][1:]


def test_what_there_is_not_is_said_in_a_sentence(incident: Incident) -> None:
    _, _, client = incident
    assert client.get("/group?group=nobody").status_code == 404
    assert "There is no group nobody in this history at that time." in client.get("/group?group=nobody").text
    assert client.get("/rebalance?group=nobody&generation=7").status_code == 404
    for path, reported in (
        ("/?at=noon", "at=noon: invalid time; expected 2026-03-01 03:12"),
        ("/?from=a&to=b", "from=a: invalid time"),
        ("/group?group=x&minutes=nan", "minutes=nan: is not between"),
        ("/rebalance?group=x&generation=two", "generation=two: expected a whole number."),
        ("/pictures/nothing.svg?group=x", "No picture is named"),
        ("/pictures/timeline.svg?group=nobody", "nobody: had no members then."),
    ):
        answer = client.get(path)
        assert answer.status_code in (400, 404)
        assert reported in answer.text


@pytest.mark.parametrize(
    ("path", "status", "says"),
    [
        ("/?at=noon", 400, "at=noon: invalid time; expected 2026-03-01 03:12"),
        ("/rebalance?group=clicks-agg&generation=abc&at=-1h", 400, "generation=abc: expected a whole number."),
        ("/nope?at=2026-11-21", 404, "There is no page /nope."),
    ],
)
def test_an_error_keeps_the_page_and_what_was_typed(incident: Incident, path: str, status: int, says: str) -> None:
    _, _, client = incident
    answer = client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    assert answer.status_code == status
    typed = path.partition("at=")[2]
    assert f'<p role="alert">{says}' in answer.text
    assert f'name="at" value="{typed}"' in answer.text
    assert '<nav aria-label="Pages">' in answer.text
    script = client.get(path, headers={"Accept": "*/*"})
    assert (script.status_code, script.text.startswith(says)) == (status, True)


def test_a_group_of_many_offsets_shows_the_first_and_says_so(tmp_path: Path) -> None:
    story = two_members("many")
    offsets = {TopicPartition("orders", number): number for number in range(details.SHOWN_OFFSETS + 1)}
    story.send(60_000, commit("", -1, offsets, group="many", api_version=9, request_id="c", client_id="admin"))
    write_effects(tmp_path, {"many": story.rows})
    with asked(tmp_path) as client:
        answer = client.get("/group", params={"group": "many"}).text
    assert len(Page(answer).tables["offsets"]) == details.SHOWN_OFFSETS + 1
    assert f"The first {details.SHOWN_OFFSETS} are shown" in answer
