"""One absurd line ends nothing: what no calendar, no column or no reader takes is left out, and the rest is read."""

from __future__ import annotations

from datetime import tzinfo
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from rollcall.inputs.explained_files import Answer
from rollcall.inputs.printed import story
from rollcall.inputs.printed.groups.logged_effects import effects_of
from rollcall.inputs.printed.groups.logged_members import Members
from rollcall.inputs.printed.growing_log import CUT, GrowingLog
from rollcall.inputs.printed.lines import wrappings
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.reading import in_zone, read_lines
from rollcall.inputs.printed.story import NOT_FOLLOWED, groups_in
from rollcall.inputs.printed.templates import Template, Templates
from rollcall.shown.explained_json import as_json

SAID = "Stabilized group orders generation 5 with 2 members"
HONEST = "[2026-03-01 03:12:00,000] INFO [GroupCoordinator 1]: Stabilized group payments generation 7 with 1 members"
ZONES = (None, ZoneInfo("UTC"), ZoneInfo("America/New_York"), ZoneInfo("Pacific/Kiritimati"))


def json_at(time: str) -> str:
    return f'{{"message":"[GroupCoordinator 1]: {SAID}","ts":{time}}}'


def text_at(time: str) -> str:
    return f"[{time}] INFO [GroupCoordinator 1]: {SAID}"


@pytest.mark.parametrize("zone", ZONES, ids=str)
@pytest.mark.parametrize(
    "line",
    [
        *map(json_at, ("1e999", "-1e999", "NaN", "Infinity", "1e30", "9" * 40, "9" * 5000, "-99999999999999", '"x"')),
        *map(text_at, ("9999-12-31T23:59:59,999-99:99", "0001-01-01T00:00:00,000+99:99", "0000-01-01 00:00:00,000")),
        *map(text_at, ("9999-12-31 23:59:59,999", "0001-01-01 00:00:00,000", "2026-99-01 00:00:00,000")),
        f"Dec 31, 9999 11:59:59 PM some.Class method\nINFO: {SAID}",
        f"Dec 31, 9999 @ 23:59:59.999 {SAID}",
    ],
)
def test_a_time_that_no_calendar_has_is_no_time(line: str, zone: tzinfo | None) -> None:
    read = read_lines("server.log", [*line.split("\n"), HONEST])
    read.facts = in_zone(read.facts, zone)
    groups = groups_in(read.facts)
    assert groups[-1].group_id == "payments"
    assert as_json(Answer([read], groups, []), groups)["groups"]
    assert all(fact.at_ms is None for fact in read.facts if fact.group_id == "orders")
    assert [effects_of(group) for group in groups if group.group_id == "payments"] != [[]]


@pytest.mark.parametrize(
    "said",
    [
        "Stabilized group orders generation 5 with -1 members",
        "Stabilized group orders generation 2147483647 with 2 members",
        "Stabilized group orders generation 5 with 2147483647 members",
        "Stabilized group orders generation \u0665 with 2 members",
        "Stabilized group orders generation 5 (__consumer_offsets--7) with 2 members",
    ],
)
def test_a_number_that_no_column_holds_is_none(said: str) -> None:
    read = read_lines("server.log", [text_at("2026-03-01 03:12:00,000").replace(SAID, said), HONEST])
    assert {fact.members for fact in read.facts} <= {None, 1}
    assert {fact.generation_id for fact in read.facts} <= {None, 5, 7}
    assert read.facts[-1].group_id == "payments"


def test_a_partition_that_is_no_number_is_left_out() -> None:
    line = '{"level":"INFO","logger":"kafkajs","message":"[ConsumerGroup] Consumer has joined the group",'
    line += '"groupId":"orders","memberId":"m","memberAssignment":{"t":[1e999]}}'
    assert groups_in(read_lines("app.log", [line]).facts)[0].group_id == "orders"


def test_a_number_of_partitions_that_python_does_not_read_is_none() -> None:
    begins = '%7|1772334720.417|ASSIGN|orders-1#consumer-1| [thrd:main]: Group "orders": delegating '
    ends = " partition(s) to application on queue x: x"
    lines = [f"{begins}revoke of {'9' * 4_400}{ends}", f"{begins}assign of 1{ends}"]
    read = read_lines("app.log", lines)
    assert len(read.facts) == 2
    (group,) = groups_in(read.facts)
    assert NOT_FOLLOWED not in {found.finding for found in group.findings}


def test_a_generation_of_other_digits_is_none() -> None:
    (fact,) = read_lines("app.log", ["[INFO] joined; group: orders, member_id: m, generation: ²"]).facts
    assert fact.generation_id is None


@pytest.fixture
def breaking(monkeypatch: pytest.MonkeyPatch) -> None:
    """Templates that raise at messages about one group."""
    match = Templates.match

    def broken(templates: Templates, text: str, **options: bool) -> tuple[Template, list[Any], bool] | None:
        if "orders" in text:
            raise OverflowError("too large")
        return match(templates, text, **options)

    monkeypatch.setattr(Templates, "match", broken)


@pytest.mark.usefixtures("breaking")
def test_a_line_that_a_reader_fails_at_is_left_out_and_named() -> None:
    read = read_lines("server.log", [HONEST, text_at("2026-03-01 03:12:00,000"), HONEST])
    assert {fact.group_id for fact in read.facts} == {"payments"}
    assert [note for note in read.notes if note.endswith("2 (OverflowError: too large)")]


@pytest.mark.usefixtures("breaking")
def test_a_line_that_a_reader_fails_at_is_kept_apart_where_a_log_grows() -> None:
    log = GrowingLog("server.log", ZoneInfo("UTC"))
    read = log.read([(1, text_at("2026-03-01 03:12:00,000")), (2, HONEST)], is_pause=True)
    assert [fact.group_id for fact in read.facts] == ["payments"]
    assert [(entry.line_number, why) for entry, why in read.doubtful] == [(1, "OverflowError: too large")]


def test_an_entry_that_is_cut_is_named_where_a_log_grows() -> None:
    log = GrowingLog("server.log", ZoneInfo("UTC"))
    lines = [HONEST, *["\tat a.b"] * 10_001]
    read = log.read([*enumerate(lines, 1)], is_pause=True)
    assert [fact.group_id for fact in read.facts] == ["payments"]
    assert [(entry.line_number, why) for entry, why in read.doubtful] == [(1, CUT)]


def test_a_line_whose_layout_cannot_be_read_is_left_out_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out_line = wrappings._laid_out_line

    def broken(file: str, number: int, line: str) -> Entry:
        if "orders" in line:
            raise RecursionError("too deep")
        return laid_out_line(file, number, line)

    monkeypatch.setattr(wrappings, "_laid_out_line", broken)
    read = read_lines("server.log", [HONEST, text_at("2026-03-01 03:12:00,000")])
    assert [fact.group_id for fact in read.facts] == ["payments"]
    assert [note for note in read.notes if note.endswith("2 (RecursionError: too deep)")]


def test_a_group_whose_lines_cannot_be_followed_is_named_and_the_others_are_followed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(Members, "known", lambda *_: 1 // 0)
    led = "Assignment received from leader m for group orders for generation 5. The group has 2 members, "
    failing = text_at("2026-03-01 03:12:00,000").replace(SAID, led + "0 of which are static")
    orders, payments = groups_in(read_lines("server.log", [failing, HONEST]).facts)
    (finding,) = orders.findings
    assert finding.finding == story.NOT_FOLLOWED
    assert finding.sentence.startswith("Rollcall failed to follow the lines of this group (ZeroDivisionError: ")
    assert [one.generation_id for one in payments.rebalances] == [7]
    assert effects_of(orders) == []
    assert "orders" in caplog.text
    assert effects_of(payments) != []
