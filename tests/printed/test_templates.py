"""Templates: what a message says, in which two ways it may be read, and what none can make slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rollcall.inputs.printed import logged_facts
from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.groups.logged_effects import SILENT_BUMPS
from rollcall.inputs.printed.logged_facts import FactKind
from rollcall.inputs.printed.reading import read_lines
from rollcall.inputs.printed.templates import Template, Templates
from tests.printed.printed import said_by
from tests.source_tree import ROOT

BEGAN = Template(
    FactKind.REBALANCE_BEGAN,
    "Preparing to rebalance group {group_id} in state {old_state} with old generation {generation_id} "
    "(reason: {reason})",
)
ENDED = Template(FactKind.JOIN_PHASE_ENDED, "Stabilized group {group_id} generation {generation_id}")


def line(group_id: str, reason: str) -> str:
    return f"Preparing to rebalance group {group_id} in state Stable with old generation 7 (reason: {reason})"


def test_fields_are_what_stands_between_the_fixed_texts() -> None:
    assert said_by(BEGAN, line("g", "why")) == ({"group_id": "g", "generation_id": 7, "reason": "why"}, True)


def test_a_number_must_be_one_and_a_state_too() -> None:
    assert said_by(ENDED, "Stabilized group g generation x") is None
    assert said_by(ENDED, "Stabilized group g generation \u0661") is None
    assert said_by(ENDED, "Stabilized group g generation --5") is None
    assert said_by(BEGAN, line("g", "why").replace("Stable", "Fine")) is None


def test_a_group_that_is_called_like_the_text_around_it_is_read_where_one_reading_fits() -> None:
    odd = "odd group] in Stable state (reason: z)."
    assert said_by(BEGAN, line(odd, "why")) == ({"group_id": odd, "generation_id": 7, "reason": "why"}, True)


def test_a_message_that_can_be_read_in_two_ways_is_not_certain() -> None:
    match = said_by(BEGAN, line("a", "b in state Stable with old generation 9 (reason: c"))
    assert match is not None
    assert not match[1]


def test_what_only_free_text_tells_apart_is_certain() -> None:
    gone = Template(FactKind.COORDINATOR_LOST, "Coordinator of {group_id} is gone: {reason} (last: {error})")
    match = said_by(gone, "Coordinator of g is gone: a (last: b (last: c)")
    assert match is not None
    assert match[1]
    assert match[0]["group_id"] == "g"


REFUSED = Template(FactKind.COMMIT_REFUSED, "Commit failed for group {group_id}: {error}")
UNDER_WAY = Template(FactKind.COMMIT_REFUSED, "Error {error} occurred for group {group_id}")


@pytest.mark.parametrize(
    ("template", "text", "error"),
    [
        (REFUSED, "Commit failed for group g: CommitFailedError: done: twice", "CommitFailedError: done: twice"),
        (UNDER_WAY, "Error a occurred for group b occurred for group g", "a occurred for group b"),
    ],
)
def test_an_error_in_a_client_s_own_log_forges_nothing(template: Template, text: str, error: str) -> None:
    assert said_by(template, text, by_client=True) == ({"group_id": "g", "error": error}, True)
    elsewhere = said_by(template, text)
    assert elsewhere is not None
    assert not elsewhere[1]


def test_an_id_in_a_client_s_log_may_be_another_client_s() -> None:
    found = Template(FactKind.MEMBER_FOUND, "leader {}, member {member_id}, {error}")
    match = said_by(found, "leader a, member b, member c, x", by_client=True)
    assert match is not None
    assert not match[1]


def test_a_fixed_text_that_begins_within_itself_is_found_twice() -> None:
    match = said_by(Template(FactKind.CLOSED, "{group_id} in {reason}"), "a in in b")
    assert match == ({"group_id": "a in", "reason": "b"}, False)


def test_the_fixed_texts_at_both_ends_may_not_overlap() -> None:
    assert said_by(Template(FactKind.CLOSED, "aba{group_id}ba"), "aba") is None


@given(st.text(alphabet="ab ({.", max_size=12), st.text(alphabet="ab ({.", max_size=12))
def test_a_line_is_read_as_it_was_written_or_said_to_be_doubtful(group_id: str, reason: str) -> None:
    match = said_by(BEGAN, line(group_id, reason))
    assert match is not None
    assert match[0] == {"group_id": group_id, "generation_id": 7, "reason": reason}


def test_each_fixed_text_is_searched_once_from_each_end_however_often_the_line_repeats_it() -> None:
    text = line("g in state Stable with old generation 7 " * 10_000, "r (reason: " * 10_000)
    match = said_by(BEGAN, text)
    assert match is None or not match[1]


def test_templates_are_asked_in_order_and_those_that_begin_with_a_field_last() -> None:
    any_first = Template(FactKind.CLOSED, "{group_id} generation 1")
    found = Templates([any_first, ENDED]).match("Stabilized group g generation 1")
    assert found is not None
    assert found[0] is ENDED
    found = Templates([any_first, ENDED]).match("other generation 1")
    assert found is not None
    assert found[0] is any_first


def test_ids_in_a_list_are_split_behind_their_uuids() -> None:
    removed = Template(FactKind.MEMBERS_NOT_BACK, "Group {group_id} removed: [{member_ids}]")
    first, second = (f"a, b-{number:08x}-0000-0000-0000-000000000000" for number in (1, 2))
    match = said_by(removed, f"Group g removed: [{first}, {second}]")
    assert match is not None
    assert match[0]["member_ids"] == (first, second)
    short = said_by(removed, "Group g removed: [x, y]")
    assert short is not None
    assert short[0]["member_ids"] == ("x", "y")


# ---------------------------------------------------------------- each dialect


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_the_page_about_logs_has_a_row_for_it(dialect: Dialect) -> None:
    assert f"| {dialect.title} |" in (ROOT / "docs" / "explain.md").read_text()


@pytest.mark.parametrize("dialect", DIALECTS, ids=lambda one: one.name)
def test_other_lines_are_not_its(dialect: Dialect) -> None:
    assert read_lines("app.log", ["2026-03-01 03:12:00,417 INFO Started in 3 s", ""]).facts == []
    assert read_lines("app.log", [dialect.example.replace("{}", "nothing that it prints")]).facts == []


ASKED_FOR = {
    "state": {
        *(logged_facts.FATAL, logged_facts.TASKS_MIGRATED, logged_facts.LEADS, logged_facts.LEAVE_REFUSED),
        *(logged_facts.HEARTBEATS_STOPPED, logged_facts.SESSION_RELEASED),
        *("restarting", "syncing", "wait-join", "wait-sync", "subscription abandoned", "subscription closed"),
        *("joins again after an error", "its generation was reset while it waited for its assignment"),
    },
    "to_state": {"JOINING", "LEAVING"},
    "operation": {logged_facts.INCREMENTAL, logged_facts.COMMITS},
    "group_type": {*SILENT_BUMPS},
}
"""All values that wordings set, by field: code compares with some, and others are shown as they are."""


@pytest.mark.parametrize("field", ASKED_FOR)
def test_wordings_set_the_values_that_code_asks_for(field: str) -> None:
    assert _set_in(field) == ASKED_FOR[field]


def test_wordings_set_the_reasons_that_code_asks_for() -> None:
    assert {logged_facts.OFFSETS_NOT_COMMITTED, logged_facts.PRODUCER_FENCED} <= _set_in("reason")


def _set_in(field: str) -> set[object]:
    templates = [template for dialect in DIALECTS for template in dialect.templates.all]
    return {template.constants[field] for template in templates if field in template.constants}
