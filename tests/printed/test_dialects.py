"""What holds for each dialect: its lines are distinguished from others', and it has a row in the docs."""

from __future__ import annotations

import pytest

from rollcall.inputs.printed import logged_facts
from rollcall.inputs.printed.dialects.catalog import DIALECTS
from rollcall.inputs.printed.dialects.dialect import Dialect
from rollcall.inputs.printed.groups.logged_effects import SILENT_BUMPS
from rollcall.inputs.printed.reading import read_lines
from tests.source_tree import ROOT


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
