"""The course of a group's events: each finding has a time, stands where its first line stands, and is said once."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from rollcall.history.words import LONGEST_SENTENCE, short, some_that_fit
from rollcall.inputs.printed.lines.entries import DATED
from rollcall.inputs.printed.logged_rebalances import Finding
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.story import course
from tests.printed.printed import group_of
from tests.printed.recorded import CASES, groups_of_case

JAVA = "2026-03-01 03:{:02}:{:02},000 INFO [Consumer clientId=orders-1, groupId=orders] {} (o.a.k.c.c.i.X)"
UNTIMED = "[Consumer clientId=orders-1, groupId=orders] {} (org.apache.kafka.clients.consumer.internals.X)"
LOST = (
    "Group coordinator b:9092 (id: 2147483646 rack: null) is unavailable or invalid due to cause: coordinator "
    "unavailable. isDisconnected: true. Rediscovery will be attempted."
)
FOUND = "Discovered group coordinator b:9092 (id: 2147483646 rack: null)"
REFUSED = "Offset commit failed on partition orders-0 at offset 4: The coordinator is not aware of this member."
JOINED = "Successfully joined group with generation Generation{{generationId={}, memberId='orders-1-m', protocol='r'}}"
LEAVES = "consumer poll timeout has expired. This means the time between subsequent calls to poll() was too long."


def keys_of(events: Sequence[object]) -> list[str]:
    return [one.finding if isinstance(one, Finding) else "rebalance" for one in events]


@pytest.mark.parametrize("case", CASES)
def test_findings_stand_in_the_order_of_their_first_lines(case: str) -> None:
    for group in groups_of_case(case).values():
        times = [one.first.at_ms for one in group.findings if one.first.clock in DATED]
        assert times == sorted(times, key=lambda ms: ms or 0)


def test_findings_and_rebalances_are_one_sequence() -> None:
    group = group_of(
        JAVA.format(1, 0, FOUND),
        JAVA.format(2, 0, REFUSED),
        JAVA.format(3, 0, "(Re-)joining group"),
        JAVA.format(3, 1, JOINED.format(4).replace("{{", "{").replace("}}", "}")),
        JAVA.format(5, 0, LOST),
        JAVA.format(5, 1, FOUND),
    )
    events = [one for one in keys_of([*course(group)]) if one in ("commit_refused", "rebalance")]
    assert events == ["commit_refused", "rebalance"]
    assert keys_of([*course(group)])[-1] == "coordinator_lost_by_client"
    assert [one.moment for one in group.findings if one.finding == "commit_refused"] == ["2026-03-01T03:02:00.000"]


def test_findings_without_a_time_stand_in_the_order_of_the_lines() -> None:
    refused, lost = UNTIMED.format(REFUSED), [UNTIMED.format(LOST), UNTIMED.format(FOUND)]
    known = UNTIMED.format(FOUND)
    keys = ("commit_refused", "coordinator_lost_by_client")
    first = [one.finding for one in group_of(known, refused, *lost).findings if one.finding in keys]
    last = [one.finding for one in group_of(known, *lost, refused).findings if one.finding in keys]
    assert (first, last) == ([*keys], [*reversed(keys)])
    assert group_of(refused).findings[0].moment is None


def test_what_is_found_again_is_one_finding_that_says_how_often() -> None:
    unheard = "WARNING aiokafka.consumer.group_coordinator Heartbeat session expired - marking coordinator dead"
    joined = "INFO aiokafka.consumer.group_coordinator Joined group 'orders' (generation {}) with member_id m"
    lines = [
        f"2026-03-01 03:{minute:02}:00,000 {text}"
        for minute, text in ((1, joined.format(1)), (2, unheard), (3, joined.format(2)), (4, unheard))
    ]
    (silent,) = (one for one in group_of(*lines).findings if one.finding == "client_session_timer")
    assert silent.sentence.startswith("2 times within 2 min: ")
    assert len(silent.facts) == 2


def test_two_equal_lines_without_a_time_are_two_lines() -> None:
    lines = [UNTIMED.format(REFUSED)] * 2
    assert len(read_lines("app.log", lines).facts) == 2
    assert len(read_lines("app.log", [JAVA.format(1, 0, REFUSED)] * 2).facts) == 1
    doubled = [UNTIMED.format(text) for text in (FOUND, REFUSED, LOST) for _ in range(2)]
    assert len(read_lines("app.log", doubled).facts) == 3


def test_a_long_id_is_cut_in_its_middle_and_a_sentence_at_its_end() -> None:
    uuid = "6c1d0b29-57f7-4e52-9ffb-38d5ad112001"
    assert short(f"{'a' * 63}-{uuid} left.") == f"{'a' * 63}-{uuid} left."
    cut = short(f"{'a' * 300}-{uuid}: left.")
    assert cut.startswith("aaaa")
    assert cut.endswith(f"-{uuid}: left.")
    assert len(short("b" * 90 + " c" * 300)) <= LONGEST_SENTENCE
    assert some_that_fit(["a" * 90, "b" * 90, "c" * 90]) == f"{'a' * 90}, {'b' * 90} and 1 more"
    assert some_that_fit(["a" * 900]) == "a" * 900
