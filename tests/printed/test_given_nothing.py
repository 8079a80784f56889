"""Members that are given no partition: what their own lines prove, in each client's words."""

from __future__ import annotations

import json

import pytest

from rollcall.inputs.printed.groups.leaders import listed
from rollcall.inputs.printed.groups.logged_holdings import given_by_leaders
from rollcall.inputs.printed.logged_partitions import partitions_in
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in
from tests.printed.printed import MEMBER, OTHER, group_of

FRANZ_JOINED = f"[INFO] joined; group: orders, member_id: {MEMBER}, instance_id: <nil>, generation: 3, leader: false"


def found_of(*lines: str) -> list[str]:
    return [one.finding for one in group_of(*lines).findings]


@pytest.mark.parametrize("behind", ["", " "])
def test_franz_go_prints_nothing_behind_a_key_without_partitions(behind: str) -> None:
    synced, begun = read_lines(
        "app.log",
        [
            f"[INFO] synced; group: orders, assigned:{behind}",
            f"[INFO] new group session begun; group: orders, added: , lost:{behind}",
        ],
    ).facts
    assert (synced.group_id, begun.group_id) == ("orders", "orders")
    assert (synced.partitions, begun.partitions) == ("{}", "{}")


def test_a_member_of_franz_go_that_is_given_nothing_is_idle() -> None:
    begun = "[INFO] new group session begun; group: orders, added: , lost: "
    nothing, of_one = "[INFO] synced; group: orders, assigned: ", "[INFO] synced; group: orders, assigned: orders[0]"
    assert found_of(FRANZ_JOINED, nothing, begun) == ["idle_member", "more_members_than_partitions"]
    assert found_of(FRANZ_JOINED, of_one, begun) == []


def test_franz_go_s_own_logger_names_the_partitions_of_a_topic_behind_it() -> None:
    (synced,) = read_lines("app.log", ["[INFO] synced; group: orders, assigned: orders[0 12], bills.eu[3]"]).facts
    assert partitions_in(synced) == {("orders", 0), ("orders", 12), ("bills.eu", 3)}


def test_a_session_that_adds_nothing_does_not_say_that_the_member_owns_nothing() -> None:
    begun = "[INFO] new group session begun; group: orders, added: , lost: "
    (given,) = group_of(begun).findings
    assert given.finding == "given_nothing"
    assert "it kept those that it had before these lines" in given.candidates
    assert found_of(f"{begun}orders[0]") == []
    lost = {"message": "new group session begun", "group": "orders", "added": {}, "lost": {"orders": [0]}}
    assert found_of(json.dumps(lost)) == []


@pytest.mark.parametrize(
    ("assigned", "expected"),
    [
        ({}, ["idle_member", "more_members_than_partitions"]),
        ({"orders": [], "bills": []}, ["idle_member", "more_members_than_partitions"]),
        ({"orders": [], "bills": [2]}, []),
    ],
)
def test_a_member_of_kafkajs_that_is_given_nothing_is_idle(assigned: object, expected: list[str]) -> None:
    joined = {
        "level": "INFO",
        "timestamp": "2026-03-01T03:12:00.417Z",
        "logger": "kafkajs",
        "message": "[ConsumerGroup] Consumer has joined the group",
        "groupId": "orders",
        "memberId": MEMBER,
        "leaderId": OTHER,
        "memberAssignment": assigned,
    }
    assert found_of(json.dumps(joined)) == expected


def test_a_member_of_brod_that_is_given_nothing_is_idle() -> None:
    heading = "[info] Group member (orders,coor=<0.412.0>,cb=<0.410.0>,generation=13):"
    idle = ["idle_member", "more_members_than_partitions"]
    assert found_of(heading, "elected=false", heading, "assignments received:[]") == idle


def test_what_kafka_python_gives_is_all_that_it_gives() -> None:
    def complete(at: str, assigned: str) -> str:
        head = f"2026-03-01 03:12:{at},000 - kafka.coordinator - INFO - Cooperative rebalance complete for group orders"
        return f"{head}: owned=x, assigned={assigned}, revoked=x, added=x"

    files = {
        "a.log": [complete("00", "[orders-0, orders-1]"), complete("10", "[orders-0]")],
        "b.log": [complete("10", "[orders-2]")],
    }
    (group,) = groups_in(merged([read_lines(name, lines) for name, lines in files.items()]))
    missing = [one.sentence for one in group.findings if one.finding == "partitions_missing"]
    assert missing == ["These 2 clients were not given partition 1 of orders: others have them, or nobody has."]


def test_a_client_id_may_have_blanks() -> None:
    head = "[2026-03-01 03:12:00,417] INFO [Consumer clientId=a, groupId=orders]"
    blank = f"my {MEMBER}"
    given = f"{{{blank}=Assignment(partitions=[orders-0]), {OTHER}=Assignment(partitions=[orders-1])}}"
    group = group_of(f"{head} Finished assignment for group at generation 3: {given}")
    assert listed(group.facts[0]) == [blank, OTHER]
    assert given_by_leaders(group.facts) == {
        (3, blank): {frozenset({("orders", 0)})},
        (3, OTHER): {frozenset({("orders", 1)})},
    }
