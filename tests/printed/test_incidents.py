"""Incidents recorded anew against a real Kafka: what explain says of them, against what their driver did.

From the brokers' logs alone, from all logs together, and from the members' alone.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import pytest

from rollcall.inputs.printed.logged_rebalances import LoggedGroup, LoggedRebalance, configured_id
from rollcall.inputs.printed.reading import merged, read_files
from rollcall.inputs.printed.story import groups_in
from rollcall.inputs.printed.wording import cause_sentence, who_of
from rollcall.schemas.causes import CauseKind
from tests.printed.recorded import INCIDENTS, LOGS, truth_of_incident


class Figures(NamedTuple):
    """Of an incident's rebalances: how many causes are reported as certain, as one that fits, and not at all."""

    certain: int
    fits: int
    unknown: int


FIGURES = {
    ("late-polls", "brokers"): Figures(9, 3, 0),
    ("late-polls", "all"): Figures(11, 1, 0),
    ("late-polls", "members"): Figures(2, 10, 0),
    ("killed", "brokers"): Figures(8, 1, 0),
    ("killed", "all"): Figures(8, 1, 0),
    ("killed", "members"): Figures(0, 8, 1),
    ("rebalance-and-sync-timeouts", "brokers"): Figures(9, 0, 0),
    ("rebalance-and-sync-timeouts", "all"): Figures(9, 0, 0),
    ("rebalance-and-sync-timeouts", "members"): Figures(0, 8, 1),
    ("coordinator-moves", "brokers"): Figures(6, 1, 0),
    ("coordinator-moves", "all"): Figures(6, 1, 0),
    ("coordinator-moves", "members"): Figures(0, 7, 0),
    ("coordinator-crashes", "brokers"): Figures(8, 1, 0),
    ("coordinator-crashes", "all"): Figures(9, 0, 0),
    ("coordinator-crashes", "members"): Figures(2, 6, 1),
    ("late-in-a-rebalance", "brokers"): Figures(8, 1, 0),
    ("late-in-a-rebalance", "all"): Figures(8, 1, 0),
    ("late-in-a-rebalance", "members"): Figures(0, 8, 1),
    # Looked at only when all else was done, and reported as they are.
    ("consumer-protocol", "brokers"): Figures(9, 3, 0),
    ("consumer-protocol", "all"): Figures(10, 2, 0),
    ("consumer-protocol", "members"): Figures(0, 4, 5),
    ("rolling-restart", "brokers"): Figures(7, 3, 0),
    ("rolling-restart", "all"): Figures(9, 1, 0),
    ("rolling-restart", "members"): Figures(3, 7, 0),
    ("stopped-processes", "brokers"): Figures(10, 0, 0),
    ("stopped-processes", "all"): Figures(10, 0, 0),
    ("stopped-processes", "members"): Figures(0, 10, 0),
    ("cooperative", "brokers"): Figures(10, 0, 0),
    ("cooperative", "all"): Figures(10, 0, 0),
    ("cooperative", "members"): Figures(4, 6, 0),
}
OF_EPOCHS = ("consumer-protocol", "members")
NOT_NAMED = {OF_EPOCHS: (7, 11, 12)}
"""Epochs that the members with a log had no change in, so that none of their lines names them."""


@cache
def group_of(name: str, whose: str) -> LoggedGroup:
    """What these logs of an incident say of its group."""
    files = [str(path) for pattern in LOGS[whose] for path in sorted((INCIDENTS / name).glob(pattern))]
    groups = {group.group_id: group for group in groups_in(merged(read_files(files)))}
    return groups[truth_of_incident(name)["group_id"]]


def pairs(name: str, whose: str) -> list[tuple[dict[str, Any], LoggedRebalance]]:
    """Each rebalance that there was, beside what is said of it."""
    by_generation = {one.generation_id: one for one in group_of(name, whose).rebalances}
    known = truth_of_incident(name)["rebalances"]
    return [(true, by_generation[true["generation_id"]]) for true in known if true["generation_id"] in by_generation]


def causes_found(one: LoggedRebalance) -> set[str]:
    """The cause, or all that are said to fit."""
    return {str(candidate.kind) for candidate in one.cause.candidates} or {str(one.cause.kind)} - {"unknown"}


@pytest.mark.parametrize(("name", "whose"), FIGURES)
def test_every_rebalance_is_found_and_none_besides(name: str, whose: str) -> None:
    generations = [one.generation_id for one in group_of(name, whose).rebalances if one.generation_id is not None]
    known = [true["generation_id"] for true in truth_of_incident(name)["rebalances"]]
    assert generations == [one for one in known if one not in NOT_NAMED.get((name, whose), ())]


@pytest.mark.parametrize(("name", "whose"), FIGURES)
def test_no_cause_and_no_culprit_is_reported_and_wrong(name: str, whose: str) -> None:
    clients: dict[str, str] = {}
    for true, one in pairs(name, whose):
        assert true["cause"] in causes_found(one) or not causes_found(one), true
        who = configured_id(who_of(one.cause))
        if who and group_of(name, whose).group_type == "consumer" and who == one.cause.member_id:
            assert clients.setdefault(who, true["client_id"]) == true["client_id"]  # An id that names no client.
        elif true["client_id"]:
            assert who in ("", true["client_id"], true.get("instance_id")), true


@pytest.mark.parametrize(("name", "whose"), FIGURES)
def test_as_many_causes_are_known_as_the_lines_allow(name: str, whose: str) -> None:
    found = [one for _, one in pairs(name, whose)]
    certain = sum(not one.cause.is_inferred and one.cause.kind is not CauseKind.UNKNOWN for one in found)
    unknown = sum(not causes_found(one) for one in found)
    assert Figures(certain, len(found) - certain - unknown, unknown) == FIGURES[name, whose]


@pytest.mark.parametrize("whose", LOGS)
def test_who_held_the_others_is_named(whose: str) -> None:
    held = [(true["held_by"], one) for true, one in pairs("rebalance-and-sync-timeouts", whose) if "held_by" in true]
    assert len(held) == 2
    for client_id, one in held:
        assert one.held_by is not None
        assert one.held_by.member_id.startswith(f"{client_id}-")
        assert one.held_by.is_inferred == (whose == "members")


def test_members_of_the_newer_protocol_say_which_epochs_there_were_and_who_fits_as_the_cause() -> None:
    found = {one.generation_id: one.cause for one in group_of(*OF_EPOCHS).rebalances}
    known = {number: (cause.kind, cause.client_id) for number, cause in found.items() if cause.client_id}
    assert known == {
        2: ("member_joined", "tiles-java"),
        5: ("member_joined", "tiles-java-2"),
        9: ("poll_timeout", "tiles-java-2"),
        10: ("member_joined", "tiles-java-2"),
    }
    assert all(cause.is_inferred for cause in found.values() if cause.client_id)
    assert "polled_again" in {one.finding for one in group_of(*OF_EPOCHS).findings}


def test_a_member_s_own_log_gives_the_id_of_a_broker_s_line_its_client_s_name() -> None:
    named = [(true["client_id"], one.cause.client_id) for true, one in pairs("consumer-protocol", "all")]
    assert [client_id for _, client_id in named if client_id] == ["tiles-java", *["tiles-java-2"] * 4]
    assert all(client_id in ("", true) for true, client_id in named)
    assert not any(one.cause.client_id for _, one in pairs("consumer-protocol", "brokers"))


def test_a_java_leader_s_list_names_who_came_and_who_went_without_a_log() -> None:
    of_conf = [(true, one) for true, one in pairs("late-polls", "members") if true["client_id"] == "orders-conf"]
    assert [one.cause.kind for _, one in of_conf] == ["member_joined", "unknown", "member_joined"]
    assert all(one.cause.client_id == "orders-conf" and one.cause.is_inferred for _, one in of_conf)
    assert CauseKind.POLL_TIMEOUT in causes_found(of_conf[1][1])
    assert cause_sentence(of_conf[1][1]).startswith("orders-conf set it off (inferred; left, polled too")
    own = next(one for true, one in pairs("killed", "members") if true["cause"] == "member_left")
    assert cause_sentence(own).startswith("pay-aio set it off (left or polled too")


def test_of_two_clients_that_each_set_a_rebalance_off_neither_is_reported_as_the_one() -> None:
    alone, known = group_of("cooperative", "members").rebalances, group_of("cooperative", "brokers").rebalances
    for one, of_broker in zip(alone, known, strict=True):
        assert one.cause.is_inferred or one.cause.client_id == of_broker.cause.client_id
    assert cause_sentence(alone[4]).endswith("(inferred; possible: cart-java or cart-java-2).")


def test_a_coordinator_that_is_lost_and_found_again_and_again_is_reported_once() -> None:
    found = [one for one in group_of("coordinator-crashes", "members").findings if "coordinator_lost" in one.finding]
    assert len(found) == 5
    assert found[0].sentence.startswith(
        "ret-java took its coordinator for unavailable and found the same broker 2 again 26"
    )


def test_a_coordinator_that_kafka_python_names_in_its_own_way_did_not_move() -> None:
    findings = {one.finding for one in group_of("stopped-processes", "members").findings}
    assert "coordinator_moved" not in findings


def test_a_member_that_died_long_after_the_coordinator_had_loaded_its_group_is_not_said_to_have_been_silent() -> None:
    findings = {one.finding for one in group_of("coordinator-crashes", "brokers").findings}
    assert "never_spoke_with_the_new_coordinator" not in findings
