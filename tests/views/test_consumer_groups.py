"""The views over consumer groups (KIP-848): recorded incidents beside the truth, and a group that is converted."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rollcall.answers.why.slack import slack_of
from rollcall.history.facts import effects_in
from rollcall.history.members import Names, memberships_of
from tests.request_log.truth import consumer_groups, truth
from tests.requests import consumer_beat
from tests.views.story import Story, write_effects
from tests.views.view_rows import Views
from tests.why.reading import all_facts, capture

NEAR_MS = 2000
"""A broker that had just started took so long to come to a first heartbeat."""
OF_CONSUMERS = ("o-consumer-protocol", "q-consumer-slow")

each_capture = pytest.mark.parametrize("name", OF_CONSUMERS)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Views:
    home: Path = tmp_path_factory.mktemp("home")
    for name in OF_CONSUMERS:
        write_effects(home, {f"{name}/{group_id}": rows for group_id, rows in capture(name).items()})
    return Views(home)


@each_capture
def test_every_epoch_is_a_rebalance_with_its_cause_and_culprit(name: str, reported: Views) -> None:
    for group_id, what in consumer_groups(name).items():
        ours = sorted(reported.about("rebalances", f"{name}/{group_id}"), key=lambda row: row.from_generation_id)
        for row, true in zip(ours, what["epochs"], strict=True):
            assert (row.from_generation_id + 1, row.cause) == (true["epoch"], true["cause"])
            assert row.cause_member_id == (true["trigger"]["member_id"] or None)
            assert row.cause_client_id == true["trigger"]["client_id"]
            if true["cause"] != "pattern_resolved":
                assert abs(row.started_at - true["t_ms"]) <= NEAR_MS


@each_capture
def test_memberships_and_how_they_ended(name: str, reported: Views) -> None:
    for group_id, what in consumer_groups(name).items():
        sessions = reported.about("sessions", f"{name}/{group_id}")
        assert len(sessions) == len([event for event in what["events"] if event["event"] == "joined"])
        still = {(s.member_id, s.client_id, s.session_timeout_ms) for s in sessions if s.ended_at is None}
        final = truth(name)["groups"][group_id]["final"].get("members", [])
        assert still == {(member["member_id"], member["client_id"], 45_000) for member in final}
        ends = sorted(s.end_cause for s in sessions if s.ended_at is not None)
        causes = [e["cause"] for e in what["epochs"]]
        assert ends == sorted(c for c in causes if c in ("member_left", "poll_timeout", "rebalance_timeout"))


@each_capture
def test_who_owns_what_in_the_end(name: str, reported: Views) -> None:
    for group_id in consumer_groups(name):
        final = truth(name)["groups"][group_id]["final"].get("members", [])
        owned: dict[str, list[str]] = {member["member_id"]: [] for member in final}
        for row in reported.about("assignments", f"{name}/{group_id}"):
            if row.to_at is None:
                owned[row.member_id].append(f"{row.topic}-{row.partition}")
        theirs = {member["member_id"]: sorted(member["assignment"]) for member in final}
        assert {member_id: sorted(parts) for member_id, parts in owned.items()} == theirs
        held = {row.member_id: row.assigned_partitions for row in reported.about("members", f"{name}/{group_id}")}
        assert {member_id: sorted(parts) for member_id, parts in held.items()} == theirs


@each_capture
def test_no_partition_ever_had_two_owners(name: str, reported: Views) -> None:
    for group_id in consumer_groups(name):
        spans: dict[tuple[str, int], list[tuple[int, int]]] = {}
        for row in reported.about("assignments", f"{name}/{group_id}"):
            spans.setdefault((row.topic, row.partition), []).append((row.from_at, row.to_at or 2**60))
        assert spans
        for held in spans.values():
            held.sort()
            assert all(a[1] <= b[0] for a, b in pairwise(held)), group_id


@each_capture
def test_a_group_is_said_to_be_a_consumer_group_in_its_last_state(name: str, reported: Views) -> None:
    for group_id in consumer_groups(name):
        final = truth(name)["groups"][group_id]["final"]
        rows = reported.about("groups", f"{name}/{group_id}")
        if "members" not in final:
            assert rows == [], group_id
            continue
        (row,) = rows
        assert (row.group_type, row.state) == ("consumer", final["state"])
        assert (row.generation_id, row.member_count) == (final["group_epoch"], len(final["members"]))
        assert (row.next_deadline_at is None) == (not final["members"])


def test_who_held_the_others_up_until_it_was_fenced(reported: Views) -> None:
    rows = reported.about("rebalances", "q-consumer-slow/tiles-cache")
    (held,) = [row for row in rows if row.slowest_wait_ms is not None and row.slowest_wait_ms >= 10_000]
    assert (held.slowest_client_id, held.outcome) == ("tiles-cache-0", "superseded")
    waits = reported.about("join_waits", "q-consumer-slow/tiles-cache")
    (wait,) = [w for w in waits if w.to_generation_id == held.to_generation_id and w.client_id == "tiles-cache-0"]
    assert (wait.synced_at, wait.held_others_ms) == (None, held.slowest_wait_ms)


def test_only_who_was_removed_unheard_went_on_with_what_another_had(reported: Views) -> None:
    found = {(row.old_client_id, row.partition, row.overlap_ms) for row in reported.rows("double_owners")}
    assert found == {("pdf-make-1", 4, 507), *(("tiles-cache-0", partition, 7604) for partition in range(6))}


def test_a_session_runs_from_the_latest_heartbeat_and_no_commit(reported: Views) -> None:
    for row in reported.about("members", "o-consumer-protocol/seats-svc"):
        assert row.session_deadline_at == row.last_seen_at + 45_000
        assert (row.waits_for, row.synced_generation_id) == (None, None)
    slack = reported.about("heartbeat_slack", "o-consumer-protocol/seats-svc")
    assert all(4_000 <= row.longest_gap_ms <= 6_000 for row in slack if row.ended_at is None)


def test_a_group_is_of_the_type_that_it_was_converted_to_last(tmp_path: Path) -> None:
    story = Story("moving")
    story.join(1_000, "a")
    story.sync(5_000, "a", {"a": ["t1-0"]})
    classic = Story("classic")
    classic.join(1_000, "a")
    story.send(6_000, consumer_beat("m1", 0, 6_000, "moving"))
    write_effects(tmp_path, {"moving": story.rows, "classic": classic.rows})
    types = {row.group_id: row.group_type for row in Views(tmp_path).rows("groups")}
    assert types == {"moving": "consumer", "classic": "classic"}
    story.send(7_000, consumer_beat("m1", -1, 7_000, "moving"))
    later = tmp_path / "later"
    write_effects(later, {"moving": story.rows})
    (row,) = Views(later).about("groups", "moving")
    assert (row.group_type, row.state) == ("classic", "PreparingRebalance")


def test_an_absence_is_neither_a_gap_nor_a_near_miss(tmp_path: Path) -> None:
    story = Story("away")
    beats = [(1_000, 0), (6_000, 2), (20_000, 2), (21_000, -1), (321_000, 0), (326_000, 4)]
    for at_ms, epoch in beats:
        story.send(at_ms, consumer_beat("m1", epoch, at_ms, "away"))
    write_effects(tmp_path, {"away": story.rows})
    views = Views(tmp_path)
    assert views.rows("near_misses") == []
    slack = sorted(views.rows("heartbeat_slack"), key=lambda row: row.joined_at)
    assert [(row.joined_at, row.longest_gap_ms) for row in slack] == [(1_000, 14_000), (321_000, 5_000)]
    memberships = memberships_of(effects_in(all_facts(story)))
    known, unknown = slack_of(all_facts(story), memberships, Names(memberships))
    assert sorted(one.silent_ms for one in known) == [5_000, 14_000]
    assert unknown == []
