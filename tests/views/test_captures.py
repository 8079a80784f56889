"""The views over recorded incidents of a real broker, beside what really happened."""

from __future__ import annotations

from pathlib import Path

import pytest

from rollcall.inputs.tolerances import TIMERS_TOGETHER_MS
from tests.request_log.truth import NAMES, groups, host_at
from tests.views.story import write_effects
from tests.views.view_rows import Views
from tests.why.reading import capture

NEAR_MS = 25
DEADLINES = ("session_expired", "rebalance_timeout", "sync_timeout")

pytestmark = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Views:
    """The views of a home with all incidents, each with its name before its groups'."""
    home: Path = tmp_path_factory.mktemp("home")
    for name in NAMES:
        write_effects(home, {f"{name}/{group_id}": rows for group_id, rows in capture(name).items()})
    return Views(home)


def test_rebalances_with_their_causes_and_culprits(name: str, reported: Views) -> None:
    for group_id, what in groups(name).items():
        ours = sorted(reported.about("rebalances", f"{name}/{group_id}"), key=lambda row: row.started_at)
        for row, true in zip(ours, what["rebalances"], strict=True):
            culprit = true["trigger"]
            assert (row.from_generation_id, row.cause) == (true["from_generation"], true["cause"])
            assert row.cause_member_id == culprit["member_id"]
            if culprit["instance_id"] is None:
                # The id that the client really used; some make one up, whatever they are configured with.
                assert row.cause_client_id == culprit["member_id"][:-37]
            assert row.cause_client_host == "/" + host_at(name, culprit["member"], true["t_prepare_ms"])
            assert row.cause_group_instance_id == culprit["instance_id"]
            assert abs(row.started_at - true["t_prepare_ms"]) <= NEAR_MS
            if true["completed"]:
                assert (row.to_generation_id, row.members_after) == (true["to_generation"], true["members"])


def test_who_joined_each_generation_and_when(name: str, reported: Views) -> None:
    for group_id, what in groups(name).items():
        waits = [row for row in reported.about("join_waits", f"{name}/{group_id}") if row.joined_at is not None]
        for true in what["rebalances"]:
            if not true["completed"]:
                continue
            came = [row for row in waits if row.to_generation_id == true["to_generation"]]
            assert len(came) == true["members"], (group_id, true["to_generation"])
            for row in came:
                assert true["t_prepare_ms"] - NEAR_MS <= row.joined_at
                assert row.joined_at <= true["t_join_complete_ms"] + NEAR_MS


def test_memberships_and_how_they_ended(name: str, reported: Views) -> None:
    for group_id, what in groups(name).items():
        sessions = reported.about("sessions", f"{name}/{group_id}")
        still = {(s.member_id, s.client_id, s.client_host, s.group_instance_id) for s in sessions if s.ended_at is None}
        assert {(member_id, client_id, instance_id) for member_id, client_id, _, instance_id in still} == {
            (m["member_id"], m["client_id"], m["instance_id"]) for m in what["final"]["members"]
        }
        failed = [s for s in sessions if s.end_cause in DEADLINES]
        assert len(failed) == what["summary"]["failed_members"]
        for true in what["rebalances"]:
            if true["cause"] in ("session_expired", "member_left"):
                (gone,) = [s for s in sessions if s.member_id == true["trigger"]["member_id"]]
                assert gone.end_cause == true["cause"]
                assert abs(gone.ended_at - true["t_prepare_ms"]) <= NEAR_MS


def test_who_owns_what_in_the_end(name: str, reported: Views) -> None:
    for group_id, what in groups(name).items():
        owned: dict[str, list[str]] = {member["member_id"]: [] for member in what["final"]["members"]}
        for row in reported.about("assignments", f"{name}/{group_id}"):
            if row.to_at is None:
                owned[row.member_id].append(f"{row.topic}-{row.partition}")
        assert {member_id: sorted(held) for member_id, held in owned.items()} == {
            member["member_id"]: sorted(member["assignment"]) for member in what["final"]["members"]
        }


def test_slack_runs_out_for_those_that_expired_and_for_nobody_else(name: str, reported: Views) -> None:
    for group_id in groups(name):
        slack = reported.about("heartbeat_slack", f"{name}/{group_id}")
        assert len(slack) == len(reported.about("sessions", f"{name}/{group_id}"))
        for row in slack:
            if row.end_cause == "session_expired":
                # Of sessions that are over at about the same time it is open which ended first.
                assert row.slack_ms <= TIMERS_TOGETHER_MS
                assert row.longest_gap_ms >= row.session_timeout_ms - TIMERS_TOGETHER_MS
            elif row.longest_gap_ms is not None:
                assert row.slack_ms > 0


def test_an_old_owner_was_refused_before_any_request_of_its_was_taken(name: str, reported: Views) -> None:
    for group_id, rows in capture(name).items():
        for row in reported.about("double_owners", f"{name}/{group_id}"):
            taken = [
                fact.at_ms
                for fact in rows
                if fact.effect == "reply" and (fact.member_id, fact.error_code) == (row.old_member_id, "NONE")
                if fact.api in ("Heartbeat", "ConsumerGroupHeartbeat") and (fact.generation_id or 0) > 0
            ]
            assert [at_ms for at_ms in taken if row.lost_at < (at_ms or 0) <= row.last_acted_at] == []


def test_which_partitions_two_members_took_for_theirs(name: str, reported: Views) -> None:
    found = {
        (row.group_id.partition("/")[2], row.old_client_id, row.partition)
        for group_id in capture(name)
        for row in reported.about("double_owners", f"{name}/{group_id}")
        if row.error_code == "UNKNOWN_MEMBER_ID"
    }
    assert found == {("grp-34", "grp-34-m0", partition) for partition in (0, 3, 6, 9) if name == "j-busy-1"}
