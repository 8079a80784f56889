"""Reports as people paste them: each rebalance that their lines prove, with its times, cause, culprit and holder."""

from __future__ import annotations

from typing import Any

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedRebalance
from rollcall.inputs.printed.wording import own_part
from tests.printed.recorded import CASES, expected_of, groups_of_case

READ = (
    "server.log",
    "java client",
    "connect worker",
    "kafka streams",
    "franz-go",
    "kafka-go",
    "sarama",
    "kafkajs",
    "kafka-node",
    "Azure Event Hubs",
    "librdkafka",
    "kafka-python",
    "aiokafka",
)
CASES_READ = [case for case in CASES if expected_of(case)["kind"].startswith(READ)]
"""The reports whose lines are understood."""
CALLED = {"leader_rejoined": "member_rejoined", "poll_timeout_left": "poll_timeout"}
"""What the reports call causes that have another name here."""


def expected_rebalances(case: str) -> list[tuple[dict[str, Any], LoggedRebalance]]:
    """Each rebalance that a right answer has, beside ours."""
    found: list[tuple[dict[str, Any], LoggedRebalance]] = []
    for group_id, group in expected_of(case)["groups"].items():
        wanted = group.get("rebalances", [])
        ours = groups_of_case(case)[group_id].rebalances if wanted else []
        assert [one.generation_id for one in ours] == [one["generation_or_epoch"] for one in wanted]
        found += zip(wanted, ours, strict=True)
    return found


def culprit_of(one: LoggedRebalance) -> str | None:
    """Who set it off; of lines that a client may have written, the only candidate."""
    fits = {each.member_id for each in one.cause.candidates} if any(fact.may_be_forged for fact in one.facts) else set()
    return (min(fits) if len(fits) == 1 else one.cause.member_id) or None


@pytest.mark.parametrize("case", CASES_READ)
def test_no_group_is_invented(case: str) -> None:
    assert groups_of_case(case).keys() <= expected_of(case)["groups"].keys()


@pytest.mark.parametrize("case", CASES_READ)
def test_times_are_those_of_the_lines(case: str) -> None:
    for wanted, one in expected_rebalances(case):
        moments = [one.moment(ms) for ms in (one.began_at_ms, one.joined_at_ms, one.ended_at_ms)]
        times = [moment and moment.removesuffix("Z") for moment in moments]
        assert times == [wanted[key] and wanted[key].replace(" ", "T") for key in ("began", "joined_at", "ended")]


@pytest.mark.parametrize("case", CASES_READ)
def test_cause_and_culprit_are_those_that_the_lines_prove(case: str) -> None:
    for wanted, one in expected_rebalances(case):
        cause = wanted.get("cause_not_in_list") or wanted["cause"]
        assert one.cause.kind == CALLED.get(cause, cause)
        assert culprit_of(one) == wanted["culprit"]


@pytest.mark.parametrize("case", CASES_READ)
def test_nothing_is_more_certain_than_the_lines(case: str) -> None:
    for wanted, one in expected_rebalances(case):
        if wanted["certainty"] != "fact":
            assert one.cause.is_inferred or one.cause.kind == "unknown"


@pytest.mark.parametrize("case", CASES_READ)
def test_who_held_the_others_is_named_where_the_lines_name_him(case: str) -> None:
    for wanted, one in expected_rebalances(case):
        held = wanted.get("held_by")
        assert (held is None) == (one.held_by is None)
        if held is not None and one.held_by is not None:
            assert (one.held_by.member_id or None, one.held_by.length_ms) == (held["member"], held["ms"])
            assert one.held_by.is_inferred == (held["certainty"] == "inferred")


@pytest.mark.parametrize("case", CASES_READ)
def test_what_a_client_shows_of_its_part_is_said(case: str) -> None:
    for wanted, one in expected_rebalances(case):
        if "own_part" in wanted:
            assert (own_part(one), one.members) == (wanted["own_part"], wanted["members"])


WANTED = {
    "f08": {"initial_delay"},
    "f11": {"id_without_a_join"},
    "f13": {"restart_without_leave"},
    "f14": {"restart_without_leave", "coordinator_moved"},
    "f17": {"revocation_never_confirmed", "owners"},
    "f20": {"application_does_not_poll", "revoke_callback_stuck"},
    "f23": {"coordinator_named_but_denies"},
    "f25": {"coordinator_lost_by_client", "generations_missing", "partitions_missing"},
    "f28": {"worker_rejoins_in_a_loop", "generation_does_not_move", "config_log_empty", "different_config_topics"},
    "f44": {"commit_refused", "two_consumers_on_one_partition"},
    "f46": {"others_gone"},
    "f47": {"over_capacity"},
    "f51": {"leader_behind_configs", "assignment_refused", "different_config_topics"},
    "f54": {"common_cause"},
    "f57": {"offsets_refused"},
    "f65": {"coordinator_refuses_syncs"},
    "f66": {"client_learned_of_it"},
    "f68": {"another_member"},
    "f70": {"client_session_timer", "client_learned_of_it"},
    "f72": {"owners"},
    "f76": {"silent_since_assigned"},
    "f77": {"owners", "joined_twice"},
    "f84": {"coordinator_lost_by_client", "coordinator_cannot_be_used"},
    "f86": {"silent_since_assigned"},
    "f89": {"commit_refused"},
    "f80": {"static_member_replaced", "instance_id_owned"},
    "f83": {"owners"},
}
"""What else a right answer says of some reports."""
WRONG = {
    "f53": {"coordinator_moved", "coordinator_not_found"},
    "f65": {"assignment_refused", "coordinator_moved", "owners"},
    "f70": {"expired_at_coordinator"},
    "f84": {"coordinator_moved", "coordinator_not_found"},
}
"""What would be wrong of some."""


@pytest.mark.parametrize("case", WANTED)
def test_what_people_ask_is_answered(case: str) -> None:
    groups = groups_of_case(case).values()
    assert WANTED[case] <= {finding.finding for group in groups for finding in group.findings}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_not_said(case: str) -> None:
    for group in groups_of_case(case).values():
        assert not WRONG[case] & {finding.finding for finding in group.findings}


def test_partitions_that_a_line_only_counts_are_said_with_their_number() -> None:
    (group,) = groups_of_case("f32").values()
    assert any(" had begun to give 1 partition up, " in finding.sentence for finding in group.findings)
