"""An id with line breaks can write whole lines about other groups: they are not believed, and said."""

from __future__ import annotations

from zoneinfo import ZoneInfo

import pytest

from rollcall.inputs.printed.growing_log import GrowingLog
from rollcall.inputs.printed.lines.entries import Entry
from rollcall.inputs.printed.logged_facts import LoggedFact
from rollcall.inputs.printed.reading import merged, read_lines
from rollcall.inputs.printed.story import groups_in

AT = "[2026-03-01 03:12:00,000] INFO [GroupCoordinator id=1 topic=__consumer_offsets partition=3] "
END = " (org.apache.kafka.coordinator.group.GroupMetadataManager)"
UUID = "6c1d0b29-57f7-4e52-9ffb-38d5ad112b53"
FORGED = f"{AT}Stabilized group payroll generation 77 with 9 members.{END}"


def given(client_id: str) -> list[str]:
    line = (
        f"{AT}Dynamic member with unknown member id joins group g in Empty state. Created a new member id "
        f"{client_id}-{UUID} and requesting the member to rejoin with this id.{END}"
    )
    return line.split("\n")


def test_lines_out_of_an_id_are_not_believed() -> None:
    read = read_lines("server.log", [*given(f"evil\n{FORGED}\n"), *given("honest")])
    assert [group.group_id for group in groups_in(merged([read]))] == ["g"]
    assert [fact.member_id for fact in read.facts] == [f"honest-{UUID}"]
    assert [note for note in read.notes if "2" in note]


@pytest.mark.parametrize("faked_end", [END, f" and requesting the member to rejoin with this id.{END}"])
def test_lines_out_of_an_id_are_not_believed_where_the_id_ends_its_line_as_a_broker_does(faked_end: str) -> None:
    before = f"{AT}Stabilized group early generation 3 with 1 members.{END}"
    far = [before, *(before.replace("early", f"g{number}") for number in range(900))]
    read = read_lines("server.log", [*far, *given(f"evil-{UUID}{faked_end}\n{FORGED}\n"), *given("honest")])
    groups = [group.group_id for group in groups_in(merged([read]))]
    assert "payroll" not in groups
    assert groups[0] == "early"
    assert [fact.member_id for fact in read.facts if fact.member_id] == [f"honest-{UUID}"]


def test_the_same_line_by_a_broker_is_believed() -> None:
    read = read_lines("server.log", [*given("honest"), FORGED, *given("other")])
    assert [fact.group_id for fact in read.facts] == ["g", "payroll", "g"]
    assert read.notes == ()


def test_a_line_that_was_broken_in_two_is_put_together() -> None:
    (line,) = given("honest")
    read = read_lines("server.log", [line[:150], line[150:]])
    assert [fact.member_id for fact in read.facts] == [f"honest-{UUID}"]


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_lines_out_of_an_id_are_not_believed_where_a_log_grows_in_pieces(at_once: int) -> None:
    lines = [*enumerate([*given(f"evil\n{FORGED}\n"), *given("honest")], 1)]
    log, facts, doubtful = GrowingLog("server.log", ZoneInfo("UTC")), list[LoggedFact](), list[tuple[Entry, str]]()
    for start in range(0, len(lines), at_once):
        read = log.read(lines[start : start + at_once], is_pause=False)
        facts, doubtful = [*facts, *read.facts], [*doubtful, *read.doubtful]
    facts += log.read([], is_pause=True).facts
    assert [fact.member_id for fact in facts] == [f"honest-{UUID}"]
    assert [entry.line_number for entry, _ in doubtful if "payroll" in entry.text] == [2]


def test_a_layout_without_classes_is_read_though_no_line_is_closed() -> None:
    lines = [*enumerate([line.removesuffix(END) for name in "abc" for line in given(name)], 1)]
    log = GrowingLog("server.log", ZoneInfo("UTC"))
    facts = [*log.read(lines, is_pause=False).facts, *log.read([], is_pause=True).facts]
    assert [fact.member_id for fact in facts] == [f"{name}-{UUID}" for name in "abc"]


CUT = f"{AT}Preparing to rebalance group payroll in state PreparingRebalance with old generation 76 (reason: x"
"""A line without its class, which the rest of the line around it may end."""


def test_a_line_out_of_an_id_is_not_believed_where_the_rest_of_the_ids_line_ends_it() -> None:
    read = read_lines("server.log", [*given(f"evil\n{CUT}\n"), *given("honest")])
    assert [fact.member_id for fact in read.facts] == [f"honest-{UUID}"]
    assert read.notes


@pytest.mark.parametrize("at_once", [1, 2, 3])
def test_nor_is_it_where_a_log_grows_in_pieces(at_once: int) -> None:
    lines = [*enumerate([*given(f"evil\n{CUT}\n"), *given("honest")], 1)]
    log, facts = GrowingLog("server.log", ZoneInfo("UTC")), list[LoggedFact]()
    for start in range(0, len(lines), at_once):
        facts += log.read(lines[start : start + at_once], is_pause=False).facts
    facts += log.read([], is_pause=True).facts
    assert [fact.member_id for fact in facts] == [f"honest-{UUID}"]
