"""What an application or a reporter puts behind a client's message takes no line away, and gets into no name."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.logged_facts import BROKER, FactKind
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.templates import Template
from tests.printed.printed import FILLED, line_of, said_by

FREE = ("", "reason", "error", "partitions", "client_reason")
"""Fields that hold any text: what stands behind them may be theirs."""
OWN_FIELDS = ("franz-go", "kafkajs")
"""Those that print fields themselves: any field behind the message is one of theirs."""
TAILS = (
    ", connector = a",
    " connector=a",
    "; connector: a, table: b",
    ' {"connector": "a"}',
    ". connector=a",
)
MARKS = ('"', "**", ".", '",', "'.")
TEMPLATES = [
    (dialect, template)
    for dialect in DIALECTS
    for template in dialect.templates.all
    if dialect.name not in (BROKER, *OWN_FIELDS) and (template.literals[-1] or template.names[-1] not in FREE)
]


def check(dialect: Dialect, template: Template, tail: str) -> None:
    read = read_lines("app.log", [dialect.example.replace("{}", line_of(template) + tail)])
    (fact,) = read.facts
    assert (fact.dialect, fact.kind) == (dialect.name, template.kind)
    for name in template.names:
        if name not in (*FREE, "number", "old_state", "broker_id", "client_id"):
            assert getattr(fact, name) == FILLED[name][1]


def ids(cases: list[tuple[Dialect, Template]]) -> list[str]:
    return [f"{dialect.name}-{template.text[:60]}" for dialect, template in cases]


@pytest.mark.parametrize("tail", TAILS)
@pytest.mark.parametrize(("dialect", "template"), TEMPLATES, ids=ids(TEMPLATES))
def test_fields_behind_a_message_are_no_part_of_it(dialect: Dialect, template: Template, tail: str) -> None:
    check(dialect, template, tail)


@pytest.mark.parametrize("tail", MARKS)
@pytest.mark.parametrize(("dialect", "template"), TEMPLATES, ids=ids(TEMPLATES))
def test_marks_of_a_paste_behind_a_message_are_no_part_of_it(dialect: Dialect, template: Template, tail: str) -> None:
    check(dialect, template, tail)


@pytest.mark.parametrize("tail", [*TAILS, *MARKS])
@pytest.mark.parametrize("last", ["generation: 12", "member_id: m", "group: orders"])
def test_nor_of_franz_go_s_last_field(last: str, tail: str) -> None:
    fields = [one for one in ("group: orders", "member_id: m", "generation: 12") if one != last]
    (fact,) = read_lines("app.log", [f"[INFO] joined; {', '.join([*fields, last])}{tail}"]).facts
    assert (fact.kind, fact.group_id, fact.member_id, fact.generation_id) == (FactKind.JOINED, "orders", "m", 12)


def test_a_client_s_message_in_a_broker_s_line_is_the_reason_of_a_leave() -> None:
    line = (
        "[2026-03-01 03:12:00,417] INFO [GroupCoordinator 1]: Preparing to rebalance group g in state "
        "PreparingRebalance with old generation 1 (reason: Removing member m on LeaveGroup; client reason: [Consumer "
        "clientId=c, groupId=other] (Re-)joining group, x=) (kafka.coordinator.group.GroupCoordinator)"
    )
    assert [(fact.dialect, fact.group_id) for fact in read_lines("server.log", [line]).facts] == [(BROKER, "g")]


def test_a_number_that_a_reporter_prints_bold_is_one() -> None:
    line = (
        "%4|1772334720.417|MAXPOLL|orders-1#consumer-1| [thrd:main]: Application maximum poll interval (300000ms) "
        "exceeded by **55ms** (adjust max.poll.interval.ms for long-running message processing): leaving group."
    )
    (fact,) = read_lines("app.log", [line]).facts
    assert (fact.kind, fact.length_ms) == (FactKind.POLL_TIMEOUT, 55)


LEFT = Template(FactKind.CLOSED, "Member {member_id} has left the group")


@pytest.mark.parametrize(
    "behind", [" of b", "s: b", ": b", ", error: x", "; err=x", ", reason: it came back", " a = b = c d", ".x=1"]
)
def test_more_words_or_an_error_behind_a_message_make_another_one(behind: str) -> None:
    said = said_by(LEFT, f"Member m has left the group{behind}", by_client=True)
    assert (said is None) == (behind != " a = b = c d")


@pytest.mark.parametrize("tail", [*TAILS, *MARKS])
def test_nothing_is_cut_off_a_broker_s_message(tail: str) -> None:
    assert said_by(LEFT, f"Member m has left the group{tail}") is None


@pytest.mark.parametrize("name", ["my group: a", "a, b", "a=b", "a (b)"])
def test_a_name_at_the_end_keeps_its_own_marks(name: str) -> None:
    joins = Template(FactKind.JOIN_SENT, "(Re-)joining group {group_id}")
    assert said_by(joins, f"(Re-)joining group {name}", by_client=True) == ({"group_id": name}, True)
