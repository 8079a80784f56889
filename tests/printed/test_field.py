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


@pytest.mark.parametrize("case", CASES)
def test_what_people_ask_is_answered_and_what_is_wrong_is_not_said(case: str) -> None:
    found = {finding.finding for group in groups_of_case(case).values() for finding in group.findings}
    assert found >= {*expected_of(case).get("findings", ())}
    assert not found & {*expected_of(case).get("no_findings", ())}


def test_partitions_that_a_line_only_counts_are_said_with_their_number() -> None:
    (group,) = groups_of_case("f32").values()
    assert any(" had begun to give 1 partition up, " in finding.sentence for finding in group.findings)
